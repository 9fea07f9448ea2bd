"""The training launcher: which runs its flags ask for, what it prints, and how it refuses."""

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from ml_collections import ConfigDict

import rilm_jax
from rilm_jax import commandline, config, presets, recipes
from rilm_jax.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
PYDOC = "--config=experiments/configs/pydoc.py"


class Calls(list):
    worst: float | None = None


@pytest.fixture
def runs(monkeypatch):
    """The calls of `rilm_jax.training.run`, which trains nothing here."""
    calls = Calls()

    def run(run, workdir, *, data_dir=None, download=False, record=None, listener=None):
        calls.append(types.SimpleNamespace(run=run, workdir=workdir, data_dir=data_dir))
        calls[-1].download, calls[-1].record, calls[-1].listener = download, record, listener
        score = {"per_seed": [30.0, 31.0], "mean": calls.worst or 30.5, "std": 0.71}
        return {
            "steps": 9,
            "params": {"total": 289_025},
            "best_valid_ppl": score,
            "best_valid_ppl_non_unk": score,
            "test_ppl": score,
            "floor": {"unigram": 110.6, "kn5": 36.3, "unigram_non_unk": 300, "kn5_non_unk": 80.8},
            "test_floor": {"unigram": 109.5, "kn5": 35.9},
            "corpus": {"unk_share": 0.261},
            "wall_seconds": 12.4,
        }

    monkeypatch.setattr(rilm_jax, "training", types.SimpleNamespace(run=run), raising=False)
    return calls


def test_without_arguments_both_rilms_train_on_the_embedded_corpus(launch, runs):
    finished = launch("train")
    assert finished.status == 0
    assert [call.workdir for call in runs] == [
        Path("runs/quickstart/hyprilm"),
        Path("runs/quickstart/flatrilm"),
    ]
    assert [call.run.model.manifold for call in runs] == ["poincare", "euclidean"]
    assert all(call.run.corpus == "pydoc" and len(call.run.seeds) == 5 for call in runs)
    shown = ("unigram", "110.60", "109.50", "hyprilm", "flatrilm", "289,025", "30.50 +- 0.71")
    for printed in (
        *shown,
        "valid non-<unk>",
        "<unk>, all other words, is 26.1% of the validation",
    ):
        assert printed in finished.out
    assert max(map(len, finished.out.splitlines())) <= 80


RECORD = {"split": "valid", "epoch": 3, "ppl": [30.456, None]}


def test_tensorboard_events_are_written_on_request(launch, runs, monkeypatch):
    from rilm_jax.training import events

    written = []
    with monkeypatch.context() as patched:
        patched.setattr(events, "tensorboard", lambda _: written.append)
        launch("train", PYDOC)
        launch("train", PYDOC, "--tensorboard")
    runs[0].listener(RECORD)
    assert not written
    runs[1].listener(RECORD)
    assert written == [RECORD]
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert "pip install -e '.[tensorboard]'" in launch("train", PYDOC, "--tensorboard").err


