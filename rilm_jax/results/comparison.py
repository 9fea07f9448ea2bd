"""Is A better than B? The difference of two runs, seed by seed, with its interval."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from rilm_jax.errors import InputError
from rilm_jax.results.record import by_seed
from rilm_jax.summaries import SCORES

CONFIDENCE = 0.95
#: Fields that decide which targets are scored and from which context, with what older versions did.
_PROTOCOL = {"vocab_size": None, "window": None, "eval_streams": 0}


class Interval(NamedTuple):
    """A paired difference A - B over n seeds: its mean, and a confidence interval of that."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def sign(self) -> int:
        """-1 if A is lower, 1 if it is higher, 0 if the interval holds 0."""
        return int(self.low > 0) - int(self.high < 0)


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> Interval:
    """Student's t interval of the mean difference over the seeds that both have.

    mean +- t_{0.975, n-1} s / sqrt(n), s the differences' standard deviation (n - 1).

    Args:
      a: score by seed.
      b: the same.

    Raises:
      InputError: fewer than two seeds in common.
    """
    common = sorted(a.keys() & b.keys())
    if len(common) < 2:
        raise InputError(
            f"the two share {len(common)} finished seeds and an interval needs two; run both with "
            "the same seeds."
        )
    differences = np.array([a[seed] - b[seed] for seed in common])
    n, mean = len(common), float(differences.mean())
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1) * differences.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def summaries(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Interval]:
    """`paired` of every score that both summaries have, by the score's name.

    Raises:
      InputError: they are of other texts or vocabularies, or were evaluated in another way; one has
        learning rates for seeds; or they share fewer than two seeds.
    """
    for which, summary in (("first", a), ("second", b)):
        if summary["config"].get("rate_factors"):
            raise InputError(
                f"the {which} run has a learning rate for each seed (rate_factors), so its scores "
                "are not those of one recipe; compare runs of one rate."
            )
    configs = a["config"], b["config"]
    if not _of_one_text(a, b):
        one, other = (config["corpus"] for config in configs)
        raise InputError(
            f"the first run's text, {one}, is another than the second's, {other}, so their "
            "perplexities cannot be compared; choose two of the same text."
        )
    for field, default in _PROTOCOL.items():
        one, other = (config.get(field, default) for config in configs)
        if one != other:
            raise InputError(
                f"{field} is {one} in the first run and {other} in the second, so their "
                "perplexities cannot be compared; choose two of the same."
            )
    found = {}
    for name in SCORES:
        one, other = (by_seed(summary, name) for summary in (a, b))
        if one and other:
            found[name] = paired(one, other)
    if not found:
        raise InputError("one of the two runs has no finished seed; compare others.")
    return found


def unfinished(summary: Mapping[str, Any], name: str) -> list[int]:
    """The seeds that have no finite score of that name."""
    return [seed for seed in summary["seeds"] if seed not in by_seed(summary, name)]


def _of_one_text(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    hashes = [summary.get("corpus", {}).get("sha256") for summary in (a, b)]
    if None in hashes:  # of a version that recorded none
        return a["config"]["corpus"] == b["config"]["corpus"]
    return hashes[0] == hashes[1]
