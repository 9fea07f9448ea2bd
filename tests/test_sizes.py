"""Parameter counts, and the widths at which baselines have RiLM's."""

import pytest

from rilm_jax import ModelConfig, sizes
from rilm_jax.errors import InputError


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"learn_tau": False}, 289_024),
        ({}, 289_025),
        ({"bias": True}, 291_025),
        ({"composition": "gated"}, 321_921),
        ({"manifold": "euclidean", "backbone": "lstm", "head": "tied", "bias": True}, 521_168),
    ],
)
def test_published_counts(options, expected):
    assert sizes.total(ModelConfig(**options)) == expected
    assert sizes.reference(2000) == 289_024


def baseline(backbone, **options):
    return ModelConfig(**{"backbone": backbone, "head": "tied", "manifold": "euclidean"} | options)


@pytest.mark.parametrize(("bias", "dim"), [(True, 85), (False, 86)])
def test_the_matched_lstm(bias, dim):
    assert sizes.matched(baseline("lstm", bias=bias)).dim == dim


@pytest.mark.parametrize(
    ("backbone", "head", "vocab_size"),
    [
        ("lstm", "geodesic", 10_000),
        ("rhn", "tied", 2000),
        ("ssm", "tied", 2000),
        ("ssm", "tied", 300),
        ("transformer", "tied", 2000),
        pytest.param("transformer", "geodesic", 10_000, marks=pytest.mark.slow),
    ],
)
def test_matched_is_within_a_hundredth(backbone, head, vocab_size):
    solved = sizes.matched(baseline(backbone, head=head, vocab_size=vocab_size))
    assert sizes.total(solved) == pytest.approx(sizes.reference(vocab_size), rel=0.01)
    if backbone == "transformer":
        hidden = solved.hidden_dim or 4 * solved.dim  # what None stands for
        assert 2 < hidden / solved.dim < 8


def test_a_second_dimension_is_used_where_the_first_is_too_coarse():
    """One unit more of dimension is 4 % of this model."""
    few = baseline("lstm", vocab_size=7)
    solved = sizes.matched(few)
    assert solved.hidden_dim not in (None, solved.dim) and solved.projection
    assert sizes.total(solved) == pytest.approx(sizes.reference(7), rel=0.01)


def test_no_width_is_an_error(monkeypatch):
    monkeypatch.setattr(sizes, "TOLERANCE", 0.0)
    with pytest.raises(InputError, match=r"no width gives a lstm of 7 words .* instead of matched"):
        sizes.matched(baseline("lstm", vocab_size=7))
