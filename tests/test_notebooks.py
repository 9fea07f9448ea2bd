"""The notebooks as they are stored: run from top to bottom, with what they showed."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


def test_they_are_there():
    assert [path.stem for path in NOTEBOOKS] == ["geometry", "quickstart", "reproduce"]
    assert all(path.with_suffix(".py").is_file() for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_stored_with_what_they_show(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert code[-1]["outputs"], "the sample at the end is not stored"
    badge = "".join(cells[0]["source"])
    assert "colab.research.google.com/github/" in badge and f"notebooks/{path.name}" in badge
