import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from rilm_jax.data import CORPORA, load, read_prepared, windows
from rilm_jax.errors import InputError


def splits(corpus):
    return {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}


def run_python(code: str, *path: str, **environment: str) -> str:
    """Runs code in a fresh interpreter; modules in `path` come first."""
    found = os.pathsep.join([*path, *(entry for entry in sys.path if entry)])
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": found, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_folder_becomes_ids(write_corpus):
    corpus = load(write_corpus(), 0)
    assert corpus.vocab.words == ("<unk>", "a", "<eos>", "b", "c")
    expected = {"train": [1, 3, 1, 2, 4, 1, 3, 2], "valid": [1, 4, 2], "test": [3, 0, 2]}
    for split, ids in splits(corpus).items():
        assert ids.dtype == np.int32
        assert ids.tolist() == expected[split]
    assert corpus.name == "corpus"
    assert corpus.info["types"] == 5
    assert set(corpus.info["sha256"]) == {"train", "valid", "test"}


def test_it_unpacks_as_four_fields_first(write_corpus):
    vocab, train, valid, test = load(write_corpus(), 3)[:4]
    assert len(vocab) == 3
    assert train.tolist() == [1, 0, 1, 2, 0, 1, 0, 2]
    assert max(valid.max(), test.max()) < 3


def test_a_part_is_half_of_the_training_text_with_the_words_of_all(write_corpus):
    folder = write_corpus()
    whole, first, second = (load(folder, 0, part=part) for part in ("all", "first", "second"))
    assert [*first.train, *second.train] == whole.train.tolist()
    assert abs(len(first.train) - len(second.train)) <= 1
    assert first.vocab.words == whole.vocab.words and first.valid.tolist() == whole.valid.tolist()
    with pytest.raises(InputError, match="part of the training text 'third' is unknown"):
        load(folder, 0, part="third")


def test_blank_lines_and_an_unended_last_line_are_lines(write_corpus):
    corpus = load(write_corpus(train="a\n\n \nb"), 0)
    assert corpus.vocab.decode(corpus.train) == ["a", "<eos>", "<eos>", "<eos>", "b", "<eos>"]


def test_unicode_separators_part_words_but_end_no_line(write_corpus):
    corpus = load(write_corpus(train="a\u2028b\x0cc\x85d\r\ne\n"), 0)
    words = ["a", "b", "c", "d", "<eos>", "e", "<eos>"]
    assert corpus.vocab.decode(corpus.train) == words


def test_a_byte_order_mark_is_no_part_of_the_first_word(write_corpus):
    assert "a" in load(write_corpus(train="\ufeffa\n"), 0).vocab


def test_none_and_zero_both_keep_every_word(write_corpus):
    path = write_corpus()
    assert load(path, None).vocab == load(path, 0).vocab


def test_the_largest_vocabulary_is_named_and_possible(write_corpus, cache_dir):
    path = write_corpus()
    with pytest.raises(InputError, match="give vocab_size=5 or less"):
        load(path, 6)
    assert not list(cache_dir.iterdir())
    assert len(load(path, np.int64(5)).vocab) == 5


def test_an_edited_folder_is_prepared_anew(write_corpus):
    before = load(write_corpus(), 0)
    after = load(write_corpus(test="a a a\n"), 0)
    assert after.test.tolist() == [1, 1, 1, 2]
    assert before.info["sha256"]["test"] != after.info["sha256"]["test"]
    assert before.info["sha256"]["train"] == after.info["sha256"]["train"]


def test_the_second_load_reads_the_cache(write_corpus, monkeypatch, cache_dir):
    path = write_corpus()
    first = load(path, 4)
    assert [entry.name.startswith("corpus-") for entry in cache_dir.iterdir()] == [True]

    def prepare(*_):
        raise AssertionError("prepared again")

    monkeypatch.setattr("rilm_jax.data.loading.prepare", prepare)
    second = load(path, 4)
    assert second.vocab == first.vocab
    assert second.info == first.info
    for split, ids in splits(second).items():
        np.testing.assert_array_equal(ids, splits(first)[split])


@pytest.mark.parametrize("file", ["ids.npz", "corpus.json"])
@pytest.mark.parametrize("keep", [0, 0.5])
def test_a_damaged_cache_entry_is_replaced(write_corpus, cache_dir, file, keep):
    path = write_corpus()
    load(path, 0)
    (entry,) = cache_dir.iterdir()
    whole = (entry / file).read_bytes()
    (entry / file).write_bytes(whole[: int(len(whole) * keep)])
    assert read_prepared(entry) is None
    assert load(path, 0).valid.tolist() == [1, 4, 2]
    assert read_prepared(entry) is not None
    assert list(cache_dir.iterdir()) == [entry]


