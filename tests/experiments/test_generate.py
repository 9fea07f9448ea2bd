"""The generation launcher, on a model made here."""

import json

import jax
import pytest

from rilm_jax import build, commandline, config, generation, trained
from rilm_jax.data import Vocabulary
from rilm_jax.trained import Trained

WORDS = ("<unk>", "<eos>", "the", "cat", "sat", "mat", "w" * 90)


@pytest.fixture(scope="module")
def small():
    """An untrained model of one seed."""
    run = config.from_flat({"corpus": "ptb", "vocab_size": len(WORDS), "dim": 4})
    model = build(run.model)
    params = model.init(jax.random.key(0))
    return Trained(run, model, params, Vocabulary(WORDS), None)


@pytest.fixture
def opened(small, monkeypatch, tmp_path):
    """The calls of `trained.load_seed`, each of which gives `small`, a run that has ended in x."""
    calls = []
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "summary.json").touch()

    def load_seed(workdir, which="best", *, seed=None, with_corpus=True):
        calls.append((workdir, which, seed, with_corpus))
        return small

    monkeypatch.setattr(trained, "load_seed", load_seed)
    return calls


def words_of(run, prompt, n, seed, temperature, top_k, allow_unk=False):
    ids = generation.generate(
        run.model,
        run.params,
        Vocabulary(WORDS).encode(prompt.split()),
        n,
        jax.random.key(seed),
        temperature,
        top_k,
        allow_unk=allow_unk,
    )
    return [WORDS[i] for i in ids]


def test_the_text_is_that_of_generate(launch, small, opened):
    arguments = ["--workdir=x", "--prompt=the cat", "--num_tokens=12", "--top_k=4"]
    finished = launch("generate", *arguments, "--sample_seed=5", "--temperature=2")
    assert (finished.status, finished.err) == (0, "")
    words = words_of(small, "the cat", 12, 5, 2.0, 4)
    assert finished.out == generation.text("the cat", words) + "\n"
    assert opened == [("x", "best", None, False)]
    assert launch("generate", *arguments, "--sample_seed=6", "--temperature=2").out != finished.out


def test_the_seed_of_the_run_is_not_that_of_the_draws(launch, opened):
    arguments = ["--workdir=x", "--prompt=the", "--top_k=4"]
    first = launch("generate", *arguments)
    second = launch("generate", *arguments, "--seed=43", "--which=last")
    assert opened == [("x", "best", None, False), ("x", "last", 43, False)]
    assert first.out == second.out


def test_unk_is_drawn_on_demand_only(launch, opened):
    arguments = ["--workdir=x", "--prompt=the", "--num_tokens=60", "--temperature=9", "--top_k=0"]
    assert "<unk>" not in launch("generate", *arguments).out
    assert "<unk>" in launch("generate", *arguments, "--allow_unk").out


def test_unknown_words_are_told_on_stderr(launch, opened):
    finished = launch(
        "generate", "--workdir=x", "--prompt=the dog sat Dog", "--num_tokens=1", "--top_k=2"
    )
    assert finished.status == 0
    assert finished.err == "Read as <unk>, not being among the words: dog, Dog.\n"


def test_a_run_that_has_not_ended_is_said_to_be_one(launch, opened, tmp_path):
    (tmp_path / "x" / "summary.json").unlink()
    evaluated = [{"split": split, "epoch": 3} for split in ("train", "valid")]
    (tmp_path / "x" / "metrics.jsonl").write_text("".join(json.dumps(e) + "\n" for e in evaluated))
    finished = launch("generate", "--workdir=x", "--prompt=the", "--num_tokens=1", "--top_k=2")
    told = "x, best parameters, of a run that has not ended (epoch 3 of 10).\n"
    assert (finished.status, finished.err) == (0, told)
    with open(tmp_path / "x" / "metrics.jsonl", "a") as metrics:
        metrics.write('{"split": "va')  # cut off by a kill
    damaged = launch("generate", "--workdir=x", "--prompt=the", "--num_tokens=1", "--top_k=2")
    told = "x, best parameters, of a run that has not ended.\n"
    assert (damaged.status, damaged.err) == (0, told)


@pytest.mark.parametrize("extra", [["--top_k=6"], ["--top_k=0"]])
def test_explain_shows_what_every_word_was_drawn_from(launch, opened, extra):
    arguments = ["--workdir=x", "--prompt=the cat", "--num_tokens=3", "--explain", *extra]
    finished = launch("generate", *arguments)
    assert finished.status == 0, finished.err
    lines = finished.out.splitlines()
    assert max(map(len, lines[:-1])) <= 80
    assert sum("probability" in line for line in lines) == 3
    drawn = [line.split()[1] for line in lines if line.startswith("> ")]
    assert len(drawn) == 3
    rows = [line.split() for line in lines if line[:2] in ("> ", "  ")]
    assert len(rows) == 3 * 7 and [row[0] for row in rows].count("<unk>,") == 3
    first = [float(row[-3]) for row in rows[:6]]
    assert first == sorted(first, reverse=True)
    assert sum(first) < 1  # <unk> has the rest
    assert launch("generate", *arguments[:-2], *extra).out.splitlines()[-1] == lines[-1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--workdir is missing"),
        (["--workdir=x"], "--prompt is missing; give one, e.g. --prompt=The."),
        (["--workdir=x", "--prompt=  "], "the prompt is empty"),
        (
            ["--workdir=x", "--prompt=a", "--top_k=99"],
            "top_k=99 is out of range; there are 6 words",
        ),
        (["--workdir=x", "--prompt=a", "--temperature=-1"], "temperature=-1.0 is out of range"),
        (["--workdir=x", "--prompt=a", "--temperature=hot"], "--temperature=hot"),
        (["--workdir=x", "--prompt=a", "--num_tokens=0"], "--num_tokens=0"),
    ],
)
def test_mistakes_end_with_one_sentence(launch, opened, arguments, sentence):
    finished = launch("generate", *arguments)
    assert finished.status == commandline.BAD_INPUT
    assert sentence in finished.err
    assert len(finished.err.strip().splitlines()) == 1
    assert not finished.out


def test_a_folder_that_is_no_run_is_refused(launch, tmp_path):
    finished = launch("generate", f"--workdir={tmp_path}", "--prompt=a")
    assert finished.status == commandline.BAD_INPUT
    assert finished.err == f"{tmp_path} is no work directory: it has no config.json.\n"
