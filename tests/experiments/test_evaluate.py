"""The evaluation launcher, on a model made here; tests/test_scoring.py has the numbers."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import build, commandline, config, trained
from rilm_jax.data import Corpus, Vocabulary
from rilm_jax.trained import Trained

WORDS = ("<unk>", "<eos>", "the", "cat", "sat")
SEEDS = (7, 8)


@pytest.fixture(scope="module")
def small():
    """An untrained model of two seeds."""
    run = config.from_flat(
        {"corpus": "ptb", "vocab_size": 5, "dim": 4, "seeds": SEEDS, "manifold": "euclidean"}
    )
    model = build(run.model)
    params = jax.vmap(lambda seed: model.init(jax.random.key(seed)))(jnp.array(SEEDS))
    ids = np.array([2, 3, 4, 1, 2, 0, 4, 1] * 5, np.int32)
    vocab = Vocabulary(WORDS)
    return Trained(run, model, params, vocab, Corpus(vocab, ids, ids[:20], ids[:30], "ptb"))


@pytest.fixture
def opened(small, monkeypatch):
    """The calls of `trained.load`, each of which gives `small`."""
    calls = []

    def load(workdir, which="best", *, data_dir=None, with_corpus=True):
        calls.append((workdir, which, data_dir, with_corpus))
        return small

    monkeypatch.setattr(trained, "load", load)
    return calls


def test_a_split_is_printed_for_each_seed_and_their_mean(launch, opened):
    finished = launch("evaluate", "--workdir=somewhere", "--data_dir=data")
    assert (finished.status, finished.err) == (0, "")
    assert opened == [("somewhere", "best", "data", True)]
    assert finished.out.startswith("ptb test: 29 targets, 13.8% of them <unk>\n")
    told = "somewhere, best parameters, of a run that has not ended (epoch 0 of 10)\n"
    assert told in finished.out and "Fewer than" not in finished.out
    rows = {line[:10].strip(): line.split() for line in finished.out.splitlines()}
    per_seed = [float(rows[f"seed {seed}"][2]) for seed in SEEDS]
    assert float(rows["mean"][1]) == pytest.approx(np.mean(per_seed), abs=0.01)
    assert max(map(len, finished.out.splitlines())) <= 80
    other = launch("evaluate", "--workdir=somewhere", "--split=valid", "--which=last")
    assert opened[1] == ("somewhere", "last", None, True)
    assert other.out.startswith("ptb valid: 19 targets")


def test_a_text_is_printed_with_its_worst_lines(launch, opened, tmp_path):
    text = tmp_path / "own.txt"
    text.write_text("the cat sat\nthe dog " + "sat " * 40 + "\n\ncat cat\n")
    finished = launch("evaluate", "--workdir=x", f"--text={text}", "--worst=2")
    assert finished.status == 0, finished.err
    assert f"{text}: 50 targets, 2.0% of them <unk>" in finished.out
    assert "Fewer than 1,000 targets: another such text may" in finished.out
    worst = finished.out.partition("the worst lines")[2].splitlines()[2:]
    assert len(worst) == 2
    assert float(worst[0].split()[-1]) >= float(worst[1].split()[-1])
    assert {int(line.split()[-2]) for line in worst} < {1, 2, 4}
    table = finished.out[finished.out.index("the worst lines") :]
    assert max(map(len, table.splitlines())) <= 80
    assert "worst" not in launch("evaluate", "--workdir=x", f"--text={text}", "--worst=0").out
    text.write_text("the cat sat\n" * 250 + "the")
    assert "Fewer than" not in launch("evaluate", "--workdir=x", f"--text={text}").out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--workdir is missing; give one, e.g. --workdir=runs/quickstart/hyprilm."),
        (["--workdir=x", "--split=tset"], "split 'tset' is unknown; did you mean 'test'"),
        (["--workdir=x", "--text=nowhere.txt"], "nowhere.txt cannot be read (No such file"),
        (["--workdir=x", "--text=empty.txt"], "empty.txt has no target"),
        (["--workdir=x", "--text=latin1.txt"], "latin1.txt is not UTF-8: byte 2 is 0xe9"),
        (["--workdir=x", "--text=binary.txt"], "binary.txt is not plain text: it has a NUL byte"),
        (["--workdri=x"], "did you mean '--workdir'"),
    ],
)
def test_mistakes_end_with_one_sentence(launch, opened, tmp_path, arguments, sentence):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "latin1.txt").write_bytes(b"a \xe9")
    (tmp_path / "binary.txt").write_bytes(b"a \0 b")
    finished = launch("evaluate", *arguments)
    assert finished.status == commandline.BAD_INPUT
    assert sentence in finished.err
    assert len(finished.err.strip().splitlines()) == 1
    assert not finished.out


def test_a_folder_that_is_no_run_is_refused(launch, tmp_path):
    finished = launch("evaluate", f"--workdir={tmp_path}")
    assert (finished.status, finished.out) == (commandline.BAD_INPUT, "")
    assert finished.err == f"{tmp_path} is no work directory: it has no config.json.\n"
    (tmp_path / "config.json").write_text(json.dumps(config.to_flat(config.RunConfig())))
    finished = launch("evaluate", f"--workdir={tmp_path}")
    assert finished.err == f"{tmp_path} holds no checkpoints; train there first.\n"
