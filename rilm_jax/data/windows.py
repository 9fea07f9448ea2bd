"""From a token stream to fixed shapes: independent windows, or contiguous streams.

A stream of N tokens has N - 1 targets (each token but the first). Both cuts hold every target
exactly once; what fills up the shapes has mask 0 and id 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax.errors import InputError


class Windows(NamedTuple):
    """Inputs, next tokens and their weights, all of one shape.

    `windows` gives [n, T]; `streams` gives [steps, B, T].
    """

    inputs: np.ndarray  # int32
    targets: np.ndarray  # int32
    mask: np.ndarray  # float32, 1 for a target and 0 for padding


def windows(ids: ArrayLike, length: int) -> Windows:
    """Cuts a stream into n = ceil((N - 1) / T) windows of T inputs and their next tokens.

    Args:
        ids: token ids, shape [N], N >= 2.
        length: T, inputs a window.

    Returns:
        Arrays of shape [n, T]; the last window is padded and masked.

    Raises:
        InputError: for a stream without a target, or a length below 1.
    """
    ids = _check_stream(ids)
    length = _check_positive(length, "window length")
    n = -(-(len(ids) - 1) // length)
    return Windows(*(part.reshape(n, length) for part in _padded(ids, n * length)))


def training_windows(ids: ArrayLike, length: int) -> Windows:
    """`windows`, for a training split: it must fill at least one window.

    Raises:
        InputError: if N - 1 < T, besides what `windows` raises.
    """
    cut = windows(ids, length)
    n_targets = np.size(ids) - 1
    if n_targets < length:
        raise InputError(
            f"The training split has {n_targets} targets, fewer than one window of {length}; "
            "use a shorter window or more text."
        )
    return cut


def pad_batch(cut: Windows, batch_size: int) -> Windows:
    """Appends windows of mask 0 until their number is a multiple of `batch_size`."""
    batch_size = _check_positive(batch_size, "batch size")
    extra = -len(cut.inputs) % batch_size
    return Windows(*(np.pad(part, ((0, extra), (0, 0))) for part in cut))


def streams(ids: ArrayLike, batch_size: int, length: int) -> Windows:
    """Cuts a stream into B contiguous ones, read side by side with the state carried over.

    Row b holds the targets b L to (b + 1) L - 1, L = ceil((N - 1) / B), in steps of T; step s + 1
    of a row goes on where step s of the same row ended.

    Args:
        ids: token ids, shape [N], N >= 2.
        batch_size: B.
        length: T, inputs a step.

    Returns:
        Arrays of shape [steps, B, T], steps = ceil(L / T). The ends of the rows, and with a small
        N whole rows, are padded and masked.

    Raises:
        InputError: for a stream without a target, or a batch size or length below 1.
    """
    ids = _check_stream(ids)
    batch_size = _check_positive(batch_size, "batch size")
    length = _check_positive(length, "window length")
    row = -(-(len(ids) - 1) // batch_size)
    steps = -(-row // length)

    def arrange(part: np.ndarray) -> np.ndarray:
        rows = np.pad(part.reshape(batch_size, row), ((0, 0), (0, steps * length - row)))
        return np.ascontiguousarray(rows.reshape(batch_size, steps, length).swapaxes(0, 1))

    return Windows(*(arrange(part) for part in _padded(ids, batch_size * row)))


def _padded(ids: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, targets and mask as flat arrays of `size`."""
    pad = (0, size - (len(ids) - 1))
    mask = np.ones(len(ids) - 1, np.float32)
    return np.pad(ids[:-1], pad), np.pad(ids[1:], pad), np.pad(mask, pad)


def _check_stream(ids: ArrayLike) -> np.ndarray:
    array = np.asarray(ids)
    if array.ndim != 1 or array.size < 2:
        raise InputError(
            "A token stream is a flat array of at least two ids (one input, one target), "
            f"but this one has shape {array.shape}."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"A token stream holds integer ids, but this one is {array.dtype}.")
    return array.astype(np.int32)


def _check_positive(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"The {what} must be an integer of at least 1, not {value!r}.")
    return int(value)
