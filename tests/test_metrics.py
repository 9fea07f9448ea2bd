import numpy as np
import pytest

from rilm_jax.errors import InputError
from rilm_jax.metrics import perplexity


def test_is_the_inverse_geometric_mean_of_the_probabilities():
    got = perplexity(-np.log([0.5, 0.125, 0.25]), [3, 0, 1])
    assert got.all == pytest.approx(4.0, rel=1e-15)
    assert got.non_unk == pytest.approx(np.sqrt(8.0), rel=1e-15)


def test_weighs_every_target_alike_whatever_the_shape():
    nll, targets = np.arange(12.0) / 7, np.arange(12) % 5
    assert perplexity(nll.reshape(3, 4), targets.reshape(3, 4)) == perplexity(nll, targets)


def test_rows_of_different_lengths_have_no_mean_of_their_own():
    """P2: neither row's own perplexity counts as one."""
    rows = [[0.1, 0.2, 0.1], [0.3, 0.5, 0.1, 0.4, 0.2]]
    got = [perplexity(nll, np.ones(len(nll), int)).all for nll in (*rows, [*rows[0], *rows[1]])]
    assert got == pytest.approx([1.14263, 1.34986, 1.26807], abs=5e-6)


def test_sums_float32_in_float64():
    # A float32 sum of 2e7 is good to 1e-7 at best.
    nll = np.full(3_000_000, np.float32(7.3))
    got = perplexity(nll, np.ones(nll.shape, np.int32))
    assert got.all == pytest.approx(np.exp(np.float64(np.float32(7.3))), rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_nothing_non_finite_is_hidden():
    assert perplexity([1.0, np.inf], [1, 2]) == (np.inf, np.inf)
    assert np.isnan(perplexity([1.0, np.nan], [1, 2])).all()
    assert perplexity([1e4], [1]) == (np.inf, np.inf)
    beyond_unk = perplexity([1.0, np.inf], [1, 0])
    assert beyond_unk.all == np.inf and beyond_unk.non_unk == pytest.approx(np.e)


@pytest.mark.filterwarnings("error")
def test_non_unk_is_nan_when_every_target_is_unk():
    got = perplexity([0.0, 0.0], [0, 0])
    assert got.all == 1.0 and np.isnan(got.non_unk)


@pytest.mark.parametrize(
    ("nll", "targets", "says"),
    [
        ([], [], "no targets"),
        ([1.0], [1, 2], "shape"),
        ([[1.0]], [1], "shape"),
        ([1.0], [1.0], "integer"),
    ],
)
def test_refuses(nll, targets, says):
    with pytest.raises(InputError, match=says):
        perplexity(nll, targets)
