"""Pictures of the record: learning curves, and perplexity against size and against compute."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rilm_jax import sizes
from rilm_jax.analysis import figures
from rilm_jax.config import from_flat
from rilm_jax.errors import InputError

_LEGEND_ROW = 0.2  # inches
_HOLLOW = {"markerfacecolor": "none", "markeredgewidth": 1.3}  # shows what lies below


def learning_curves(
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    floor: float | None = None,
    title: str = "",
) -> Any:
    """Validation perplexity by epoch: the mean over seeds, and a band from the least to the most.

    Args:
      runs: by label, the evaluations of a run, each with `epoch` and `ppl`, a list over seeds.
      floor: perplexity of the 5-gram, as a line.
      title: of the picture.

    Raises:
      InputError: no run has an evaluation.
    """
    if not any(runs.values()):
        raise InputError("no run has an evaluation to draw; train one first.")
    figure = figures.new(5.0, 3.2 + _LEGEND_ROW * (len(runs) + 1))
    (axis,) = figures.axes(figure)
    for i, (label, curve) in enumerate(runs.items()):
        if not curve:
            continue
        epochs = [point["epoch"] for point in curve]
        ppl = np.array([[np.nan if v is None else v for v in p["ppl"]] for p in curve], float)
        style = figures.style(i)
        told = f"{label} ({ppl.shape[1]} seed{'s' if ppl.shape[1] > 1 else ''})"
        axis.plot(epochs, np.nanmean(ppl, 1), ms=4, label=told, **style)
        low, high = np.nanmin(ppl, 1), np.nanmax(ppl, 1)
        axis.fill_between(epochs, low, high, color=style["color"], alpha=0.25, linewidth=0)
    if floor is not None:
        axis.axhline(floor, color=figures.GREY, linestyle="--", linewidth=1, label="5-gram")
    axis.set(xlabel="epoch", ylabel="validation perplexity", title=title)
    axis.set_yscale("log")
    _plain_numbers(axis.yaxis)
    axis.xaxis.get_major_locator().set_params(integer=True)
    figures.legend_below(figure, axis)
    return figure


def frontier(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], *, floor: float | None, title: str = ""
) -> Any:
    """Perplexity against parameters and against the multiplications of one seed's training.

    Args:
      runs: by label, summaries of finished runs, which a line joins in the order of their size.
      floor: perplexity of the 5-gram, as a line.
      title: of the picture.

    Raises:
      InputError: no run.
    """
    if not any(runs.values()):
        raise InputError("no finished run of this corpus is on record; collect one first.")
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    points = {label: [_point(run) for run in found] for label, found in runs.items()}
    columns = 2
    figure = figures.new(8.0, 3.4 + _LEGEND_ROW * -(-(len(points) + 1) // columns))
    left, right = figures.axes(figure, 2, sharey=True)
    for axis, key in ((left, "params"), (right, "multiplications")):
        for i, (label, of_label) in enumerate(points.items()):
            of_label = sorted(of_label, key=lambda point: point[key])
            xs, ys = zip(*((point[key], point["ppl"]) for point in of_label), strict=True)
            axis.plot(xs, ys, linewidth=0.8, label=label, **figures.style(i) | _HOLLOW)
        if floor is not None:
            axis.axhline(floor, color=figures.GREY, linestyle="--", linewidth=1, label="5-gram")
        values = [point[key] for of_label in points.values() for point in of_label]
        axis.set_xscale("log")
        axis.set_xlim(min(values) / 1.6, max(values) * 1.6)
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.xaxis.set_minor_formatter(NullFormatter())
    left.set_yscale("log")
    _plain_numbers(left.yaxis)
    left.set(xlabel="parameters", ylabel="validation perplexity")
    right.set(xlabel="multiplications in training, one seed")
    figure.suptitle(title)
    figures.legend_below(figure, left, columns)
    return figure


def _point(run: Mapping[str, Any]) -> dict[str, float]:
    config = from_flat(run["config"])
    tokens = run["steps"] * config.batch_size * config.window
    return {
        "ppl": run["best_valid_ppl"]["mean"],
        "params": run["params"]["total"],
        "multiplications": 3 * sizes.multiplications(config.model) * tokens,
    }


def _plain_numbers(axis: Any) -> None:
    """40 and 60 on a logarithmic axis, rather than powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
