import itertools
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from rilm_jax import data, ngram, results
from rilm_jax.errors import InputError
from rilm_jax.metrics import perplexity

RECORD = Path(__file__).resolve().parents[1] / "experiments" / "results"

pytestmark = pytest.mark.filterwarnings("error")


class Reference:
    """The definition, word for word, on dictionaries of tuples."""

    def __init__(self, tokens, order, vocab_size):
        tokens = [int(t) for t in tokens]
        self.vocab_size, self.order = vocab_size, min(order, len(tokens))
        self.counts, self.discounts = {}, {}
        for m in range(1, self.order + 1):
            neighbours, occurrences = defaultdict(set), Counter()
            for start in range(len(tokens) - m + 1):
                gram = tuple(tokens[start : start + m])
                occurrences[gram] += 1
                neighbours[gram].add(tokens[start - 1] if start else "start of the stream")
            self.counts[m] = (
                occurrences if m == self.order else {g: len(n) for g, n in neighbours.items()}
            )
            n = Counter(self.counts[m].values())
            found = (0.5, 1.0, 1.5)
            if n[1] and n[2] and n[3] and n[4]:
                y = n[1] / (n[1] + 2 * n[2])
                estimate = [j - (j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3)]
                if min(estimate) > 0:
                    found = estimate
            self.discounts[m] = found
        if self.order == 1 and len(self.counts[1]) == vocab_size:
            self.discounts[1] = (0.0, 0.0, 0.0)

    def p(self, word, context):
        context = tuple(context)[max(0, len(context) - self.order + 1) :]
        below = self.p(word, context[1:]) if context else 1 / self.vocab_size
        m = len(context) + 1
        after = {g[-1]: c for g, c in self.counts[m].items() if g[:-1] == context}
        if not after:
            return below
        d = {w: self.discounts[m][min(c, 3) - 1] for w, c in after.items()}
        total = sum(after.values())
        return (after.get(word, 0) - d.get(word, 0) + sum(d.values()) * below) / total

    def nll(self, tokens):
        tokens = [int(t) for t in tokens]
        return [-np.log(self.p(tokens[t], tokens[:t])) for t in range(1, len(tokens))]


def zipf_stream(seed, length, vocab_size):
    """Words of falling frequency, each leaning on the one before it."""
    rng = np.random.default_rng(seed)
    words = np.minimum(rng.zipf(1.5, length) - 1, vocab_size - 1)
    repeat = rng.random(length) < 0.3
    return np.where(repeat, (np.roll(words, 1) * 2 + 1) % vocab_size, words).astype(np.int32)


def next_word_probabilities(model, context, vocab_size):
    return np.array([np.exp(-model.nll([*context, w])[-1]) for w in range(vocab_size)])


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("length", "vocab_size"), [(1, 3), (2, 3), (4, 2), (30, 4), (120, 40), (500, 60)]
)
def test_matches_the_definition(length, vocab_size, order):
    train = zipf_stream(length, length, vocab_size)
    unseen = np.random.default_rng(1).integers(0, vocab_size, 60)
    model, reference = ngram.fit(train, order, vocab_size), Reference(train, order, vocab_size)
    for stream in (train[:60], unseen):
        np.testing.assert_allclose(model.nll(stream), reference.nll(stream), rtol=1e-12, atol=1e-14)


def test_the_reference_comparison_meets_both_kinds_of_discount():
    reference = Reference(zipf_stream(500, 500, 60), 5, 60)
    used = list(reference.discounts.values())
    assert ngram.FALLBACK_DISCOUNTS in used
    assert any(d != ngram.FALLBACK_DISCOUNTS for d in used)


def test_discounts_by_hand():
    counts = np.array([0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 9])  # n = 6, 3, 2, 1
    y = 6 / 12
    expected = (1 - 2 * y * 3 / 6, 2 - 3 * y * 2 / 3, 3 - 4 * y * 1 / 2)
    assert ngram._discounts(counts) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "counts",
    [
        [1, 1, 1],  # Y has no n2
        [7, 8, 9],  # nothing is rare
        [1, 2, 2, 3],  # n4 = 0
        [1] * 50 + [2] + [3] * 50 + [4],  # D2 would be negative
    ],
)
def test_discounts_that_cannot_be_estimated_fall_back(counts):
    assert ngram._discounts(np.array(counts)) == ngram.FALLBACK_DISCOUNTS


