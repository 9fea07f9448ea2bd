import pytest

from rilm_jax.data.builders import LINES_PER_RECORD, TextCorpus, through_tfds


@pytest.mark.parametrize("count", [1, LINES_PER_RECORD, 2 * LINES_PER_RECORD + 3])
def test_lines_come_back_as_they_went_in(tmp_path, count):
    lines = [f"line {i} \u2028\r é" if i % 3 else "" for i in range(count)]
    given = {"train": lines, "valid": [""], "test": ["", "a", ""]}
    assert through_tfds(given, str(tmp_path)) == given


def test_records_are_bytes_in_the_order_of_the_text(tmp_path):
    lines = [str(i) for i in range(10 * LINES_PER_RECORD)]
    builder = TextCorpus(lines={"train": lines}, data_dir=str(tmp_path))
    builder.download_and_prepare()
    source = builder.as_data_source(split="train")
    assert len(source) == 10
    first_lines = [source[i]["text"].split(b"\n")[0] for i in range(10)]
    assert first_lines == [str(i * LINES_PER_RECORD).encode() for i in range(10)]
    assert list(tmp_path.rglob("*.array_record*"))


def test_it_prints_nothing(tmp_path, capfd):
    through_tfds({"train": ["a"], "valid": ["b"], "test": ["c"]}, str(tmp_path))
    assert capfd.readouterr() == ("", "")
