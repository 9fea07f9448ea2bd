"""Prepared ids on disk, under the hash of the text they were made from.

An entry is a folder with `ids.npz` (the three streams) and `corpus.json` (words and provenance).
It is written beside its place and moved there whole, so a reader never sees half of one.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rilm_jax.data.corpora import SPLITS
from rilm_jax.data.ids import check_ids
from rilm_jax.data.prepare import Corpus
from rilm_jax.data.vocabulary import Vocabulary

FORMAT = 1  # raise it when tokenisation or this layout changes


def root() -> Path:
    """`RILM_CACHE_DIR`, or `~/.cache/rilm_jax`."""
    named = os.environ.get("RILM_CACHE_DIR")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "rilm_jax"


def entry(name: str, sha256: Mapping[str, str], vocab_size: int) -> Path:
    """The folder for the ids of this content at this vocabulary size (0: every word)."""
    key = json.dumps([FORMAT, [sha256[split] for split in SPLITS]])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return root() / f"{name}-{digest}-{vocab_size or 'full'}"


def write_prepared(corpus: Corpus, folder: Path) -> None:
    """Writes a corpus as the cache entry `folder`, replacing a damaged one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as temporary:
        new = Path(temporary) / "entry"
        new.mkdir()
        np.savez(new / "ids.npz", train=corpus.train, valid=corpus.valid, test=corpus.test)
        record = {"name": corpus.name, "info": dict(corpus.info), "words": corpus.vocab.words}
        (new / "corpus.json").write_text(json.dumps(record, ensure_ascii=False), "utf-8")
        if folder.exists():
            shutil.move(folder, Path(temporary) / "old")
        try:
            new.rename(folder)
        except OSError:
            # Another process was faster; its entry has the same content.
            if read_prepared(folder) is None:
                raise


def read_prepared(folder: Path) -> Corpus | None:
    """The corpus in a cache entry; None if there is none, or it is damaged."""
    try:
        record = json.loads((folder / "corpus.json").read_text("utf-8"))
        vocab = Vocabulary(tuple(record["words"]))
        with (folder / "ids.npz").open("rb") as file, np.load(file) as ids:
            splits = [check_ids(ids[split], len(vocab)) for split in SPLITS]
        return Corpus(vocab, *splits, name=record["name"], info=record["info"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None
