"""Reading and checking raw text, from a folder or a zip archive, before any work is done."""

import hashlib
import itertools
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from rilm_jax.data.corpora import SPLITS, CorpusSpec
from rilm_jax.errors import InputError

FOLDER_FILES = {split: (f"{split}.txt",) for split in SPLITS}

# What zipfile raises on an archive that is truncated, altered, encrypted or no archive at all.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


class RawText(NamedTuple):
    """The bytes of one split and where they came from."""

    origin: str
    data: bytes


def lines(text: str) -> list[str]:
    """The lines of a text. Only a line feed ends one, a last line may lack it.

    `str.splitlines` would also break at U+2028, form feeds and other separators.
    """
    parts = text.split("\n")
    if parts[-1] == "":
        parts.pop()
    return parts


def locate(spec: CorpusSpec, data_dir: Path) -> Path | None:
    """Where a known corpus is: an unpacked folder or an archive; None if `data_dir` lacks it."""
    if data_dir.is_file():
        return data_dir
    for name in spec.folders:
        if (data_dir / name).is_dir():
            return data_dir / name
    for name in spec.archives:
        if (data_dir / name).is_file():
            return data_dir / name
    names = [name for split in SPLITS for name in spec.files[split]]
    return data_dir if any((data_dir / name).is_file() for name in names) else None


def read(path: Path, files: Mapping[str, tuple[str, ...]] = FOLDER_FILES) -> dict[str, RawText]:
    """The text of the three splits of a folder, a zip archive, or one text file that is cut.

    Args:
        path: the folder, archive (in which the files may lie at any depth) or file.
        files: for each split the names its file may have.

    Raises:
        InputError: for a missing split, a broken archive, a file with too few words to be cut, a
            NUL byte, or text that is not UTF-8.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist; name a folder or a text file.")
    if path.is_dir():
        texts = _read_folder(path, files)
    elif path.suffix == ".zip" or zipfile.is_zipfile(path):
        texts = read_zip(path, str(path), files)
    else:
        texts = _cut(path)
    return complete(texts, str(path), files)


def complete(
    texts: Mapping[str, RawText], where: str, files: Mapping[str, tuple[str, ...]]
) -> dict[str, RawText]:
    """The three splits in order, each checked to be text."""
    missing = [files[split][0] for split in SPLITS if split not in texts]
    if missing:
        raise InputError(
            f"{where} lacks {' and '.join(missing)}; "
            f"a corpus consists of {', '.join(files[split][0] for split in SPLITS)}."
        )
    for split in SPLITS:
        _check_text(texts[split])
    return {split: texts[split] for split in SPLITS}


def read_zip(
    archive: Path | IO[bytes], where: str, files: Mapping[str, tuple[str, ...]]
) -> dict[str, RawText]:
    """The splits that a zip archive holds."""
    try:
        with zipfile.ZipFile(archive) as unzipped:
            members = {
                PurePosixPath(name).name: name
                for name in reversed(unzipped.namelist())
                if not name.startswith("__MACOSX/")
            }
            return {
                split: RawText(f"{where}:{members[name]}", unzipped.read(members[name]))
                for split in SPLITS
                for name in reversed(files[split])
                if name in members
            }
    except _ZIP_ERRORS as error:
        raise InputError(
            f"{where} is neither a folder nor an intact zip archive ({error}): "
            "name a folder, or fetch the archive again."
        ) from error


def _read_folder(path: Path, files: Mapping[str, tuple[str, ...]]) -> dict[str, RawText]:
    found = {
        split: path / name
        for split in SPLITS
        for name in reversed(files[split])
        if (path / name).is_file()
    }
    try:
        return {split: RawText(str(file), file.read_bytes()) for split, file in found.items()}
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}.") from error


def _cut(path: Path) -> dict[str, RawText]:
    """The first 80 % of a file's bytes, the next 10 % and the rest, each to the end of its line.

    To the end of its word, where there are too few lines.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    for end in (rb"\n", rb"\s"):
        matches = [re.compile(end).search(data, len(data) * n // 10 - 1) for n in (8, 9)]
        places = [0, *(match.end() if match else 0 for match in matches), len(data)]
        parts = [data[start:stop] for start, stop in itertools.pairwise(places)]
        if all(part.strip() for part in parts):
            return {
                split: RawText(f"{path} ({split} part)", part)
                for split, part in zip(SPLITS, parts, strict=True)
            }
    raise InputError(
        f"{path} has too few words to be cut into a training, a validation and a test text; "
        "give a longer one, or a folder with train.txt, valid.txt and test.txt."
    )


def decode(text: RawText) -> str:
    """The text of the bytes.

    Raises:
        InputError: a NUL byte, or bytes that are not UTF-8.
    """
    origin, data = text
    if (position := data.find(b"\0")) >= 0:
        raise InputError(
            f"{origin} is not plain text: it has a NUL byte at byte {position} "
            "(is it a binary file, or UTF-16?)."
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{origin} is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}; "
            "convert it to UTF-8."
        ) from error


def _check_text(text: RawText) -> None:
    if not decode(text).strip():
        raise InputError(f"{text.origin} has no words; each split needs at least one line of text.")


def sha256(texts: Mapping[str, RawText]) -> dict[str, str]:
    """The sha256 of each split's bytes."""
    return {split: hashlib.sha256(text.data).hexdigest() for split, text in texts.items()}


def check_content(spec: CorpusSpec, texts: Mapping[str, RawText]) -> None:
    """Raises InputError if the texts are not the corpus that `spec` describes."""
    for split, digest in sha256(texts).items():
        if digest != spec.sha256[split]:
            words = texts[split].data.decode()
            count = sum(len(line.split()) + 1 for line in lines(words))
            raise InputError(
                f"{texts[split].origin} is not the {split} text of {spec.name}: its sha256 is "
                f"{digest} with {count:,} tokens, expected {spec.sha256[split]} with "
                f"{spec.tokens[split]:,}; replace it, or pass its folder as a corpus of its own."
            )
