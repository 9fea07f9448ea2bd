"""Scores of splits and texts, of a model that has been trained for a few steps.

Everything here needs a run, and a run costs a compilation, so all of it shares one.
"""

import contextlib
import io
import json
import re
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from rilm_jax import checkpoint, config, data, generation, scoring, trained, training
from rilm_jax.data import Vocabulary
from rilm_jax.errors import InputError
from rilm_jax.trained import Trained

ROOT = Path(__file__).resolve().parents[1]
SEEDS = (3, 4)
TRAIN = "the cat sat on the mat\n\nthe dog ate the rare fish\na cat and a dog\n" * 20
VALID = "the cat ate the mat\na dog sat\n" * 6
TEST = "the rare dog sat on a cat\n\nthe fish ate\n" * 12


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(work directory, summary, corpus folder) of a run on three small texts."""
    folder = tmp_path_factory.mktemp("scoring")
    texts = folder / "texts"
    texts.mkdir()
    for name, text in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (texts / f"{name}.txt").write_text(text)
    fields = {"corpus": str(texts), "vocab_size": 9, "dim": 4, "seeds": SEEDS, "num_steps": 8}
    fields |= {"manifold": "euclidean", "k": 0}  # what compiles fastest
    fields |= {"batch_size": 2, "warmup_steps": 0, "chunk_steps": 4, "learning_rate": 0.05}
    workdir = folder / "run"
    record = {"command": "python experiments/train.py"}
    return workdir, training.run(config.from_flat(fields), workdir, record=record), texts


def test_the_record_given_to_a_run_stands_in_its_summary(run):
    workdir, summary, _ = run
    assert summary["command"] == "python experiments/train.py"
    assert json.loads((workdir / "summary.json").read_text()) == summary


def test_a_split_has_the_perplexity_of_the_summary(run):
    workdir, summary, _ = run
    report = scoring.report(scoring.score_split(trained.load(workdir), "test"))
    for name in ("ppl", "ppl_non_unk"):
        expected = summary[f"test_{name}"]
        assert report[name]["per_seed"] == pytest.approx(expected["per_seed"], rel=1e-6)
        assert report[name]["mean"] == pytest.approx(expected["mean"], rel=1e-6)
    assert report["n_targets"] == len(trained.load(workdir).corpus.test) - 1
    last = scoring.score_split(trained.load(workdir, "last"), "valid")
    expected = summary["final_valid_ppl"]["per_seed"]
    assert scoring.report(last)["ppl"]["per_seed"] == pytest.approx(expected, rel=1e-6)


def test_the_readmes_snippet_recomputes_the_number(run):
    workdir, summary, texts = run
    section = (ROOT / "README.md").read_text("utf-8").partition("## Recompute a number")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    lines = [line for line in code.splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 5
    for path, ours in (("runs/quickstart/hyprilm", workdir), ("pydoc", texts)):
        assert code.count(f'"{path}"') == 1
        code = code.replace(f'"{path}"', repr(str(ours)))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    numbers = [float(number) for number in re.findall(r"\d+\.\d+", printed.getvalue())]
    expected = summary["test_ppl"]["per_seed"] + summary["test_ppl_non_unk"]["per_seed"]
    assert numbers == pytest.approx(expected, rel=1e-6)


@pytest.fixture(scope="module")
def text(run, tmp_path_factory):
    """(run, text) of the test split's file read as somebody's own."""
    opened = trained.load(run[0])
    return opened, scoring.read_text(run[2] / "test.txt", opened.vocab, str(run[2]))


def test_a_text_is_read_as_the_corpus_was(text):
    opened, own = text
    np.testing.assert_array_equal(own.ids, opened.corpus.test)


def test_a_texts_nll_is_that_of_the_whole_sequence_and_of_streaming(text):
    opened, own = text
    scores = scoring.score_text(opened, own)
    assert scores.nll.shape == (len(SEEDS), len(own.ids) - 1)
    model = opened.model
    for seed in range(len(SEEDS)):
        params = jax.tree.map(lambda x, seed=seed: x[seed], opened.params)
        carry = model.initial_carry(params, 1)
        states, _ = model.hidden(params, own.ids[None, :-1], carry)
        whole = model.nll(params, states, own.ids[None, 1:])[0]
        np.testing.assert_allclose(scores.nll[seed], whole, atol=1e-5)

        prep, streamed = model.prepare(params), []
        for token, target in zip(own.ids[:-1], own.ids[1:], strict=True):
            carry, _, logits = generation.read(model, params, prep, carry, token)
            streamed.append(-jax.nn.log_softmax(logits)[target])
        np.testing.assert_allclose(np.array(streamed), whole, atol=1e-5)


def test_windows_forget_and_a_text_does_not(text):
    opened, own = text
    windows = scoring.score_split(opened, "test").nll
    carried = scoring.score_text(opened, own).nll
    np.testing.assert_allclose(carried[:, :64], windows[:, :64], atol=1e-5)
    assert abs(carried[:, 64:70] - windows[:, 64:70]).max() > 1e-3


def test_a_report_counts_unk_and_leaves_it_out():
    targets = np.array([1, 0, 2, 0, 3])
    nll = np.log([[2.0, 1, 2, 1, 2], [8, 1, 8, 1, 8]])
    report = scoring.report(scoring.Scores(targets, nll))
    assert report["unk_share"] == pytest.approx(0.4)
    assert report["ppl_non_unk"]["per_seed"] == pytest.approx([2, 8])
    assert report["ppl_non_unk"]["mean"] == pytest.approx(5)
    assert report["ppl"]["per_seed"] == pytest.approx([2**0.6, 8**0.6])


VOCAB = Vocabulary(("<unk>", "<eos>", "a", "b"))


def test_lines_are_ranked_by_mean_nll_over_seeds_and_targets():
    content = scoring.as_text("a b\n\nb\na\n", VOCAB, "ptb")
    assert content.ids.tolist() == [2, 3, 1, 1, 3, 1, 2, 1]
    # Targets: b <eos> | <eos> | b <eos> | a <eos>; the first word is read alone.
    nll = np.array([[1.0, 2, 9, 4, 0, 3, 2], [1, 2, 9, 4, 2, 3, 2]])
    worst = scoring.worst_lines(scoring.Scores(content.ids[1:], nll), content, 2)
    assert [(line.number, line.text, line.n_targets) for line in worst] == [
        (3, "b", 2),
        (4, "a", 2),
    ]
    assert [line.nll for line in worst] == pytest.approx([2.5, 2.5])
    assert len(scoring.worst_lines(scoring.Scores(content.ids[1:], nll), content, 9)) == 3


def test_a_first_line_without_a_target_is_not_ranked():
    content = scoring.as_text("\na b\n", VOCAB, "ptb")
    scores = scoring.Scores(content.ids[1:], np.ones((1, 3)))
    assert [line.number for line in scoring.worst_lines(scores, content, 5)] == [2]


@pytest.mark.parametrize(
    ("corpus", "content", "words"),
    [
        ("ptb", "a b\n\nb", "a b <eos> <eos> b <eos>"),
        ("ptb", "\ufeffa\r\nb\r\n", "a <eos> b <eos>"),
        ("ptb", "a,b", "<unk> <eos>"),
        ("pydoc", "a,b(a)\n----\n\nb", "a <unk> b <unk> a <unk> <eos> b <eos>"),
        ("pydoc", "\n...\n", ""),
    ],
)
def test_text_is_split_as_the_models_corpus_was(corpus, content, words):
    found = scoring.as_text(content, VOCAB, corpus)
    assert VOCAB.decode(found.ids) == words.split()
    assert len(found.line) == len(found.ids)


def test_the_pydoc_corpus_is_split_into_the_same_words_line_by_line():
    corpus = data.load("pydoc", 500)
    printed = data.pydoc.texts()["test"].decode()
    found = scoring.as_text(printed, corpus.vocab, "pydoc")
    np.testing.assert_array_equal(found.ids, corpus.test)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "has no target"),
        (b"\n", "has no target.* 1 in all"),
        (b"a \xff", "not UTF-8: byte 2 is 0xff"),
        (None, "cannot be read"),
    ],
)
def test_a_text_that_cannot_be_scored_is_refused(tmp_path, content, sentence):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        scoring.read_text(path, VOCAB, "ptb")


def test_an_unknown_split_is_refused():
    nothing = Trained(*[None] * 5)
    with pytest.raises(InputError, match="split 'tests' is unknown; did you mean 'test'"):
        scoring.score_split(nothing, "tests")


def test_one_seed_is_that_lane_of_all(run):
    both, first = trained.load(run[0]), trained.load_seed(run[0])
    other = trained.load_seed(run[0], seed=SEEDS[1])
    for lane, one in enumerate((first, other)):
        for whole, part in zip(
            jax.tree.leaves(both.params), jax.tree.leaves(one.params), strict=True
        ):
            np.testing.assert_array_equal(whole[lane], part)


def test_the_corpus_may_have_moved_but_not_changed(run, tmp_path):
    workdir, _, texts = run
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in texts.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())
    np.testing.assert_array_equal(
        trained.load(workdir, data_dir=moved).corpus.test, trained.load(workdir).corpus.test
    )
    (moved / "train.txt").write_text(TRAIN + "and more of it\n")
    with pytest.raises(InputError, match=r"was trained on another text of .*elsewhere"):
        trained.load(workdir, data_dir=moved)


def test_a_model_needs_no_text_to_speak(run, tmp_path):
    moved = shutil.copytree(run[0], tmp_path / "run")
    path = moved / "config.json"
    path.write_text(path.read_text().replace(str(run[2]), "/nowhere"))
    opened = trained.load_seed(moved, with_corpus=False)
    assert opened.vocab == trained.load(run[0]).vocab and opened.corpus is None
    with pytest.raises(InputError, match="opened without its corpus"):
        scoring.score_split(opened, "test")
    (moved / "corpus.json").write_text('{"words": 3, "info": {}}')
    with pytest.raises(InputError, match=r"corpus.json cannot be read \(it holds no words\)"):
        trained.load_seed(moved, with_corpus=False)


def test_a_run_does_not_go_on_with_another_text(run):
    workdir, _, texts = run
    same, before = checkpoint.read_config(workdir), (texts / "train.txt").read_text()
    try:
        (texts / "train.txt").write_text(before + "and more of it\n")
        with pytest.raises(InputError, match="was trained on another text of texts"):
            training.run(same, workdir)
    finally:
        (texts / "train.txt").write_text(before)
    assert training.run(same, workdir)["steps"] == 8


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"workdir": "nowhere"}, "nowhere is no work directory"),
        ({"which": "worst"}, "which 'worst' is unknown"),
        ({"seed": 42}, r"Seed 42 is not in .*; its seeds are 3, 4"),
    ],
)
def test_what_a_run_does_not_have_is_refused(run, arguments, sentence):
    request = {"workdir": run[0]} | arguments
    with pytest.raises(InputError, match=sentence):
        trained.load(**request)


@pytest.mark.parametrize(
    ("corpus", "prompt", "ids", "unknown"),
    [
        ("ptb", "a b", [2, 3], []),
        ("ptb", "a x\nb y x", [2, 0, 1, 3, 0, 0], ["x", "y"]),
        ("ptb", "a <eos> <unk>", [2, 1, 0], []),
        ("pydoc", "a.b", [2, 0, 3], ["."]),
        ("ptb", "  ", [], []),
    ],
)
def test_a_prompt_is_encoded_and_its_unknown_words_are_told(corpus, prompt, ids, unknown):
    found, missing = trained.encode(corpus, VOCAB, prompt)
    assert found.tolist() == ids
    assert missing == unknown