@pytest.mark.parametrize("terminal", [True, False])
def test_a_log_gets_a_line_an_epoch_where_a_terminal_has_its_bar(
    launch, runs, monkeypatch, capsys, terminal
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    launch("train", PYDOC, "--workdir=runs/a")
    runs[0].listener(RECORD | {"split": "train"})
    runs[0].listener(RECORD)
    line = "runs/a: epoch 3, validation perplexity 30.46, -\n"
    assert capsys.readouterr().err == ("" if terminal else line)


def test_overrides_reach_both_runs_of_the_main_job(launch, runs):
    launch("train", "--config.num_epochs=2", "--workdir=elsewhere")
    assert [call.run.num_epochs for call in runs] == [2, 2]
    assert [call.workdir for call in runs] == [
        Path("elsewhere/hyprilm"),
        Path("elsewhere/flatrilm"),
    ]
    assert [call.run.model.tau for call in runs] == [0.1, 0.3]


def test_a_configuration_trains_in_the_folder_named_after_it(launch, runs):
    finished = launch("train", f"{PYDOC}:hyprilm-tied,composition=gated", "--download")
    assert finished.status == 0
    (call,) = runs
    assert call.workdir == Path("runs/pydoc/hyprilm-tied,composition=gated")
    assert call.run == config.from_flat(recipes.recipe("pydoc", "hyprilm-tied,composition=gated"))
    assert call.download
    assert call.data_dir is None


def test_a_configuration_without_a_string_is_the_default_model(launch, runs):
    launch("train", PYDOC, "--data_dir=somewhere")
    (call,) = runs
    assert call.workdir == Path("runs/pydoc/hyprilm")
    assert call.data_dir == "somewhere"


def test_the_configuration_may_follow_its_flag(launch, runs):
    assert launch("train", "--config", "experiments/configs/ptb.py:flatrilm").status == 0
    assert runs[0].workdir == Path("runs/ptb/flatrilm")


def test_overrides_are_typed(launch, runs):
    finished = launch(
        "train",
        f"{PYDOC}:hyprilm",
        "--config.bias=False",
        "--config.k=0",
        "--config.tau=0.3",
        "--config.learning_rate=1",
        "--config.seeds=(42,43)",
    )
    assert finished.status == 0
    (call,) = runs
    assert call.run.model.bias is False
    assert call.run.model.k == 0
    assert call.run.model.tau == 0.3
    assert call.run.learning_rate == 1.0
    assert call.run.seeds == (42, 43)


def test_fields_whose_default_is_none_can_be_overridden(launch, runs):
    launch(
        "train",
        "--config=experiments/configs/ptb.py:ssm-geodesic",
        "--config.k=8",
        "--config.tau=0.3",
    )
    assert (runs[0].run.model.k, runs[0].run.model.tau) == (8, 0.3)


@pytest.mark.parametrize("seeds", ["7", "7+8", "(7,)", "(7,8)"])
def test_seeds_are_overridden_in_either_spelling(launch, runs, seeds):
    launch("train", f"{PYDOC}:hyprilm", f"--config.seeds={seeds}")
    assert runs[0].run.seeds == ((7, 8) if "8" in seeds else (7,))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--config.num_epohcs=3"], "did you mean 'num_epochs'"),
        ([f"{PYDOC}:hyprilm", "--config.num_epohcs=3"], "did you mean 'num_epochs'"),
        ([f"{PYDOC}:hyprilm", "--noconfig.bais"], "did you mean 'bias'"),
        ([f"{PYDOC}:hyprilm", "--config.learning_rate=abc"], "must be a number"),
        ([f"{PYDOC}:hyprilm", "--config.k=3.5"], "must be a whole number"),
        ([f"{PYDOC}:hyprilm", "--config.bias=maybe"], "must be True or False"),
        ([f"{PYDOC}:hyprilm", "--config.k=None"], "write ,k=None in the string"),
        ([f"{PYDOC}:hyprilm", "--config.seeds=(1,2.5)"], "seeds=2.5"),
        ([f"{PYDOC}:hyprilm", "--config.learning_rate=-3"], "must be above 0"),
        ([f"{PYDOC}:hyprilm", "--config.learning_rate=nan"], "not a finite number"),
        ([f"{PYDOC}:hyprilm", "--config.tau=inf"], "not a finite number"),
        ([f"{PYDOC}:hyprilm", "--config.composition=mpl"], "did you mean 'mlp'"),
        ([f"{PYDOC}:hyprilm", "--config.preset=paper"], "choose it in the configuration string"),
        ([f"{PYDOC}:hyprilm", "--config.corpus=ptb"], "choose the configuration file"),
        ([f"{PYDOC}:hyprilm", "--config.backbone=lstm"], "name the model, e.g. lstm"),
        ([f"{PYDOC}:hyprilm", "--config.head=tied"], "name it after the model"),
        ([f"{PYDOC}:hyprilm", "--config.manifold=euclidean"], "choose it in the configuration"),
        ([f"{PYDOC}:lstm", "--config.composition=gated"], "changes nothing with model lstm"),
        (["--config.num_layers=3"], "changes nothing with model hyprilm"),
        (["--config=README.md:x"], "is no configuration file"),
        ([f"{PYDOC}:hyprlm"], "did you mean 'hyprilm'"),
        ([f"{PYDOC}:hyprilm,num_epohcs=3"], "did you mean 'num_epochs'"),
        (["--config=experiments/configs/text.py:hyprilm"], "data=PATH"),
        (["--config=experiments/configs/imdb.py:hyprilm"], "wikitext2.py"),
        (["--config"], "Missing value for flag --config"),
        (["--wrkdir=x"], "did you mean '--workdir'"),
        (["--num_epochs=2"], "write --config.num_epochs=VALUE"),
        (["--epochs=2"], "--epochs is no flag; write --config.num_epochs=VALUE, or ,num_epochs="),
        (["--lr=0.1"], "write --config.learning_rate=VALUE"),
        ([f"{PYDOC}:hyprilm,lr=0.1"], "did you mean 'learning_rate'"),
        ([f"{PYDOC}:hyprilm,epochs=3"], "did you mean 'num_epochs'"),
        ([f"{PYDOC}:hyprilm,seeds=42,43"], "have a plus between them, seeds=A+43"),
        (["hyprilm"], "'hyprilm' is not a flag"),
    ],
)
def test_mistakes_end_with_one_sentence_before_any_work(launch, runs, arguments, sentence):
    finished = launch("train", *arguments)
    assert finished.status == commandline.BAD_INPUT
    assert sentence in finished.err
    assert len(finished.err.strip().splitlines()) == 1
    assert not finished.out
    assert not runs
    assert not list(Path().iterdir())


