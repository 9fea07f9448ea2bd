import dataclasses
import functools
import http.server
import io
import threading
import zipfile
from hashlib import sha256

import numpy as np
import pytest

from rilm_jax.data import CORPORA, CorpusSpec, load
from rilm_jax.errors import InputError

TEXTS = {"train": b"a b a\nc a b\n", "valid": b"a c\n", "test": b"b d\n"}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; promises more than it sends under /short; asks for a User-Agent."""

    def do_GET(self):
        if self.headers.get("User-Agent", "Python-urllib").startswith("Python-urllib"):
            self.send_error(403)
        elif self.path.startswith("/short/"):
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b"a b")
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path):
    """Three mirrors (`zip`, `text`, `wrong`) on a local server; yields its address."""
    root = tmp_path / "site"
    for name in ("zip", "text", "wrong", "broken"):
        (root / name).mkdir(parents=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for split, data in TEXTS.items():
            zipped.writestr(f"tiny/{split}.txt", data)
            (root / "text" / f"{split}.txt").write_bytes(data)
            (root / "wrong" / f"{split}.txt").write_bytes(data.upper())
    (root / "zip" / "tiny.zip").write_bytes(buffer.getvalue())
    (root / "broken" / "tiny.zip").write_bytes(buffer.getvalue()[:-40])
    handler = functools.partial(Handler, directory=str(root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def use_mirrors(site, monkeypatch):
    """Makes `tiny` a known corpus with the given mirrors."""
    for variable in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(variable, raising=False)

    def use(*mirrors: tuple[str, ...]):
        spec = CorpusSpec(
            name="tiny",
            folders=("tiny",),
            archives=("tiny.zip",),
            files={split: (f"{split}.txt",) for split in TEXTS},
            sha256={split: sha256(data).hexdigest() for split, data in TEXTS.items()},
            tokens={"train": 8, "valid": 3, "test": 3},
            types=5,
            mirrors=tuple(tuple(f"{site}/{path}" for path in paths) for paths in mirrors),
        )
        monkeypatch.setitem(CORPORA, "tiny", spec)
        return spec

    return use


ZIP = ("zip/tiny.zip",)
TEXT = tuple(f"text/{split}.txt" for split in TEXTS)
WRONG = tuple(f"wrong/{split}.txt" for split in TEXTS)
GONE = ("gone/tiny.zip",)
SHORT = ("short/tiny.zip",)
BROKEN = ("broken/tiny.zip",)
INCOMPLETE = TEXT[:2]


@pytest.mark.parametrize("mirror", [ZIP, TEXT])
def test_a_corpus_is_fetched_into_the_data_folder(use_mirrors, tmp_path, mirror):
    use_mirrors(mirror)
    data_dir = tmp_path / "new" / "data"
    corpus = load("tiny", 0, data_dir, download=True)
    assert corpus.train.tolist() == [1, 3, 1, 2, 4, 1, 3, 2]
    assert [path.name for path in data_dir.iterdir()] == ["tiny"]
    written = {path.name: path.read_bytes() for path in (data_dir / "tiny").iterdir()}
    assert written == {f"{split}.txt": data for split, data in TEXTS.items()}


@pytest.mark.parametrize("first", [GONE, WRONG, SHORT, BROKEN, INCOMPLETE])
def test_the_next_mirror_is_tried_after_any_failure(use_mirrors, tmp_path, first):
    use_mirrors(first, TEXT)
    assert len(load("tiny", 0, tmp_path / "data", download=True).vocab) == 5


def test_when_all_mirrors_fail_the_message_says_what_to_put_where(
    use_mirrors, tmp_path, cache_dir, site
):
    spec = use_mirrors(GONE, WRONG, SHORT)
    with pytest.raises(InputError) as caught:
        load("tiny", 0, tmp_path / "data", download=True)
    message = str(caught.value)
    assert str(tmp_path / "data" / "tiny") in message
    for split in TEXTS:
        assert f"{split}.txt" in message
        assert spec.sha256[split] in message
    for mirror in (GONE, WRONG, SHORT):
        assert f"{site}/{mirror[0]}" in message
    assert "404" in message
    assert "sent 3 of 100000 bytes" in message
    assert not (tmp_path / "data").exists()
    assert not cache_dir.exists()


def test_nothing_is_fetched_that_is_there_or_prepared(use_mirrors, tmp_path):
    use_mirrors(TEXT)
    first = load("tiny", 0, tmp_path / "data", download=True)
    use_mirrors(GONE)
    again = load("tiny", 0, tmp_path / "data", download=True)
    cached = load("tiny", 0, download=True)
    for other in (again, cached):
        np.testing.assert_array_equal(other.train, first.train)


def test_without_a_data_folder_the_text_is_kept_beside_the_cache(use_mirrors, cache_dir):
    use_mirrors(ZIP)
    load("tiny", 0, download=True)
    assert (cache_dir / "corpora" / "tiny" / "train.txt").read_bytes() == TEXTS["train"]
    use_mirrors(GONE)
    assert len(load("tiny", 3).vocab) == 3


def test_a_wrong_file_of_the_user_is_reported_and_not_replaced(use_mirrors, tmp_path, write_corpus):
    use_mirrors(TEXT)
    write_corpus("data/tiny", test="other\n")
    with pytest.raises(InputError, match=r"test\.txt is not the test text of tiny"):
        load("tiny", 0, tmp_path / "data", download=True)
    assert (tmp_path / "data" / "tiny" / "test.txt").read_text() == "other\n"


def test_a_data_folder_that_cannot_be_made(use_mirrors, tmp_path):
    use_mirrors(TEXT)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="name a data folder that can be written to"):
        load("tiny", 0, tmp_path / "file" / "data", download=True)


def test_the_known_corpora_are_complete():
    for spec in CORPORA.values():
        for field in dataclasses.fields(spec):
            assert getattr(spec, field.name)
        assert all(len(digest) == 64 for digest in spec.sha256.values())
        for urls in spec.mirrors:
            names = [url.rsplit("/", 1)[1] for url in urls]
            if not names[0].endswith(".zip"):
                assert all(
                    name in spec.files[split] for name, split in zip(names, TEXTS, strict=True)
                )
