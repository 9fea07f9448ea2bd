import contextlib
import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from rilm_jax.data import CORPORA, load, sources
from rilm_jax.errors import InputError


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return path


@pytest.fixture(autouse=True)
def nothing_cached(cache_dir):
    """Every input refused here leaves no cache entry."""
    yield
    assert not cache_dir.exists()


@contextlib.contextmanager
def refused(*parts: str):
    """Expects an InputError of one line that holds all parts."""
    with pytest.raises(InputError) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_only_a_line_feed_ends_a_line():
    text = "a\u2028b c\x0cd\r\ne\x85f\n\ng"
    assert sources.lines(text) == ["a\u2028b c\x0cd\r", "e\x85f", "", "g"]
    assert sources.lines("a\n") == sources.lines("a") == ["a"]
    assert sources.lines("") == []


def test_missing_splits_are_all_named(write_corpus):
    path = write_corpus(valid=None, test=None)
    with refused(str(path), "valid.txt and test.txt"):
        load(path, 0)


def test_one_text_file_is_cut_in_the_order_of_its_lines(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"".join(b"line %d\n" % i for i in range(10)))
    found = sources.read(path)
    assert [found[split].data.count(b"\n") for split in ("train", "valid", "test")] == [8, 1, 1]
    assert b"".join(found[split].data for split in ("train", "valid", "test")) == path.read_bytes()


def test_a_text_file_of_few_lines_is_cut_between_words(tmp_path):
    path = tmp_path / "mine.md"
    path.write_text(" ".join("abcdefghij"))
    found = sources.read(path)
    assert [found[split].data.split() for split in ("train", "valid", "test")] == [
        [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"],
        [b"i"],
        [b"j"],
    ]


@pytest.mark.parametrize("text", ["", "word", "a b", "a\nb\n", "a" * 99 + "\nb\nc"])
def test_a_text_file_of_too_few_words_is_not_cut(tmp_path, text):
    path = tmp_path / "mine.txt"
    path.write_text(text)
    with refused(str(path), "too few words", "give a longer one"):
        load(path, 0)


@pytest.mark.parametrize("split", ["train", "valid", "test"])
@pytest.mark.parametrize("text", ["", "\n \n\n", "\u2003\n"])
def test_a_split_without_words(write_corpus, split, text):
    path = write_corpus(**{split: text})
    with refused(f"{split}.txt", "no words"):
        load(path, 0)


def test_text_that_is_not_utf8_names_file_and_byte(write_corpus):
    path = write_corpus(valid=b"caf\xe9 noir\n")
    with refused("valid.txt", "byte 3", "0xe9", "UTF-8"):
        load(path, 0)


def test_a_nul_byte_names_file_and_byte(write_corpus):
    path = write_corpus(train="ab".encode("utf-16-le"))
    with refused("train.txt", "NUL", "byte 1"):
        load(path, 0)


def test_no_such_folder(tmp_path):
    for name in (tmp_path / "nowhere", str(tmp_path / "nowhere")):
        with refused("nowhere does not exist"):
            load(name, 0)


def test_a_file_that_is_no_archive(tmp_path):
    file = tmp_path / "notes.zip"
    file.write_text("some words\n")
    with refused("notes.zip", "neither a folder nor an intact zip archive"):
        load(file, 0)


@pytest.mark.parametrize(
    ("name", "near"),
    [("wikitext-2", "'wikitext2'"), ("Wikitext", "'wikitext2'"), ("ptbb", "'ptb'")],
)
def test_an_unknown_name_gets_the_nearest_one(name, near):
    with refused(repr(name), f"did you mean {near}", "wikitext2, ptb, pydoc"):
        load(name, 0)


@pytest.mark.parametrize("name", ["", "qqqqqq", 7, None])
def test_a_name_like_no_other(name):
    with refused(f"There is no corpus {name!r}: known are wikitext2, ptb, pydoc"):
        load(name, 0)


@pytest.mark.parametrize("size", [-1, 1, 2000.0, "2000", True])
def test_a_vocabulary_size_is_a_count(write_corpus, size):
    with refused(f"vocab_size={size!r}", "at least 2", "0 for every word"):
        load(write_corpus(), size)


def test_a_vocabulary_size_beyond_a_known_corpus_needs_no_text_to_be_refused():
    with refused("vocab_size=33279", "33278"):
        load("wikitext2", 33_279)
    with refused("vocab_size=10001", "10000"):
        load("ptb", 10_001)


def test_no_data_folder_was_named():
    with refused("wikitext2", "RILM_DATA_DIR", "wikitext-2.zip"):
        load("wikitext2", 2000)


def test_the_named_data_folder_is_missing_or_lacks_the_corpus(tmp_path, monkeypatch):
    with refused("nowhere does not exist", "ptb.zip"):
        load("ptb", 2000, tmp_path / "nowhere")
    monkeypatch.setenv("RILM_DATA_DIR", str(tmp_path))
    with refused(f"{tmp_path} does not hold ptb", "ptb.zip"):
        load("ptb", 2000)


def test_wrong_content_names_both_hashes_and_counts(tmp_path, write_corpus):
    train = write_corpus("ptb") / "train.txt"
    with refused(
        f"{train} is not the train text of ptb",
        hashlib.sha256(train.read_bytes()).hexdigest(),
        "8 tokens",
        CORPORA["ptb"].sha256["train"],
        "929,589",
    ):
        load("ptb", 2000, tmp_path)


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_truncated_archive(tmp_path, keep):
    path = archive(tmp_path / "ptb.zip", **{f"ptb/{s}.txt": b"a b\n" for s in sources.SPLITS})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole)) if keep < 1 else keep])
    with refused("ptb.zip", "intact zip archive"):
        load("ptb", 2000, tmp_path)


