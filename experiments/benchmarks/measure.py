"""Interleaved repeats in one process, so that rows meet the same machine and ratios mean something.

A row is called once a repeat, A B C, then C B A, and so on: a machine that slows down for a while
slows all rows, and none always follows the same neighbour. A ratio is taken repeat by repeat, and
its median reported.
"""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rilm_jax.progress import bar

#: Milliseconds a unit by row, [repeats] each.
Samples = Mapping[str, np.ndarray]


class Row(NamedTuple):
    """Something to be measured.

    Attributes:
      name: unique within a suite.
      call: does the work and waits until it is done.
      unit: what the time is divided by: "step", "token", "call", ...
      units: in one call.
      tokens: tokens in one unit, for a rate; 0 = no rate.
      facts: what else is known of the row, JSON-ready, such as its compile time.
    """

    name: str
    call: Callable[[], Any]
    unit: str = "call"
    units: int = 1
    tokens: int = 0
    facts: Mapping[str, Any] = {}


class Target(NamedTuple):
    """A ratio and its bound.

    Attributes:
      name: what is divided by what.
      ratio: from the samples of a group to the ratio, [repeats].
      bound: at most this, or at least this where `least`; None = of interest, but no target.
      least: which of the two.
    """

    name: str
    ratio: Callable[[Samples], np.ndarray]
    bound: float | None = None
    least: bool = False


def interleave(rows: Sequence[Row], repeats: int, what: str = "measuring") -> dict[str, np.ndarray]:
    """Milliseconds a unit of every row in every repeat; the first call of each is not counted."""
    names = [row.name for row in rows]
    assert len(set(names)) == len(names), f"row names repeat: {names}"
    samples: dict[str, list[float]] = {name: [] for name in names}
    with bar(len(rows) * (repeats + 1), what, unit="row") as shown:
        for row in rows:
            row.call()
            shown.update()
        for repeat in range(repeats):
            for row in rows if repeat % 2 == 0 else reversed(rows):
                gc.collect()  # not while the clock runs
                start = time.perf_counter()
                row.call()
                samples[row.name].append(1e3 * (time.perf_counter() - start) / row.units)
                shown.update()
    return {name: np.asarray(values) for name, values in samples.items()}


def spread(values: np.ndarray) -> dict[str, Any]:
    """`{median, min, max, n}`."""
    return {
        "median": float(np.median(values)),
        "min": float(np.min(values)),
        "max": float(np.max(values)),
        "n": len(values),
    }


def row_record(row: Row, samples: Samples) -> dict[str, Any]:
    """A row's times in milliseconds a unit, its rates at the median, and its facts."""
    record = {"name": row.name, "unit": f"ms/{row.unit}", **spread(samples[row.name])}
    if row.tokens:
        record["tokens_per_second"] = 1e3 * row.tokens / record["median"]
    if "gflop" in row.facts:
        record["gflop_per_second"] = 1e3 * row.facts["gflop"] / record["median"]
    return record | dict(row.facts)


def target_record(target: Target, samples: Samples) -> dict[str, Any]:
    """A ratio's spread over the repeats, and whether its median meets the bound."""
    ratios = spread(target.ratio(samples))
    record = {"name": target.name, **ratios, "target": None, "met": None}
    if target.bound is None:
        return record
    median, bound = ratios["median"], target.bound
    met = median >= bound if target.least else median <= bound
    return record | {"target": f"{'>=' if target.least else '<='} {bound:.2f}", "met": met}
