import numpy as np
import pytest

from rilm_jax.data import check_ids
from rilm_jax.errors import InputError


def test_valid_ids_come_back_as_int32():
    ids = check_ids([[0, 3], [2, 1]], 4)
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(ids, [[0, 3], [2, 1]])


def test_no_ids_are_valid_ids():
    assert check_ids([], 4).dtype == np.int32


@pytest.mark.parametrize(
    ("ids", "vocab_size", "parts"),
    [
        ([0, 1, 102, 5], 32, ["prompt", "id 102", "position 2", "0 to 31"]),
        ([0, 1, 2, 3, 4], 4, ["id 4", "position 4"]),
        ([0, -1], 4, ["id -1", "position 1"]),
        ([[0, 1], [2, 9]], 4, ["id 9", "position (1, 1)"]),
        ([1.0, 2.0], 4, ["id 1.0", "position 0", "float64"]),
        (np.array([True]), 4, ["id True", "bool"]),
    ],
)
def test_a_bad_id_is_named_with_its_position(ids, vocab_size, parts):
    with pytest.raises(InputError) as caught:
        check_ids(ids, vocab_size, "prompt")
    for part in parts:
        assert part in str(caught.value)