def test_a_cache_entry_with_ids_beyond_its_words_is_not_used(write_corpus, cache_dir):
    load(write_corpus(), 0)
    (entry,) = cache_dir.iterdir()
    record = json.loads((entry / "corpus.json").read_text("utf-8"))
    record["words"] = record["words"][:3]
    (entry / "corpus.json").write_text(json.dumps(record), "utf-8")
    assert read_prepared(entry) is None


def test_a_failure_while_writing_leaves_nothing(write_corpus, cache_dir, monkeypatch):
    def savez(file, **_):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rilm_jax.data.cache.np.savez", savez)
    with pytest.raises(InputError, match=r"No space left.*set RILM_CACHE_DIR"):
        load(write_corpus(), 0)
    assert not list(cache_dir.iterdir())


def test_a_cache_that_cannot_be_made(write_corpus, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RILM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="set RILM_CACHE_DIR"):
        load(write_corpus(), 0)


NO_TFDS = """
    import sys
    sys.modules["tensorflow_datasets"] = None
    from rilm_jax.data import load
    from rilm_jax.errors import InputError
"""


def test_a_cached_corpus_needs_no_tfds(write_corpus, cache_dir):
    path = write_corpus()
    load(path, 3)
    code = f"""{NO_TFDS}
    print(load({str(path)!r}, 3).train.tolist())
    try:
        load({str(path)!r}, 4)
    except InputError as error:
        print(error)
    """
    hit, miss = run_python(code, RILM_CACHE_DIR=str(cache_dir)).splitlines()
    assert hit == "[1, 0, 1, 2, 0, 1, 0, 2]"
    assert "needs tensorflow_datasets" in miss
    assert "RILM_CACHE_DIR" in miss
    assert len(list(cache_dir.iterdir())) == 1


def test_tensorflow_is_never_imported_even_where_it_is_installed(write_corpus, tmp_path, cache_dir):
    package = tmp_path / "site" / "tensorflow"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('TensorFlow was imported')")
    code = f"""
    import importlib.util, sys
    from rilm_jax.data import load
    assert importlib.util.find_spec("tensorflow") is not None
    load({str(write_corpus())!r}, 0)
    assert "tensorflow_datasets" in sys.modules
    print([name for name in sys.modules if name.split(".")[0] == "tensorflow"])
    """
    found = run_python(code, str(tmp_path / "site"), RILM_CACHE_DIR=str(cache_dir))
    assert found.splitlines()[-1] == "[]"


def test_importing_the_package_imports_no_tfds():
    code = """
    import sys
    import rilm_jax.data
    print("tensorflow_datasets" in sys.modules)
    """
    assert run_python(code) == "False\n"


@pytest.mark.parametrize("name", ["wikitext2", "ptb"])
def test_the_known_corpora_have_the_published_counts(corpora_dir, name):
    spec = CORPORA[name]
    corpus = load(name, 0, corpora_dir)
    assert {split: len(ids) for split, ids in splits(corpus).items()} == spec.tokens
    assert len(corpus.vocab) == corpus.info["types"] == spec.types
    assert corpus.info["sha256"] == spec.sha256
    for split in ("valid", "test"):
        cut = windows(splits(corpus)[split], 64)
        assert cut.mask.sum(dtype=np.float64) == spec.tokens[split] - 1


def test_wikitext2_at_2000_words(corpora_dir, monkeypatch):
    corpus = load("wikitext2", 2000, corpora_dir)
    assert windows(corpus.train, 64).inputs.shape == (32_635, 64)
    assert np.mean(corpus.valid == 0) == pytest.approx(0.261, abs=5e-4)
    # Once prepared it needs no text, and a folder that is named has to be right all the same.
    monkeypatch.delenv("RILM_DATA_DIR", raising=False)
    np.testing.assert_array_equal(load("wikitext2", 2000).test, corpus.test)
    with pytest.raises(InputError, match="does not hold wikitext2"):
        load("wikitext2", 2000, os.environ["RILM_CACHE_DIR"])


def test_ptb_at_2000_words_from_the_archive_itself(corpora_dir, monkeypatch):
    monkeypatch.setenv("RILM_DATA_DIR", str(corpora_dir / "ptb.zip"))
    corpus = load("ptb", 2000)
    assert np.mean(corpus.valid == 0) == pytest.approx(0.177, abs=5e-4)
