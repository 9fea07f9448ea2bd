"""Words and their ids."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax.data.ids import check_ids
from rilm_jax.errors import InputError

UNK = "<unk>"
EOS = "<eos>"


@dataclass(frozen=True)
class Vocabulary:
    """An ordered, immutable set of words; a word's id is its place.

    `words[0]` is `<unk>`, which stands for every word outside the vocabulary.
    """

    words: tuple[str, ...]
    _index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        index = {word: i for i, word in enumerate(self.words)}
        if not self.words or self.words[0] != UNK or len(index) != len(self.words):
            raise InputError(f"A vocabulary is a list of distinct words that starts with {UNK}.")
        object.__setattr__(self, "_index", index)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    @property
    def unk(self) -> int:
        """Id of `<unk>`: 0."""
        return 0

    @property
    def eos(self) -> int:
        """Id of `<eos>`; that of `<unk>` where the vocabulary is too small to hold `<eos>`."""
        return self._index.get(EOS, 0)

    def encode(self, words: Iterable[str]) -> np.ndarray:
        """Ids of words, int32 of shape [N]; a word outside the vocabulary becomes `<unk>`."""
        if isinstance(words, str):
            raise InputError("encode takes a sequence of words, not one string; split it first.")
        get = self._index.get
        return np.fromiter((get(word, 0) for word in words), np.int32)

    def decode(self, ids: ArrayLike) -> list[str]:
        """Words of ids of shape [N].

        Raises:
            InputError: for an id that is no integer in [0, V).
        """
        return [self.words[i] for i in check_ids(ids, len(self), "decode").ravel()]


def build_vocabulary(counts: Mapping[str, int], size: int = 0) -> Vocabulary:
    """`<unk>`, then the most frequent words by (count descending, word ascending).

    Args:
        counts: how often each word of the training text occurs, `<eos>` included.
        size: V, the number of entries including `<unk>`; 0 keeps every word.

    Raises:
        InputError: if there are fewer than `size` entries to be had.
    """
    ranked = sorted((word for word in counts if word != UNK), key=lambda w: (-counts[w], w))
    check_vocab_size(size, len(ranked) + 1)
    return Vocabulary((UNK, *ranked[: (size or len(ranked) + 1) - 1]))


def check_vocab_size(size: int, largest: int) -> None:
    """Raises InputError if a corpus with `largest` possible entries cannot give `size` of them."""
    if size > largest:
        raise InputError(
            f"vocab_size={size} is more than this corpus has: its text has {largest} different "
            f"words, <unk> and <eos> among them; give vocab_size={largest} or less."
        )
