"""How fast contexts run to the boundary: |h| word by word, for a table and a picture."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax import markdown
from rilm_jax.analysis import figures
from rilm_jax.embedding import Points
from rilm_jax.errors import InputError
from rilm_jax.model import LanguageModel, Params

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"mobius": figures.BLUE, "projected": figures.ORANGE, "naive": figures.PINK}
# Where two run alike, the wider line still shows beside the narrower one drawn over it.
WIDTHS = {"mobius": 4.5, "projected": 2, "naive": 1.2}


def norms_by_step(
    model: LanguageModel, params: Params, windows: np.ndarray
) -> dict[str, list[float]]:
    """sqrt(c) |h| after 1 .. T words, `mean` and `max` over the windows.

    Args:
      model: with states on the manifold.
      params: of one seed.
      windows: [B, T] ids, each read from the root.

    Raises:
      InputError: the states are vectors and not points.
    """

    @jax.jit
    def norms(params, tokens):
        prep = model.prepare(params)
        carry = model.initial_carry(params, tokens.shape[0], prep=prep)
        states, _ = model.hidden(params, tokens, carry, prep=prep)
        if not isinstance(states, Points):
            raise InputError("only a model whose states are points can run to a boundary.")
        return jnp.sqrt(prep.table.c) * jnp.linalg.norm(states.coords, axis=-1)

    found = np.asarray(norms(params, jnp.asarray(windows)), np.float64)
    return {"mean": found.mean(axis=0).tolist(), "max": found.max(axis=0).tolist()}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of a collapse record as Markdown."""
    steps = len(rows[0]["untrained"]["mean"])
    shown = [t for t in (1, 2, 4, 8) if t <= steps]
    header = ["recurrence", "init", "artanh", *(f"|h| after {t}" for t in shown)]
    header += [f"trained, after {shown[-1]}", "valid perplexity, one epoch"]
    lines = []
    for row in rows:
        untrained = [f"{row['untrained']['mean'][t - 1]:.4f}" for t in shown]
        trained = f"{row['trained']['mean'][shown[-1] - 1]:.4f}"
        ppl = "not finite" if row["valid_ppl"] is None else f"{row['valid_ppl']:.2f}"
        lines.append([row["recurrence"], row["init"], row["guard"], *untrained, trained, ppl])
    return markdown.table(header, lines) + "\n"


def plot(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """|h| by step, a panel for each initialisation and guard; dashed after training."""
    panels = sorted({(row["init"], row["guard"]) for row in rows})
    figure = figures.new(max(2.6 * len(panels), 5), 3.4)
    axes = figures.axes(figure, len(panels), sharey=True)
    for axis, panel in zip(axes, panels, strict=True):
        for row in rows:
            if (row["init"], row["guard"]) != panel:
                continue
            colour = COLOURS.get(row["recurrence"])
            for when, style in (("untrained", "-"), ("trained", "--")):
                means = row[when]["mean"]
                label = row["recurrence"] + (" after an epoch" if when == "trained" else "")
                width = WIDTHS.get(row["recurrence"])
                axis.plot(range(1, len(means) + 1), means, style, c=colour, lw=width, label=label)
        axis.axhline(1, color=figures.GREY, linewidth=0.8)
        axis.set(title=f"{panel[0]}, artanh by {panel[1]}", xlabel="words read", ylim=(0, 1.05))
    axes[0].set_ylabel("mean of sqrt(c) |h|  (boundary at 1)")
    figures.legend_below(figure, axes[0], columns=3)
    return figure
