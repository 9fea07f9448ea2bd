"""Fetching a known corpus from a public mirror; the content's hash decides what is accepted."""

import http.client
import io
import tempfile
import urllib.request
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from rilm_jax.data import sources
from rilm_jax.data.corpora import SPLITS, CorpusSpec
from rilm_jax.data.sources import RawText
from rilm_jax.errors import InputError
from rilm_jax.progress import bar

_TIMEOUT_SECONDS = 30
_CHUNK = 1 << 16


def fetch(spec: CorpusSpec, data_dir: Path) -> dict[str, RawText]:
    """Downloads a corpus into `data_dir` from the first mirror whose files have the right hashes.

    Written are the three text files in a folder of their own, all of them or none.

    Args:
        spec: the corpus.
        data_dir: made if it does not exist.

    Returns:
        The checked text of each split.

    Raises:
        InputError: if no mirror has it, naming the files, their hashes and where to put them; or
            if `data_dir` cannot be written to.
    """
    failures = []
    for urls in spec.mirrors:
        try:
            texts = _from_mirror(spec, urls)
        except (OSError, http.client.HTTPException, ValueError) as error:
            failures.append(f"{urls[0]}: {error}")
            continue
        _write(spec, texts, data_dir)
        return texts
    target = data_dir / spec.folders[0]
    wanted = ", ".join(f"{spec.files[split][0]} (sha256 {spec.sha256[split]})" for split in SPLITS)
    raise InputError(
        f"No mirror of {spec.name} could be used; put its files {wanted} into {target} yourself. "
        f"Tried: {' | '.join(failures)}"
    )


def _from_mirror(spec: CorpusSpec, urls: tuple[str, ...]) -> dict[str, RawText]:
    texts: dict[str, RawText] = {}
    for url in urls:
        name = PurePosixPath(urlsplit(url).path).name
        data = _get(url, name)
        if name.endswith(".zip"):
            texts |= sources.read_zip(io.BytesIO(data), url, spec.files)
        else:
            split = next(split for split in SPLITS if name in spec.files[split])
            texts[split] = RawText(url, data)
    texts = sources.complete(texts, urls[0], spec.files)
    sources.check_content(spec, texts)
    return texts


def _get(url: str, name: str) -> bytes:
    # Some hosts refuse Python's default agent.
    request = urllib.request.Request(url, headers={"User-Agent": "rilm_jax"})
    parts = []
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
        size = int(response.headers.get("Content-Length") or 0) or None
        with bar(size, name, "B", unit_scale=True) as shown:
            while chunk := response.read(_CHUNK):
                parts.append(chunk)
                shown.update(len(chunk))
    data = b"".join(parts)
    if size is not None and len(data) != size:
        raise InputError(f"{url} sent {len(data)} of {size} bytes")
    return data


def _write(spec: CorpusSpec, texts: dict[str, RawText], data_dir: Path) -> None:
    target = data_dir / spec.folders[0]
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=data_dir) as temporary:
            folder = Path(temporary) / "corpus"
            folder.mkdir()
            for split, text in texts.items():
                (folder / spec.files[split][0]).write_bytes(text.data)
            folder.rename(target)
    except OSError as error:
        raise InputError(
            f"{spec.name} cannot be written to {target} ({error.strerror}); "
            "name a data folder that can be written to."
        ) from error
