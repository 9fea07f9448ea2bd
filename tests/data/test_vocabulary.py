import dataclasses

import numpy as np
import pytest

from rilm_jax.data import Vocabulary, build_vocabulary
from rilm_jax.errors import InputError

COUNTS = {"b": 2, "a": 2, "<eos>": 2, "rare": 1, "<unk>": 9, "the": 5}


def test_order_is_unk_then_count_descending_then_word_ascending():
    assert build_vocabulary(COUNTS).words == ("<unk>", "the", "<eos>", "a", "b", "rare")


def test_size_counts_unk():
    vocab = build_vocabulary(COUNTS, 3)
    assert vocab.words == ("<unk>", "the", "<eos>")
    assert len(vocab) == 3


def test_every_size_is_a_prefix_of_the_full_vocabulary():
    full = build_vocabulary(COUNTS).words
    for size in range(1, len(full) + 1):
        assert build_vocabulary(COUNTS, size).words == full[:size]


def test_a_size_beyond_the_words_names_the_largest_possible():
    with pytest.raises(InputError, match=r"vocab_size=7 .* give vocab_size=6 or less"):
        build_vocabulary(COUNTS, 7)


def test_unk_need_not_occur_in_the_text():
    assert build_vocabulary({"a": 1, "<eos>": 1}).words == ("<unk>", "<eos>", "a")


def test_encode_and_decode():
    vocab = Vocabulary(("<unk>", "<eos>", "a"))
    ids = vocab.encode(["a", "zebra", "<eos>", "<unk>"])
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(ids, [2, 0, 1, 0])
    assert vocab.decode(ids) == ["a", "<unk>", "<eos>", "<unk>"]
    assert vocab.encode([]).shape == (0,)


def test_special_ids_and_membership():
    vocab = Vocabulary(("<unk>", "the", "<eos>"))
    assert (vocab.unk, vocab.eos) == (0, 2)
    assert "the" in vocab
    assert "zebra" not in vocab
    assert Vocabulary(("<unk>", "the")).eos == 0


def test_decode_refuses_ids_outside_the_vocabulary():
    with pytest.raises(InputError, match="id -1 at position 0"):
        Vocabulary(("<unk>", "a")).decode([-1])


def test_encode_refuses_an_unsplit_string():
    with pytest.raises(InputError, match="split it"):
        Vocabulary(("<unk>", "a")).encode("a a")


@pytest.mark.parametrize("words", [(), ("a", "<unk>"), ("<unk>", "a", "a")])
def test_a_vocabulary_is_distinct_words_after_unk(words):
    with pytest.raises(InputError, match="starts with <unk>"):
        Vocabulary(words)


def test_it_is_a_value():
    one, other = Vocabulary(("<unk>", "a")), Vocabulary(("<unk>", "a"))
    assert one == other
    assert hash(one) == hash(other)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.words = ("<unk>",)  # type: ignore[misc]
