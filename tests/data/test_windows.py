import math

import numpy as np
import pytest

from rilm_jax.data import pad_batch, streams, training_windows, windows
from rilm_jax.errors import InputError


def pairs(cut):
    """The (input, target) pairs with weight, in reading order of the flattened arrays."""
    keep = cut.mask.astype(bool)
    return list(zip(cut.inputs[keep].tolist(), cut.targets[keep].tolist(), strict=True))


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, 50])
@pytest.mark.parametrize("length", [1, 3, 8, 64])
def test_windows_hold_every_target_once_and_in_order(n, length):
    ids = np.arange(1, n + 1)
    cut = windows(ids, length)
    assert (
        cut.inputs.shape == cut.targets.shape == cut.mask.shape == (-(-(n - 1) // length), length)
    )
    assert [part.dtype for part in cut] == [np.int32, np.int32, np.float32]
    assert pairs(cut) == [(i, i + 1) for i in range(1, n)]
    padding = cut.mask == 0
    assert not cut.inputs[padding].any()
    assert not cut.targets[padding].any()


def test_windows_by_hand():
    cut = windows([5, 6, 7, 8], 2)
    np.testing.assert_array_equal(cut.inputs, [[5, 6], [7, 0]])
    np.testing.assert_array_equal(cut.targets, [[6, 7], [8, 0]])
    np.testing.assert_array_equal(cut.mask, [[1, 1], [1, 0]])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 4, 5])
def test_pad_batch_adds_only_rows_without_weight(batch_size):
    cut = windows(np.arange(20), 5)
    padded = pad_batch(cut, batch_size)
    assert len(padded.inputs) % batch_size == 0
    assert len(padded.inputs) - len(cut.inputs) < batch_size
    assert pairs(padded) == pairs(cut)
    assert [part.dtype for part in padded] == [part.dtype for part in cut]


@pytest.mark.parametrize("n", [2, 5, 36, 37, 101])
@pytest.mark.parametrize(("batch_size", "length"), [(1, 7), (4, 3), (20, 35)])
def test_streams_hold_every_target_once_and_carry_on(n, batch_size, length):
    ids = np.arange(1, n + 1)
    cut = streams(ids, batch_size, length)
    steps = math.ceil(math.ceil((n - 1) / batch_size) / length)
    assert cut.inputs.shape == cut.targets.shape == cut.mask.shape == (steps, batch_size, length)
    assert [part.dtype for part in cut] == [np.int32, np.int32, np.float32]
    in_text_order = type(cut)(*(part.swapaxes(0, 1) for part in cut))
    assert pairs(in_text_order) == [(i, i + 1) for i in range(1, n)]
    for row in range(batch_size):
        mask = cut.mask[:, row].ravel()
        assert (np.diff(mask) <= 0).all(), "padding stands only at the end of a row"


def test_streams_by_hand():
    cut = streams([1, 2, 3, 4, 5, 6, 7, 8], 2, 3)  # 7 targets in rows of 4
    np.testing.assert_array_equal(cut.inputs, [[[1, 2, 3], [5, 6, 7]], [[4, 0, 0], [0, 0, 0]]])
    np.testing.assert_array_equal(cut.targets, [[[2, 3, 4], [6, 7, 8]], [[5, 0, 0], [0, 0, 0]]])
    np.testing.assert_array_equal(cut.mask, [[[1, 1, 1], [1, 1, 1]], [[1, 0, 0], [0, 0, 0]]])


def test_a_split_shorter_than_a_window_is_evaluated_but_not_trained_on():
    ids = np.arange(10)
    assert windows(ids, 64).mask.sum() == 9
    with pytest.raises(InputError, match="9 targets, fewer than one window of 64"):
        training_windows(ids, 64)
    assert training_windows(np.arange(65), 64).inputs.shape == (1, 64)


@pytest.mark.parametrize("cut", [lambda ids: windows(ids, 4), lambda ids: streams(ids, 2, 4)])
@pytest.mark.parametrize("ids", [[], [3], np.zeros((2, 3), np.int32)])
def test_a_stream_without_targets_raises(cut, ids):
    with pytest.raises(InputError, match="at least two ids"):
        cut(ids)


def test_float_ids_raise():
    with pytest.raises(InputError, match="float64"):
        windows([1.0, 2.0], 1)


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "8"])
def test_lengths_and_batch_sizes_are_positive_integers(value):
    ids = np.arange(10)
    for call in (
        lambda: windows(ids, value),
        lambda: streams(ids, value, 2),
        lambda: streams(ids, 2, value),
        lambda: pad_batch(windows(ids, 2), value),
    ):
        with pytest.raises(InputError, match="integer of at least 1"):
            call()
