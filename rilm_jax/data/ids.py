"""The one check that stands between token ids and an embedding table."""

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax.errors import InputError


def check_ids(ids: ArrayLike, vocab_size: int, where: str = "token ids") -> np.ndarray:
    """Returns `ids` as int32 after checking that each is an integer in [0, vocab_size).

    A gather under `jit` clamps an id out of range instead of failing, so a wrong one would train
    silently on another word's embedding. For arrays on the host, before tracing.

    Args:
        ids: array of any shape.
        vocab_size: V, the number of rows of the table.
        where: what the ids are, for the message ("prompt", "train split").

    Raises:
        InputError: naming the first offending id and its position.
    """
    array = np.asarray(ids)
    if array.size == 0:
        return array.astype(np.int32)
    if not np.issubdtype(array.dtype, np.integer):
        position, first = _describe(array, 0)
        raise InputError(
            f"{where}: id {first} at position {position} is of type {array.dtype}; "
            f"token ids are integers from 0 to {vocab_size - 1}."
        )
    bad = (array < 0) | (array >= vocab_size)
    if bad.any():
        position, first = _describe(array, int(bad.argmax()))
        raise InputError(
            f"{where}: id {first} at position {position} is outside the vocabulary; "
            f"with {vocab_size} entries ids run from 0 to {vocab_size - 1}."
        )
    return array.astype(np.int32, copy=False)


def _describe(array: np.ndarray, flat: int) -> tuple[int | tuple[int, ...], object]:
    """Position (an int for a stream, a tuple otherwise) and value of a flat index."""
    index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
    return (index[0] if len(index) == 1 else index), array[index]
