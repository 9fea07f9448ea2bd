"""Interpolated modified Kneser-Ney n-gram models: the floor that every table carries.

With u a context of m - 1 words, u' the same context without its first word, and c the count at
that order,

    p_m(w | u) = (c(u w) - D(c(u w))) / c(u .) + gamma(u) p_{m-1}(w | u'),
    gamma(u)   = (D1 N1(u .) + D2 N2(u .) + D3 N3+(u .)) / c(u .),        p_0(w) = 1 / V,

where N_j(u .) is the number of words seen j times after u. At the highest order c is the number of
occurrences; below it, the number of different left neighbours (the continuation count), the start
of the stream being one of them. A context that training never continued leaves p_{m-1} as it is.
Each order has its own discounts D(0) = 0, D(1) = D1, D(2) = D2, D(3 or more) = D3, from the
numbers n_j of m-grams with count j:

    Y = n1 / (n1 + 2 n2),   D1 = 1 - 2 Y n2/n1,   D2 = 2 - 3 Y n3/n2,   D3 = 3 - 4 Y n4/n3.

Source: Chen and Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling",
TR-10-98, Harvard, 1998 (sections 3 and 4.1).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax.data.ids import check_ids
from rilm_jax.errors import InputError
from rilm_jax.metrics import perplexity
from rilm_jax.progress import bar

# Half of what each count could lose, for an order whose counts of counts give no estimate.
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)


class Level(NamedTuple):
    """One order m >= 2. An m-gram's id is its rank in `keys`; a 1-gram's id is the word."""

    keys: np.ndarray  # [G_m] int64, sorted: id of the first m - 1 words * V + last word
    discounted: np.ndarray  # [G_m] float64: (c(u w) - D(c(u w))) / c(u .)
    gamma: np.ndarray  # [G_{m-1}] float64, by the context's id; 1 where nothing ever followed


class NGram(NamedTuple):
    """A fitted model; made by `fit`."""

    unigram: np.ndarray  # [V] float64: p_1
    levels: tuple[Level, ...]  # orders 2 and up

    def nll(self, tokens: ArrayLike) -> np.ndarray:
        """-log p(tokens[t] | tokens[t-order+1 : t]) for t = 1 .. N-1, in nats.

        The stream is one long sequence: contexts cross `<eos>`. The first token is not scored,
        and the next few are scored with the shorter context there is.

        Args:
            tokens: [N] word ids in [0, V), N >= 1.

        Returns:
            [N-1] float64, every entry finite.

        Raises:
            InputError: tokens are empty, not one-dimensional, not integers, or out of range.
        """
        vocab_size = len(self.unigram)
        tokens = _as_stream(tokens, vocab_size)
        p = self.unigram[tokens[1:]]
        ids = tokens  # of the (m-1)-gram that ends at each position; -1: not in training
        for skipped, (keys, discounted, gamma) in enumerate(self.levels):
            contexts = ids[:-1]
            # An unknown context makes a negative key, which is found nowhere.
            wanted = contexts * vocab_size + tokens[skipped + 1 :]
            ids = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            seen = keys[ids] == wanted
            p[skipped:] *= np.where(contexts >= 0, gamma[contexts], 1.0)
            p[skipped:] += np.where(seen, discounted[ids], 0.0)
            ids = np.where(seen, ids, -1)
        return -np.log(p)


def fit(tokens: ArrayLike, order: int, vocab_size: int) -> NGram:
    """Fit an n-gram model to one long stream.

    No word ever has probability zero. `order=1` gives relative frequencies, undiscounted unless
    some word of the vocabulary does not occur. An order above N is N. At an order where some of
    n_1 .. n_4 is zero, or an estimated discount is not positive, the discounts are 1/2, 1, 3/2.

    Args:
        tokens: [N] word ids in [0, vocab_size), N >= 1.
        order: longest n-gram counted; the context is order - 1 words.
        vocab_size: V.

    Returns:
        The model. Memory is about 24 bytes for every different m-gram, m = 2 .. order.

    Raises:
        InputError: order or vocab_size is not a positive integer, or tokens are empty, not
            one-dimensional, not integers, or out of range.
    """
    _check_positive("order", order)
    _check_positive("vocab_size", vocab_size)
    tokens = _as_stream(tokens, vocab_size)
    order = min(order, len(tokens))

    levels: list[Level] = []
    keys = np.arange(vocab_size, dtype=np.int64)
    ids = tokens  # of the m-gram that ends at each position from m - 1 on
    unigram = np.empty(0)
    with bar(total=order, desc="counting n-grams", unit="order", delay=1) as progress:
        for m in range(1, order + 1):
            if m < order:
                longer, first, longer_ids = np.unique(
                    ids[:-1] * vocab_size + tokens[m:], return_index=True, return_inverse=True
                )
                # Every (m+1)-gram gives the m-gram it ends in one more left neighbour, and the
                # start of the stream gives one to the m-gram that stands there.
                counts = np.bincount(ids[1:][first], minlength=len(keys))
                counts[ids[0]] += 1
            else:
                longer, longer_ids = keys, ids
                counts = np.bincount(ids, minlength=len(keys))

            if m == 1:
                unigram = _unigram(counts, discount=order > 1 or not counts.all())
            else:
                num_contexts = vocab_size if m == 2 else len(levels[-1].keys)
                discounted, gamma = _smooth(counts, keys // vocab_size, num_contexts)
                levels.append(Level(keys, discounted, gamma))
            keys, ids = longer, longer_ids
            progress.update()
    return NGram(unigram, tuple(levels))


def floors(
    train: ArrayLike, splits: Mapping[str, ArrayLike], vocab_size: int
) -> dict[str, dict[str, float]]:
    """Perplexities of the unigram and the 5-gram model on each split, by the shared protocol.

    Args:
        train: [N] word ids to fit.
        splits: by name, [M] word ids to score, M >= 2; the M - 1 targets are all but the first.
        vocab_size: V.

    Returns:
        For every split `unigram` and `kn5` over all targets, `unigram_non_unk` and `kn5_non_unk`
        over those that are not `<unk>` (nan if all are).

    Raises:
        InputError: as `fit` does, for any of the streams; or a split has no target.
    """
    _check_positive("vocab_size", vocab_size)
    train = _as_stream(train, vocab_size, "train")
    streams = {name: _as_stream(split, vocab_size, name) for name, split in splits.items()}
    for name, stream in streams.items():
        if len(stream) < 2:
            raise InputError(f"{name}: one token has no target; give at least two.")
    found: dict[str, dict[str, float]] = {name: {} for name in streams}
    for model, order in (("unigram", 1), ("kn5", 5)):
        counts = fit(train, order, vocab_size)
        for name, stream in streams.items():
            score = perplexity(counts.nll(stream), stream[1:])
            found[name] |= {model: score.all, f"{model}_non_unk": score.non_unk}
    return found


def _unigram(counts: np.ndarray, discount: bool) -> np.ndarray:
    """p_1 over the vocabulary: relative counts, or discounted ones interpolated with 1/V."""
    if not discount:
        return counts / counts.sum()
    discounted, gamma = _smooth(counts, np.zeros_like(counts), 1)
    return discounted + gamma / len(counts)


def _smooth(
    counts: np.ndarray, contexts: np.ndarray, num_contexts: int
) -> tuple[np.ndarray, np.ndarray]:
    """(c - D(c)) / c(u .) for every gram, and gamma(u) for every context id."""
    taken = np.array([0.0, *_discounts(counts)])[np.minimum(counts, 3)]
    totals = np.bincount(contexts, counts, num_contexts)
    gamma = np.ones(num_contexts)
    np.divide(np.bincount(contexts, taken, num_contexts), totals, out=gamma, where=totals > 0)
    return (counts - taken) / totals[contexts], gamma


def _discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """D1, D2 and D3+ of one order, from its counts of counts."""
    n1, n2, n3, n4 = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].tolist()
    if 0 in (n1, n2, n3, n4):
        return FALLBACK_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    # With every n_j positive D_j < j and D1 = Y > 0 hold; D2 and D3 may still be negative.
    return found if min(found) > 0 else FALLBACK_DISCOUNTS


def _as_stream(tokens: ArrayLike, vocab_size: int, name: str = "tokens") -> np.ndarray:
    shape = np.shape(tokens)
    if len(shape) != 1 or shape[0] == 0:
        raise InputError(f"{name}: shape {shape}; give one stream [N] of at least one word id.")
    # 64 bits, for a key is an id times V.
    return check_ids(tokens, vocab_size, name).astype(np.int64)


def _check_positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} is {value!r}; give an integer of at least 1.")