@pytest.mark.parametrize("order", [1, 2, 3, 4, 9])
@pytest.mark.parametrize(
    "train",
    [
        [0],
        [2, 2],
        [0, 1, 2, 3],
        [1] * 20,
        [0, 1, 2, 3] * 8,
        zipf_stream(3, 300, 4),
    ],
    ids=["one", "pair", "once_each", "constant", "cycle", "random"],
)
def test_probabilities_are_positive_and_sum_to_one(train, order):
    model = ngram.fit(train, order, 4)
    for context in itertools.product(range(4), repeat=3):  # seen and unseen contexts alike
        p = next_word_probabilities(model, context, 4)
        assert (p > 0).all()
        assert p.sum() == pytest.approx(1.0, abs=1e-12)


def test_unigram_is_the_relative_frequency_when_every_word_occurs():
    model = ngram.fit([0, 0, 0, 1, 1, 2], 1, 3)
    np.testing.assert_array_equal(model.nll([2, 0, 1, 2]), -np.log(np.array([3, 2, 1]) / 6))


def test_unigram_leaves_mass_for_a_word_that_never_occurs():
    p = next_word_probabilities(ngram.fit([0, 0, 0, 1, 1, 2], 1, 5), [0], 5)
    assert (np.diff(p[:4]) < 0).all() and p[3] == p[4] > 0


def test_lower_orders_count_neighbours_not_occurrences():
    # "francisco" (1) is frequent but only ever follows "san" (0); 2 follows anything.
    train = [0, 1] * 20 + [3, 2, 4, 2, 5, 2, 3, 4, 5]
    p = next_word_probabilities(ngram.fit(train, 2, 7), [6], 7)  # 6 was never seen
    assert p[2] > p[1]


def test_contexts_reach_back_order_minus_one_words_and_no_further():
    model = ngram.fit(zipf_stream(7, 400, 6), 3, 6)
    a, b = model.nll([0, 1, 2, 3]), model.nll([5, 1, 2, 3])
    assert a[-1] == b[-1]
    assert a[1] != b[1]


def test_early_positions_are_scored_with_the_context_there_is():
    model = ngram.fit(zipf_stream(7, 400, 6), 4, 6)
    stream = zipf_stream(8, 30, 6)
    np.testing.assert_array_equal(model.nll(stream)[:2], model.nll(stream[:3]))
    assert model.nll([3]).shape == (0,)
    assert model.nll([3]).dtype == np.float64


def test_an_order_longer_than_the_stream_is_the_streams_length():
    stream = [0, 1, 0, 2]
    long, exact = ngram.fit([0, 1, 0], 50, 3), ngram.fit([0, 1, 0], 3, 3)
    np.testing.assert_array_equal(long.nll(stream), exact.nll(stream))


def test_a_large_vocabulary_does_not_overflow_the_keys():
    vocab_size = 3_000_000  # its square does not fit 32 bits
    train = vocab_size - 1 - zipf_stream(4, 200, 30) * 90_001
    expected = Reference(train, 4, vocab_size).nll(train)
    np.testing.assert_allclose(ngram.fit(train, 4, vocab_size).nll(train), expected, rtol=1e-12)


def test_arguments_are_left_alone_and_any_integer_type_does():
    train = zipf_stream(0, 50, 5)
    before = train.copy()
    expected = ngram.fit(train, 3, 5).nll(train)
    np.testing.assert_array_equal(train, before)
    for other in (train.astype(np.uint8), train.astype(np.uint64), train.tolist()):
        np.testing.assert_array_equal(ngram.fit(other, 3, 5).nll(other), expected)


