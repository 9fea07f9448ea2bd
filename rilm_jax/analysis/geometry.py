"""Pictures of a trained model's space: a context on its way, and how far out everything lies.

For RiLM's paper's figure: the state's trajectory along a prefix, with the words it read.
"""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from rilm_jax.analysis import figures, planes
from rilm_jax.analysis.trajectory import place, trajectory
from rilm_jax.data import Vocabulary
from rilm_jax.errors import InputError
from rilm_jax.metrics import UNK_ID
from rilm_jax.model import LanguageModel, Params

BINS = 10


def first_prefix(ids: np.ndarray, vocab: Vocabulary, length: int) -> np.ndarray:
    """The first `length` words on end of one line that hold no `<unk>`: [length] ids.

    Raises:
      InputError: there are no such words.
    """
    ids = np.asarray(ids)
    broken = (ids == UNK_ID) | (ids == vocab.eos)
    count = 0
    for i, breaks in enumerate(broken):
        count = 0 if breaks else count + 1
        if count == length:
            return ids[i + 1 - length : i + 1]
    raise InputError(f"no {length} words on end are known ones; ask for fewer or give a prompt.")


def draw_trajectories(
    models: Mapping[str, tuple[LanguageModel, Params]], vocab: Vocabulary, ids: np.ndarray
) -> Any:
    """The context after each word of `ids`, a panel a model.

    States of R^d are drawn in their principal plane, those of the ball in the geodesic disk that
    the plane of most variance of log_0 cuts out of it, joined by geodesics.

    Args:
      models: by label, with the parameters of one seed.
      vocab: their words.
      ids: [N], N >= 2.

    Raises:
      InputError: ids that `trajectory` refuses, or fewer than two.
    """
    figure = figures.new(4.6 * len(models), 4.6)
    for axis, (label, (model, params)) in zip(
        figures.axes(figure, len(models)), models.items(), strict=True
    ):
        states = trajectory(model, params, ids).states
        table = model.prepare(params).table
        points = place(model, params, table, states)
        disk = points is not None and model.config.manifold == "poincare"
        if disk:
            from rilm_jax.manifolds import poincare

            assert points is not None
            coords = np.asarray(points.coords, np.float64)
            tangents = np.asarray(poincare.logmap0(points.coords, table.c))
            plane = planes.principal_plane(tangents, centred=False)
            places = planes.in_disk(coords, plane, float(table.c))
            planes.draw_boundary(axis)
        else:
            coords = np.asarray(states if points is None else points.coords, np.float64)
            places = planes.in_plane(coords, planes.principal_plane(coords))
        planes.draw_path(axis, places, list(vocab.decode(ids)), disk=disk)
        axis.set_title(f"{label}, words from light to dark")
    return figure


def radii_by_frequency(model: LanguageModel, params: Params) -> list[np.ndarray]:
    """|log_0 e| of the words, in ten bins of equal numbers from the most to the least frequent.

    Ids are in the order of frequency, as `rilm_jax.data` gives them; `<unk>` is left out.
    """
    table = jax.jit(model.prepare)(params).table
    radii = np.linalg.norm(np.asarray(table.tangents, np.float64), axis=1)[1:]
    return np.array_split(radii, min(BINS, len(radii)))


def draw_radii(
    models: Mapping[str, tuple[LanguageModel, Params]], ids: np.ndarray, *, most: int = 4096
) -> Any:
    """How far words lie from 0, by frequency, and how far the contexts along `ids` do.

    Args:
      models: by label, with the parameters of one seed.
      ids: [N], a text.
      most: words of it that are read.
    """
    figure = figures.new(9.0, 3.4)
    left, right = figures.axes(figure, 2)
    for i, (label, (model, params)) in enumerate(models.items()):
        style = figures.style(i)
        colour = style["color"]
        bins = radii_by_frequency(model, params)
        middle = [np.median(b) for b in bins]
        low, high = ([np.quantile(b, q) for b in bins] for q in (0.25, 0.75))
        at = np.arange(1, len(bins) + 1)
        left.plot(at, middle, ms=4, label=label, **style)
        left.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0)
        of_states = np.asarray(trajectory(model, params, ids[:most]).radii, np.float64)
        right.hist(of_states, 40, histtype="step", color=colour, density=True, label=label)
    left.set(
        xlabel="tenth of the words by frequency (1: the most frequent)",
        ylabel="|log_0 e| of words: median, middle half",
    )
    right.set(xlabel="|log_0 h| of contexts", ylabel="density")
    left.legend(frameon=False, fontsize="small")
    right.legend(frameon=False, fontsize="small")
    return figure
