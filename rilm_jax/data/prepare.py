"""From the text of three splits to a vocabulary and three streams of ids."""

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rilm_jax.data import sources
from rilm_jax.data.corpora import SPLITS
from rilm_jax.data.vocabulary import EOS, UNK, Vocabulary, build_vocabulary
from rilm_jax.errors import InputError
from rilm_jax.progress import bar


class Corpus(NamedTuple):
    """A vocabulary and the three splits as streams of ids.

    `info` says what the ids were made from: `sha256` of each split's text, `types` (distinct
    training tokens with `<unk>` and `<eos>`: the largest vocabulary), and for `pydoc` the `python`
    version.
    """

    vocab: Vocabulary
    train: np.ndarray  # int32 [N]
    valid: np.ndarray
    test: np.ndarray
    name: str = ""
    info: Mapping[str, Any] = MappingProxyType({})


def tokens(text_lines: Iterable[str]) -> Iterator[str]:
    """The words of each line, split on white space, and one `<eos>` a line, blank ones included."""
    return itertools.chain.from_iterable((*line.split(), EOS) for line in text_lines)


def measure(path: Path) -> tuple[int, int]:
    """How many tokens the training part of a text has, and how many different ones with `<unk>`.

    Raises:
        InputError: what `sources.read` raises.
    """
    text = sources.read(path)["train"].data.decode().removeprefix("\ufeff")
    counts = Counter(tokens(sources.lines(text)))
    return counts.total(), len({*counts, UNK})


def prepare(texts: Mapping[str, bytes], vocab_size: int, name: str, work_dir: Path) -> Corpus:
    """Ranks the training words, passes the texts through TFDS and encodes every split.

    Args:
        texts: UTF-8 text of `train`, `valid` and `test`.
        vocab_size: V; 0 keeps every training word.
        name: the corpus's name.
        work_dir: an existing folder; what TFDS writes there is removed again.

    Raises:
        InputError: if `tensorflow_datasets` is not installed, or V is more than there are words.
    """
    try:
        from rilm_jax.data.builders import through_tfds
    except ImportError as error:
        raise InputError(
            f"Preparing {name} needs tensorflow_datasets ({error}); install it, or set "
            "RILM_CACHE_DIR to a folder where another machine has prepared the corpus."
        ) from error
    # A byte order mark is no part of the first word.
    raw = {
        split: sources.lines(data.decode().removeprefix("\ufeff")) for split, data in texts.items()
    }
    with bar(2 + len(SPLITS), f"preparing {name}", "step") as shown:
        counts = Counter(tokens(raw["train"]))
        vocab = build_vocabulary(counts, vocab_size)  # too large a V fails before any writing
        shown.update()
        with tempfile.TemporaryDirectory(prefix=".tfds-", dir=work_dir) as data_dir:
            read = through_tfds(raw, data_dir)
        shown.update()
        ids = {}
        for split in SPLITS:
            ids[split] = vocab.encode(tokens(read[split]))
            shown.update()
    return Corpus(vocab, **ids, name=name, info={"types": len({*counts, UNK})})
