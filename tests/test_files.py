"""Whole files or none."""

import pytest

from rilm_jax import files
from rilm_jax.errors import InputError


def test_a_file_is_replaced_as_a_whole_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b.json"
    files.write_json(path, {"x": 1})
    files.write(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_what_was_there_stays_where_nothing_can_be_written(tmp_path, monkeypatch):
    path = tmp_path / "kept"
    path.write_bytes(b"before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(InputError, match=r"kept cannot be written .No space left on device."):
        files.write(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="cannot be written"):
        files.write(path / "below a file", b"")


def test_a_line_is_added_behind_the_others_or_refused(tmp_path):
    path = tmp_path / "lines"
    files.append_line(path, "one")
    files.append_line(path, "two")
    assert path.read_text() == "one\ntwo\n"
    with pytest.raises(InputError, match=r"cannot be written \(Is a directory\)"):
        files.append_line(tmp_path, "three")
