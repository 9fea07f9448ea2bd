"""Pictures of a trained model's space: a context on its way, and how far out everything lies.

For RiLM's paper's figure: the state's trajectory along a prefix, with the words it read.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax.analysis import figures, planes
from rilm_jax.analysis.trajectory import place, trajectory
from rilm_jax.data import Vocabulary
from rilm_jax.embedding import Points
from rilm_jax.errors import InputError
from rilm_jax.manifolds import poincare
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
    models: Mapping[str, tuple[LanguageModel, Params]],
    vocab: Vocabulary,
    ids: np.ndarray,
    *,
    title: str = "",
) -> Any:
    """The context after each word of `ids`, a panel a model; where it starts on the manifold, too.

    States of R^d are drawn in their principal plane, those of the ball in the geodesic disk that
    the plane of most variance of log_0 cuts out of it, joined by geodesics.

    Args:
      models: by label, with the parameters of one seed.
      vocab: their words.
      ids: [N], N >= 2.
      title: of the picture.

    Raises:
      InputError: ids that `trajectory` refuses, or fewer than two.
    """
    figure = figures.new(4.6 * len(models), 4.8)
    figure.suptitle(title)
    named = []
    for axis, (label, (model, params)) in zip(
        figures.axes(figure, len(models)), models.items(), strict=True
    ):
        states = trajectory(model, params, ids).states
        names = list(vocab.decode(ids))
        root = model.initial_carry(params, 1)
        if isinstance(root, Points):
            states = jax.tree.map(lambda *x: jnp.concatenate(x), root, states)
            names = ["(start)", *names]
        places, plane, disk = _drawn(model, params, states)
        if disk:
            planes.draw_boundary(axis)
        planes.draw_path(axis, places, plane, disk=disk)
        axis.set_title(f"{label}, words from light to dark", fontsize="medium")
        named.append((axis, places, names))
    figure.draw_without_rendering()  # which settles the layout
    for axis, places, names in named:
        planes.name_places(axis, places, names)
    return figure


def _drawn(
    model: LanguageModel, params: Params, states: Any
) -> tuple[np.ndarray, planes.Plane, bool]:
    """States in two dimensions, the plane that was chosen, and whether it is the ball's disk."""
    table = model.prepare(params).table
    points = place(model, params, table, states)
    if points is None or model.config.manifold != "poincare":
        coords = np.asarray(states if points is None else points.coords, np.float64)
        plane = planes.principal_plane(coords)
        return planes.in_plane(coords, plane), plane, False
    tangents = np.asarray(poincare.logmap0(points.coords, table.c))
    plane = planes.principal_plane(tangents, centred=False)
    return planes.in_disk(points.coords, plane, float(table.c)), plane, True


def radii_by_frequency(model: LanguageModel, params: Params) -> list[np.ndarray]:
    """|log_0 e| of the words, in ten bins of equal numbers from the most to the least frequent.

    Ids are in the order of frequency, as `rilm_jax.data` gives them; `<unk>` is left out.
    """
    table = jax.jit(model.prepare)(params).table
    radii = np.linalg.norm(np.asarray(table.tangents, np.float64), axis=1)[1:]
    return np.array_split(radii, min(BINS, len(radii)))


def draw_radii(
    models: Mapping[str, tuple[LanguageModel, Params]],
    ids: np.ndarray,
    *,
    title: str = "",
    most: int = 4096,
) -> Any:
    """How far words lie from 0, by frequency, and how far the contexts along `ids` do.

    A row a model, as a length on the ball is no length of R^d.

    Args:
      models: by label, with the parameters of one seed.
      ids: [N], a text.
      title: of the picture.
      most: words of it that are read.
    """
    figure = figures.new(8.0, 2.6 * len(models) + 0.4)
    figure.suptitle(title)
    panels = iter(figures.axes(figure, 2, rows=len(models)))
    for i, (label, (model, params)) in enumerate(models.items()):
        left, right = next(panels), next(panels)
        style = figures.style(i)
        bins = radii_by_frequency(model, params)
        middle = [np.median(b) for b in bins]
        low, high = ([np.quantile(b, q) for b in bins] for q in (0.25, 0.75))
        at = np.arange(1, len(bins) + 1)
        left.plot(at, middle, ms=4, **style)
        left.fill_between(at, low, high, color=style["color"], alpha=0.25, linewidth=0)
        of_states = np.asarray(trajectory(model, params, ids[:most]).radii, np.float64)
        right.hist(of_states, 40, histtype="step", color=style["color"], density=True)
        left.set(
            title=f"{label}: words",
            xlabel="tenth by frequency (1: the most frequent)",
            ylabel="|log_0 e|: median, middle half",
        )
        right.set(title=f"{label}: contexts", xlabel="|log_0 h|", ylabel="density")
    return figure
