import platform

import numpy as np
import pytest

from rilm_jax.data import load
from rilm_jax.data.pydoc import split_topics, texts
from rilm_jax.errors import InputError


def topics(**given):
    return {f"t{i}": f"topic {i}\n" for i in range(10)} | given


def test_topics_are_split_by_name_whatever_their_order():
    forward = topics()
    backward = dict(reversed(forward.items()))
    split = split_topics(forward)
    assert split == split_topics(backward)
    assert split["valid"] == b"topic 0\n"
    assert split["test"] == b"topic 5\n"
    assert split["train"].splitlines() == [f"topic {i}".encode() for i in (1, 2, 3, 4, 6, 7, 8, 9)]


def test_words_and_punctuation_are_tokens_and_lines_without_words_are_left_out():
    text = 'The "for" loop\n==============\n\n   \n   x += f(_1)\n   )\n'
    split = split_topics(topics(t1=text))
    assert split["train"].startswith(b'The " for " loop\nx + = f ( _1 )\ntopic 2\n')


def test_a_paragraph_of_a_held_out_topic_is_not_trained_on():
    shared = "The same words.\n"
    split = split_topics(topics(t0=shared, t1=f"{shared}\nOther words.\n", t2="Other  words.\n"))
    assert split["valid"] == b"The same words .\n"
    assert split["train"].startswith(b"Other words .\ntopic 3\n")


def test_no_paragraph_of_this_python_stands_in_two_splits():
    split = texts()
    sizes = {name: len(text) for name, text in split.items()}
    assert sizes["train"] > 5 * max(sizes["valid"], sizes["test"])
    train = set(split["train"].splitlines())
    for name in ("valid", "test"):
        long = [line for line in split[name].splitlines() if len(line) > 60]
        assert sum(line in train for line in long) < 0.02 * len(long)


def test_load_records_the_python_and_needs_no_folder():
    corpus = load("pydoc", 2000)
    assert corpus.name == "pydoc"
    assert corpus.info["python"] == platform.python_version()
    assert len(corpus.vocab) == 2000
    assert len(corpus.train) > 50_000
    assert min(len(corpus.valid), len(corpus.test)) > 5_000
    # Line ends and unknown words are few, so there is something to learn.
    assert np.mean(corpus.valid == corpus.vocab.eos) < 0.1
    assert np.mean(corpus.valid == corpus.vocab.unk) < 0.1


def test_a_python_without_its_help_text(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pydoc_data.topics", None)
    with pytest.raises(InputError, match="without pydoc_data"):
        load("pydoc", 2000)
