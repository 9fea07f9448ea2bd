"""The collapse launcher, its runs replaced: what it writes, and which command it records."""

import json
import shlex
import types

import numpy as np

import rilm_jax
from rilm_jax import checkpoint, data, training
from rilm_jax.analysis import collapse


def test_it_leaves_a_record_a_page_and_a_picture(launch, tmp_path, monkeypatch):
    corpus = types.SimpleNamespace(valid=np.zeros(100, np.int32))
    norms = {"mean": [0.25, 0.5], "max": [0.5, 0.75]}
    monkeypatch.setattr(training, "run", lambda *_, **__: {"final_valid_ppl": {"mean": 50.0}})
    model = types.SimpleNamespace(init=lambda key: {})
    monkeypatch.setattr(rilm_jax, "build", lambda config: model)
    monkeypatch.setattr(data, "load", lambda *_, **__: corpus)
    monkeypatch.setattr(checkpoint, "load", lambda *_, **__: (None, {}))
    monkeypatch.setattr(collapse, "norms_by_step", lambda *_: norms)

    arguments = ["--corpus=ptb", "--steps=2"]
    finished = launch("collapse", *arguments, f"--out={tmp_path}")
    assert (finished.status, finished.err) == (0, "")
    record = json.loads((tmp_path / "ptb.json").read_text())
    assert shlex.split(record["command"]) == ["python", "experiments/collapse.py", *arguments]
    assert len(record["rows"]) == 12
    page = (tmp_path / "ptb.md").read_text("utf-8")
    assert record["command"] in page and finished.out.strip() in page
    assert "| \\|h\\| after 2 |" in page and "| 0.5000 |" in page
    assert (tmp_path / "ptb.png").stat().st_size > 1000
