"""`load`: a corpus by name, from the cache, a folder, an archive or a mirror."""

import difflib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rilm_jax.data import cache, download, pydoc, sources
from rilm_jax.data.corpora import CORPORA, CorpusSpec
from rilm_jax.data.prepare import Corpus, prepare
from rilm_jax.data.sources import RawText
from rilm_jax.data.vocabulary import check_vocab_size
from rilm_jax.errors import InputError, unknown_name

PYDOC = "pydoc"
PARTS = ("all", "first", "second")
_ROOM = 2**26  # bytes, more than the ids of a corpus take


def load(
    name: str | os.PathLike[str],
    vocab_size: int | None,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    part: str = "all",
    download: bool = False,
) -> Corpus:
    """Loads a corpus as ids: a vocabulary and three int32 streams.

    Text is split on white space, with one `<eos>` a line, blank lines included. The vocabulary is
    `<unk>` (id 0) and the V - 1 most frequent training tokens by (count descending, word
    ascending); every other word is `<unk>`.

    Prepared ids are cached in `RILM_CACHE_DIR` (default `~/.cache/rilm_jax`) under the hash of the
    text and V: an edited file is prepared anew, and a cached corpus needs neither TFDS nor, for
    the known corpora, its raw text. A data folder that is named is always read and checked.

    Args:
        name: `wikitext2`, `ptb`, `pydoc` (the help text of the running Python, which needs no
            file), or the path of a folder that holds train.txt, valid.txt and test.txt, or of one
            NAME.txt, which is cut into 80, 10 and 10 %; a `Path` is never a known name.
        vocab_size: V, at least 2; 0 or None keeps every training word.
        data_dir: for the known corpora, the folder which holds their archives or unpacked folders,
            or the archive itself; default `RILM_DATA_DIR`.
        part: of the training text: all of it, or its first or second half; the vocabulary is that
            of all.
        download: fetch a known corpus that `data_dir` lacks from a public mirror.

    Returns:
        `Corpus(vocab, train, valid, test, name, info)`.

    Raises:
        InputError: before any work, for an unknown name, a V that is no count or too large,
            missing, damaged, empty or wrong text, an unknown part, or when TFDS is needed and
            missing.
    """
    if part not in PARTS:
        raise InputError(unknown_name("part of the training text", part, PARTS))
    corpus = _load(name, _check_size(vocab_size), data_dir, download)
    middle = len(corpus.train) // 2
    parts = {"all": corpus.train, "first": corpus.train[:middle], "second": corpus.train[middle:]}
    return corpus._replace(train=parts[part])


def _load(
    name: str | os.PathLike[str],
    size: int,
    data_dir: str | os.PathLike[str] | None,
    download: bool,
) -> Corpus:
    if not isinstance(name, str | os.PathLike) or not str(name):
        raise InputError(_unknown(name))
    known = name if isinstance(name, str) else None
    if known == PYDOC:
        texts = {split: RawText(f"pydoc:{split}", text) for split, text in pydoc.texts().items()}
        return _prepared(PYDOC, texts, size, {"python": pydoc.python_version()})
    if known in CORPORA:
        return _load_known(CORPORA[known], size, data_dir, download)
    path = Path(name).expanduser()
    if known and os.sep not in known and not path.exists():
        raise InputError(_unknown(name))
    return _prepared(path.resolve().name or "text", sources.read(path), size, {})


def _load_known(
    spec: CorpusSpec, size: int, data_dir: str | os.PathLike[str] | None, fetch: bool
) -> Corpus:
    check_vocab_size(size, spec.types)
    named = data_dir or os.environ.get("RILM_DATA_DIR")
    if not named:
        cached = cache.read_prepared(cache.entry(spec.name, spec.sha256, size))
        if cached is not None:
            return cached
    folder = Path(named).expanduser() if named else cache.root() / "corpora"
    path = sources.locate(spec, folder)
    if path is not None:
        texts = sources.read(path, spec.files)
        sources.check_content(spec, texts)
    elif fetch:
        texts = download.fetch(spec, folder)
    else:
        raise InputError(_not_found(spec, folder if named else None))
    return _prepared(spec.name, texts, size, {})


def _prepared(
    name: str, texts: Mapping[str, RawText], size: int, info: Mapping[str, object]
) -> Corpus:
    """Ids of checked texts, from the cache where it has them."""
    sha256 = sources.sha256(texts)
    folder = cache.entry(name, sha256, size)
    corpus = cache.read_prepared(folder)
    if corpus is None:
        raw = {split: text.data for split, text in texts.items()}
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            corpus = prepare(raw, size, name, folder.parent)
            corpus = corpus._replace(info={**corpus.info, "sha256": sha256})
            cache.write_prepared(corpus, folder)
        except (OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and shutil.disk_usage(folder.parent).free > _ROOM:
                raise  # TFDS raises one where the disk is full; this is another
            raise InputError(
                f"The prepared ids of {name} cannot be written to {folder.parent} ({error}); "
                "set RILM_CACHE_DIR to a folder that can be written to."
            ) from error
    return corpus._replace(info={**corpus.info, **info})


def _check_size(vocab_size: Any) -> int:
    if vocab_size is None:
        return 0
    is_int = isinstance(vocab_size, int | np.integer) and not isinstance(vocab_size, bool)
    if not is_int or vocab_size < 0 or vocab_size == 1:
        raise InputError(
            f"vocab_size={vocab_size!r} is no vocabulary size: it is an integer of at least 2 "
            "(<unk> and one word), or 0 for every word."
        )
    return int(vocab_size)


def _unknown(name: object) -> str:
    known = [*CORPORA, PYDOC]
    near = difflib.get_close_matches(str(name).lower().replace("-", ""), known, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return (
        f"There is no corpus {name!r}{hint}: known are {', '.join(known)}, "
        "or give the path of a text file, or of a folder with train.txt, valid.txt and test.txt."
    )


def _not_found(spec: CorpusSpec, folder: Path | None) -> str:
    if folder is None:
        problem = f"{spec.name} is not prepared and no data folder was named"
    elif folder.exists():
        problem = f"The data folder {folder} does not hold {spec.name}"
    else:
        problem = f"The data folder {folder} does not exist"
    return (
        f"{problem}: set --data_dir or RILM_DATA_DIR to the folder that holds {spec.archives[0]} "
        f"or {spec.folders[0]}/, or fetch it with --download (Python: data_dir=, download=True)."
    )
