"""Every test here gets a cache of its own and sees no data folder that it did not name."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("RILM_CACHE_DIR", str(folder))
    monkeypatch.delenv("RILM_DATA_DIR", raising=False)
    return folder


@pytest.fixture
def write_corpus(tmp_path: Path) -> Callable[..., Path]:
    """Writes a small corpus as a folder; keywords replace the text of a split (None: no file)."""

    def write(folder: str | Path = "corpus", **texts: str | bytes | None) -> Path:
        path = tmp_path / folder
        path.mkdir(parents=True, exist_ok=True)
        default = {"train": "a b a\nc a b\n", "valid": "a c\n", "test": "b d\n"}
        for split, text in {**default, **texts}.items():
            if text is not None:
                data = text.encode() if isinstance(text, str) else text
                (path / f"{split}.txt").write_bytes(data)
        return path

    return write