def test_an_archive_with_a_damaged_member(tmp_path):
    data = bytes(range(256)) * 40
    members = {f"{split}.txt": data for split in sources.SPLITS}
    path = archive(tmp_path / "ptb.zip", **members)
    raw = bytearray(path.read_bytes())
    raw[60] ^= 0xFF
    path.write_bytes(raw)
    with refused("ptb.zip", "intact zip archive"):
        load("ptb", 2000, tmp_path)


def test_an_archive_without_a_split(tmp_path):
    path = archive(tmp_path / "ptb.zip", **{"ptb/train.txt": b"a\n", "ptb/test.txt": b"a\n"})
    with refused("ptb.zip lacks valid.txt"):
        load("ptb", 2000, path)


@pytest.mark.parametrize(
    "names",
    [
        ("wikitext-2/{}.txt", "{}.txt"),
        ("deep/er/wikitext-2/wiki.{}.tokens", "wiki.{}.tokens"),
    ],
)
def test_files_are_found_at_any_depth_under_their_usual_names(names):
    member, name = names
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for split in sources.SPLITS:
            zipped.writestr(member.format(split), f"{split} text\n")
            zipped.writestr("__MACOSX/" + name.format(split), "resource fork")
    texts = sources.read_zip(buffer, "a.zip", CORPORA["wikitext2"].files)
    assert {split: text.data for split, text in texts.items()} == {
        split: f"{split} text\n".encode() for split in sources.SPLITS
    }
    assert texts["train"].origin == f"a.zip:{member.format('train')}"


def test_where_a_corpus_may_lie(tmp_path, write_corpus):
    spec = CORPORA["wikitext2"]
    assert sources.locate(spec, tmp_path / "nowhere") is None
    assert sources.locate(spec, tmp_path) is None
    zipped = archive(tmp_path / "wikitext-2.zip", **{"train.txt": b"a\n"})
    assert sources.locate(spec, tmp_path) == zipped
    assert sources.locate(spec, zipped) == zipped
    folder = write_corpus("wikitext-2")
    assert sources.locate(spec, tmp_path) == folder
    assert sources.locate(spec, folder) == folder