def test_what_training_refuses_is_said_as_one_sentence_too(launch, monkeypatch):
    def run(*_, **__):
        raise InputError("backbone 'lstm' is unknown.")

    monkeypatch.setattr(rilm_jax, "training", types.SimpleNamespace(run=run), raising=False)
    finished = launch("train", f"{PYDOC}:lstm")
    assert (finished.status, finished.err) == (2, "backbone 'lstm' is unknown.\n")


def test_what_the_machine_refuses_is_said_as_one_sentence_too(launch, runs):
    finished = launch("train", f"{PYDOC}:hyprilm", f"--workdir={'x' * 300}")
    assert finished.status == commandline.BAD_INPUT
    assert finished.err.endswith(
        "summary.json: File name too long; name another path or make room.\n"
    )


def test_ctrl_c_says_how_to_go_on(launch, monkeypatch):
    def run(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(rilm_jax, "training", types.SimpleNamespace(run=run), raising=False)
    finished = launch("train")
    assert finished.status == commandline.INTERRUPTED
    assert finished.err.startswith("Interrupted; ")


def test_a_defect_keeps_its_traceback(launch, monkeypatch):
    def run(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(rilm_jax, "training", types.SimpleNamespace(run=run), raising=False)
    with pytest.raises(ZeroDivisionError):
        launch("train")


def test_list_names_everything_within_eighty_columns(launch, runs):
    finished = launch("train", "--list")
    assert finished.status == 0
    named = {line.split()[0] for line in finished.out.splitlines() if line.startswith("  ")}
    known = recipes.CORPORA | recipes.MODELS | recipes.HEADS | presets.PRESETS | recipes.keys()
    assert set(known) <= named
    assert max(map(len, finished.out.splitlines())) <= 80
    assert not runs


def test_help_names_its_own_flags(launch):
    finished = launch("train", "--help")
    for flag in ("--config:", "--workdir:", "--data_dir:", "--[no]download:", "--[no]list:"):
        assert flag in finished.out
    assert str(ROOT / "experiments" / "configs") not in finished.out


def test_examples_in_the_help_are_accepted(launch, runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=None))
    monkeypatch.setitem(recipes.MODELS, "gru", "what the reader's FILE.py registers")
    Path("FILE.py").touch()
    text = (ROOT / "experiments" / "train.py").read_text().split('"""')[1].replace("\\\\\n", "")
    examples = [line.split()[2:] for line in text.splitlines() if line.startswith("  python ")]
    assert len(examples) >= 6
    for example in examples:
        finished = launch("train", *(word.replace('"', "") for word in example))
        assert (finished.status, finished.err) == (0, "")


@pytest.mark.parametrize("corpus", recipes.CORPORA)
def test_every_corpus_has_a_configuration_file(corpus):
    path = ROOT / "experiments" / "configs" / f"{corpus}.py"
    spec = importlib.util.spec_from_file_location("config_file", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for line in ("Command:", "Score:", "Time:", "Hardware:"):
        assert line in module.__doc__
    string = "flatrilm,k=0" + (",data=folder" if corpus == "text" else "")
    values = module.get_config(string)
    assert isinstance(values, ConfigDict)
    assert set(values) == set(config.flat_fields())
    assert commandline.run_config(values) == config.from_flat(recipes.recipe(corpus, string))


def test_it_runs_as_a_program_from_any_folder(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, str(ROOT / "experiments" / "train.py"), *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )

    assert run("--list").returncode == 0
    refused = run(f"{PYDOC}:hyprilm", "--config.num_epohcs=3")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    assert "num_epochs" in refused.stderr
    assert not list(tmp_path.iterdir())


def test_what_was_finished_before_and_what_learned_nothing_is_said(launch, runs, tmp_path):
    workdir = tmp_path / "mine"
    first = launch("train", PYDOC, f"--workdir={workdir}")
    assert "Finished before" not in first.out and "is above" not in first.out
    workdir.mkdir()
    (workdir / "summary.json").touch()
    runs.worst = 200.0
    again = launch("train", PYDOC, f"--workdir={workdir}")
    assert "Finished before, not run again: mine." in again.out
    assert "mine is above the unigram: 9 steps" in again.out
    assert "--config.num_epochs=12 with another" in again.out
    runs.worst = 40.0
    assert "mine is above the 5-gram: counts" in launch("train", PYDOC, f"--workdir={workdir}").out
    assert all(len(line) <= 80 for line in again.out.splitlines() if str(tmp_path) not in line)


def test_a_space_after_a_comma_is_no_part_of_a_runs_name(launch, runs):
    launch("train", f"{PYDOC}:hyprilm, seeds=42")
    assert runs[0].workdir == Path("runs/pydoc/hyprilm,seeds=42")
