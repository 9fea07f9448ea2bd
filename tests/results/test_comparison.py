"""Paired t intervals on known numbers."""

import pytest

from rilm_jax import results
from rilm_jax.errors import InputError
from rilm_jax.results import comparison

# Student's own data (1908): hours of sleep gained by ten patients under two drugs; the mean
# difference is 1.58 with the 95 % interval (0.700, 2.460).
FIRST = (0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0)
SECOND = (1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)


def test_students_sleep():
    found = comparison.paired(dict(enumerate(SECOND)), dict(enumerate(FIRST)))
    assert found == pytest.approx((1.58, 0.7001, 2.4599, 10), abs=1e-4)
    assert found.sign == 1
    back = comparison.paired(dict(enumerate(FIRST)), dict(enumerate(SECOND)))
    assert back[:3] == pytest.approx((-1.58, -2.4599, -0.7001), abs=1e-4)
    assert back.sign == -1


def test_seeds_are_paired_by_number_and_others_left_out():
    a, b = {1: 10.0, 2: 20.0, 3: 99.0}, {2: 18.5, 1: 9.0, 4: 0.0}
    found = comparison.paired(a, b)
    # Differences 1 and 1.5: t_{0.975, 1} = 12.7062, s / sqrt(2) = 0.25.
    assert found == pytest.approx((1.25, 1.25 - 3.17655, 1.25 + 3.17655, 2), abs=1e-4)
    assert found.sign == 0
    with pytest.raises(InputError, match="share 1 finished seeds"):
        comparison.paired({1: 1.0, 2: 2.0}, {2: 2.0, 3: 1.0})


def summary(scores, corpus="ptb", sha256=None, **fields):
    per_seed = {name: {"per_seed": list(scores)} for name in results.SCORES}
    config = {"corpus": corpus, "vocab_size": 2000, "window": 64} | fields
    text = {"sha256": {"train": sha256}} if sha256 else {}
    return {"config": config, "seeds": [42, 43, 44], "corpus": text, **per_seed}


def test_summaries_are_compared_score_by_score():
    a, b = summary([30.0, 31.0, None]), summary([29.0, 30.0, 28.0])
    no_test = {"per_seed": [None] * 3}
    found = comparison.summaries(a, b | {"test_ppl": no_test, "test_ppl_non_unk": no_test})
    assert set(found) == {"best_valid_ppl", "best_valid_ppl_non_unk"}
    assert found["best_valid_ppl"] == (1.0, 1.0, 1.0, 2)
    assert comparison.unfinished(a, "test_ppl") == [44]
    assert comparison.unfinished(b, "test_ppl") == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"corpus": "wikitext2"}, "first run's text, ptb, is another than the second's, wikitext2"),
        ({"sha256": "b"}, "first run's text, ptb, is another than the second's, ptb"),
        ({"vocab_size": 10000}, "vocab_size is 2000 in the first run and 10000 in the second"),
        ({"window": 35}, "window is 64 in the first run and 35 in the second"),
        ({"eval_streams": 1}, "eval_streams is 0 in the first run and 1 in the second"),
        ({"rate_factors": [0.5, 1.0, 2.0]}, "the second run has a learning rate for each seed"),
        ({"scores": [None] * 3}, "no finished seed"),
    ],
)
def test_what_cannot_be_compared_is_refused(other, said):
    fields = {"scores": [1.0] * 3}
    one = summary(**fields, sha256="a" if "sha256" in other else None)
    with pytest.raises(InputError, match=said):
        comparison.summaries(one, summary(**fields | other))


def test_one_text_may_have_two_names():
    a, b = (summary([1.0] * 3, corpus, sha256="a") for corpus in ("ptb", "/home/me/ptb"))
    assert comparison.summaries(a, b)["test_ppl"].mean == 0
    del b["corpus"]["sha256"]  # of a version that recorded none
    with pytest.raises(InputError, match="is another than"):
        comparison.summaries(a, b)
