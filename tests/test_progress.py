"""Bars: on a terminal from the first moment on, and nowhere else."""

import io
import sys

import pytest

from rilm_jax import config, recipes, scoring, trained, training
from rilm_jax.progress import bar

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.fixture
def stderr(monkeypatch):
    """Puts a stream in stderr's place; in the test itself, as pytest puts its own there before."""

    def put(terminal):
        stream = Stream(terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return put


def test_a_terminal_sees_it_from_the_first_moment(stderr):
    stream = stderr(terminal=True)
    for _ in bar(1, "counting", "order", iterable=[None]):
        assert "counting:   0%" in stream.getvalue()


def test_a_file_sees_nothing(stderr):
    stream = stderr(terminal=False)
    assert list(bar(3, "counting", "order", iterable=range(3))) == [0, 1, 2]
    assert stream.getvalue() == ""


@pytest.mark.slow
def test_training_and_evaluation_of_one_seed_show_one(stderr, tmp_path):
    stream = stderr(terminal=True)
    string = "flatrilm,dim=4,vocab_size=500,num_steps=3,batch_size=4,window=8,seeds=1"
    training.run(config.from_flat(recipes.recipe("pydoc", string)), tmp_path / "run")
    assert "| 0/3 " in stream.getvalue()
    (tmp_path / "text.txt").write_text("import the module and call the function\n")
    run = trained.load(tmp_path / "run")
    text = scoring.read_text(tmp_path / "text.txt", run.vocab, "pydoc")
    stream.truncate(0)
    scoring.score_text(run, text)
    assert "evaluating:   0%" in stream.getvalue()
