"""Perplexity, summed in float64 on the host: the one definition behind every reported number."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax.errors import InputError

UNK_ID = 0


class Perplexity(NamedTuple):
    """Perplexity over all targets, and over the targets that are not `<unk>`."""

    all: float
    non_unk: float


def perplexity(nll: ArrayLike, targets: ArrayLike) -> Perplexity:
    """exp(sum of nll / number of targets), over all targets and without `<unk>` (id 0).

    A small vocabulary turns rare words into an easy `<unk>`, so the first number alone flatters
    it; both are always reported.

    >>> perplexity(np.log([2, 2]), np.array([0, 5]))
    Perplexity(all=2.0, non_unk=2.0)

    Args:
        nll: negative log-likelihood of each target, natural log (nats); any shape.
        targets: integer word ids, of the shape of `nll`.

    Returns:
        `Perplexity(all, non_unk)`, two Python floats. Nothing non-finite is hidden: a nan in `nll`
        gives nan, an inf (or a mean too large for float64's exp) gives inf. `non_unk` is nan when
        every target is `<unk>`, for there is nothing to average.

    Raises:
        InputError: there are no targets, or the shapes differ, or the targets are not integers.
    """
    nll, targets = np.asarray(nll, dtype=np.float64), np.asarray(targets)
    if nll.shape != targets.shape:
        raise InputError(
            f"perplexity got nll of shape {nll.shape} and targets of shape {targets.shape}; "
            "give one nll for each target."
        )
    if nll.size == 0:
        raise InputError("perplexity got no targets; give a split of at least two tokens.")
    if not np.issubdtype(targets.dtype, np.integer):
        raise InputError(f"perplexity got targets of type {targets.dtype}; give integer word ids.")
    return Perplexity(_exp_mean(nll), _exp_mean(nll[targets != UNK_ID]))


def _exp_mean(nll: np.ndarray) -> float:
    if nll.size == 0:
        return float("nan")
    with np.errstate(over="ignore", invalid="ignore"):  # inf and nan are answers here
        return float(np.exp(nll.sum() / nll.size))