def test_floors_are_the_perplexities_of_orders_one_and_five():
    train, evaluation = zipf_stream(1, 900, 12), zipf_stream(2, 300, 12)
    both = ngram.floors(train, {"valid": evaluation, "test": evaluation[:200]}, 12)
    got = both["valid"]
    assert set(got) == {"unigram", "unigram_non_unk", "kn5", "kn5_non_unk"}
    assert both["test"] == ngram.floors(train, {"alone": evaluation[:200]}, 12)["alone"] != got
    for name, order in (("unigram", 1), ("kn5", 5)):
        nll = np.array(Reference(train, order, 12).nll(evaluation))
        assert got[name] == pytest.approx(np.exp(nll.mean()), rel=1e-12)
        kept = nll[evaluation[1:] != 0]
        assert 0 < len(kept) < len(nll)
        assert got[f"{name}_non_unk"] == pytest.approx(np.exp(kept.mean()), rel=1e-12)


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        ([], "shape"),
        ([0.0, 1.0], "float64"),
        ([True, False], "bool"),
        ([0, 3], "id 3"),
        ([0, -1], "id -1"),
        ([[0, 1]], "shape"),
    ],
)
def test_refuses_bad_tokens(tokens, says):
    with pytest.raises(InputError, match=f"^tokens: .*{says}"):
        ngram.fit(tokens, 2, 3)
    with pytest.raises(InputError, match=f"^tokens: .*{says}"):
        ngram.fit([0, 1, 2], 2, 3).nll(tokens)
    with pytest.raises(InputError, match=f"^train: .*{says}"):
        ngram.floors(tokens, {"valid": [0, 1]}, 3)
    with pytest.raises(InputError, match=f"^test: .*{says}"):
        ngram.floors([0, 1], {"valid": [0, 1], "test": tokens}, 3)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, None, "2"])
def test_refuses_bad_sizes(bad):
    with pytest.raises(InputError, match="order"):
        ngram.fit([0, 1], bad, 3)
    with pytest.raises(InputError, match="vocab_size"):
        ngram.fit([0, 1], 2, bad)


def test_floors_refuse_a_split_without_a_target():
    with pytest.raises(InputError, match=r"^valid: .*no target"):
        ngram.floors([0, 1, 2], {"valid": [0]}, 3)


# Perplexities of the validation split, and those on record.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "vocab_size", "unigram", "bigram", "kn5", "kn5_non_unk"),
    [
        ("ptb", 2000, 194.1, 69.2, 52.7, 87.2),
        ("ptb", 10000, 687.0, None, 147.7, 165.2),
        ("wikitext2", 2000, 110.6, 43.3, 36.3, 80.8),
        ("wikitext2", 10000, 475.9, None, 120.6, 169.4),
    ],
)
def test_floors_of_the_corpora(corpora_dir, name, vocab_size, unigram, bigram, kn5, kn5_non_unk):
    loaded = data.load(name, vocab_size, corpora_dir)
    splits = {"valid": loaded.valid, "test": loaded.test}
    found = ngram.floors(loaded.train, splits, vocab_size)
    for path, run in results.read_all(RECORD).items():
        if (run["config"]["corpus"], run["config"]["vocab_size"]) == (name, vocab_size):
            assert run["floor"] == pytest.approx(found["valid"], rel=1e-9), path
            if run.get("test_floor"):
                assert run["test_floor"] == pytest.approx(found["test"], rel=1e-9), path
    got = found["valid"]
    assert got["unigram"] == pytest.approx(unigram, abs=0.2)
    assert got["kn5"] == pytest.approx(kn5, abs=0.2)
    assert got["kn5_non_unk"] == pytest.approx(kn5_non_unk, abs=0.2)
    if bigram is not None:
        nll = ngram.fit(loaded.train, 2, vocab_size).nll(loaded.valid)
        assert perplexity(nll, loaded.valid[1:]).all == pytest.approx(bigram, abs=0.2)


@pytest.mark.slow
def test_published_five_gram_on_the_penn_treebank(corpora_dir):
    """141.2 in Mikolov and Zweig, "Context Dependent Recurrent Neural Network Language Model"."""
    loaded = data.load("ptb", 10000, corpora_dir)
    nll = ngram.fit(loaded.train, 5, 10000).nll(loaded.test)
    assert perplexity(nll, loaded.test[1:]).all == pytest.approx(141.2, abs=1.0)


@pytest.mark.slow
def test_full_vocabulary_of_wikitext2(corpora_dir):
    loaded = data.load("wikitext2", 33278, corpora_dir)
    model = ngram.fit(loaded.train, 5, 33278)
    # Measured with this library, pinned; no published number follows this protocol.
    for split, expected in ((loaded.valid, 232.51), (loaded.test, 217.80)):
        assert perplexity(model.nll(split), split[1:]).all == pytest.approx(expected, abs=0.01)
