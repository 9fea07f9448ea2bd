"""Whole runs: what they leave, how they stop, go on and refuse."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, RunConfig, build, checkpoint, data, ngram
from rilm_jax.errors import InputError
from rilm_jax.metrics import perplexity
from rilm_jax.training import Evaluator, Interrupted, events, loop, make_chunk, optimizer, run
from rilm_jax.training import state as states
from rilm_jax.training.step import on_device

CIRCUMSTANCES = ("wall_seconds", "tokens_per_second", "commit")


def metrics_of(workdir: Path) -> list[dict]:
    return [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]


def params_of(workdir: Path, which: str = "last"):
    return checkpoint.load(workdir, which)[1]


def assert_bitwise(got, wanted) -> None:
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(a, b)


def results(summary: dict) -> dict:
    return {name: value for name, value in summary.items() if name not in CIRCUMSTANCES}


def assert_same_run(workdir: Path, other: Path) -> None:
    """Bitwise: parameters, metrics, and all of the summary but its circumstances."""
    assert (workdir / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    for which in ("best", "last"):
        assert_bitwise(params_of(workdir, which), params_of(other, which))
    one, two = (json.loads((w / "summary.json").read_text()) for w in (workdir, other))
    assert results(one) == results(two)


class StopAfter:
    """A progress bar that sends this process a signal after a number of chunks."""

    def __init__(self, chunks: int, number: int = signal.SIGTERM):
        self.left, self.number = chunks, number

    def __call__(self, *args, **kwargs):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def update(self, steps: int) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)

    def set_postfix_str(self, text: str) -> None: ...

    def set_description(self, text: str, refresh: bool = True) -> None: ...

    def write(self, text: str) -> None: ...


def interrupt(config, workdir, corpus, monkeypatch, chunks, number=signal.SIGTERM) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(loop, "bar", StopAfter(chunks, number))
        with pytest.raises(Interrupted, match="the same command goes on from there"):
            run(config, workdir, corpus=corpus)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, corpus, tiny) -> Path:
    workdir = tmp_path_factory.mktemp("undisturbed")
    run(tiny(), workdir, corpus=corpus)
    return workdir


@pytest.fixture
def finished(undisturbed, tmp_path) -> Path:
    """A copy of the finished run, to be spoilt."""
    return shutil.copytree(undisturbed, tmp_path / "finished")


# ---------------------------------------------------------------------------- what it leaves


def test_metrics_hold_one_object_an_evaluation(undisturbed, corpus):
    records = metrics_of(undisturbed)
    assert [(r["step"], r["epoch"], r["split"]) for r in records] == [
        *[(6 * e, e, split) for e in (1, 2, 3) for split in ("train", "valid")],
        (18, 3, "test"),
    ]
    targets = {"train": 169, "valid": 60, "test": 44}
    for record in records:
        scores = {"nll", "ppl", "ppl_non_unk"}
        assert {"step", "epoch", "split", "seeds", "n_targets"} | scores <= set(record)
        assert all(len(record[name]) == 5 for name in scores)
        if record["split"] != "train":
            mean, largest = record["state_norm_mean"], record["state_norm_max"]
            assert np.all(np.less(mean, largest)) and max(largest) < 1
        assert record["seeds"] == [11, 12, 13, 14, 15]
        assert record["n_targets"] == targets[record["split"]]
        np.testing.assert_allclose(record["ppl"], np.exp(record["nll"]), rtol=1e-12)
    losses = [r["nll"] for r in records if r["split"] == "train"]
    assert np.all(np.diff(losses, axis=0) < 0)  # every seed learns


def test_the_summary_says_what_came_of_it(undisturbed, corpus, tiny):
    summary = json.loads((undisturbed / "summary.json").read_text())
    wanted = """config params seeds final_valid_ppl best_valid_ppl best_valid_ppl_non_unk best_epoch
        test_ppl test_ppl_non_unk floor tokens_per_second wall_seconds device versions commit"""
    assert set(wanted.split()) <= set(summary)
    assert summary["params"] == {
        "total": 120 + 6 + 72 + 6 + 1,
        "embedding": 120,
        "backbone": 6 + 72 + 6,
        "head": 1,
    }
    floors = ngram.floors(corpus.train, {"valid": corpus.valid, "test": corpus.test}, 20)
    assert (summary["floor"], summary["test_floor"]) == (floors["valid"], floors["test"])
    assert summary["frozen"] == [] and summary["epochs"] == summary["config"]["num_epochs"]
    valid = [r for r in metrics_of(undisturbed) if r["split"] == "valid"]
    test = metrics_of(undisturbed)[-1]
    final, best = summary["final_valid_ppl"], summary["best_valid_ppl"]
    np.testing.assert_allclose(final["per_seed"], valid[-1]["ppl"], rtol=1e-12)
    np.testing.assert_allclose(best["per_seed"], np.min([r["ppl"] for r in valid], 0), rtol=1e-6)
    epochs = 1 + np.argmin([r["ppl"] for r in valid], 0)
    assert summary["best_epoch"]["per_seed"] == epochs.tolist()
    assert summary["test_ppl"]["per_seed"] == test["ppl"]
    for name in ("final_valid_ppl", "test_ppl", "best_valid_ppl_non_unk", "test_ppl_non_unk"):
        values = summary[name]["per_seed"]
        np.testing.assert_allclose(summary[name]["mean"], np.mean(values), rtol=1e-12)
        np.testing.assert_allclose(summary[name]["std"], np.std(values, ddof=1), rtol=1e-9)
    assert json.loads((undisturbed / "config.json").read_text()) == summary["config"]


def test_test_perplexity_is_that_of_the_best_epochs_parameters(undisturbed, corpus, tiny):
    config = tiny()
    report = Evaluator(build(config.model), corpus.test, config).report(
        jax.tree.map(jnp.asarray, params_of(undisturbed, "best"))
    )
    assert report["ppl"] == metrics_of(undisturbed)[-1]["ppl"]


def test_a_finished_run_is_not_run_again(finished, corpus, tiny):
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("metrics.jsonl")}
    summary = run(tiny(), finished, corpus=corpus)
    assert summary == json.loads((finished / "summary.json").read_text())
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("metrics.jsonl")} == before


def test_parameters_are_those_of_the_bare_steps_without_evaluation(undisturbed, corpus, tiny):
    """P5: evaluating in the middle of training changes nothing, bitwise."""
    config = tiny()
    model = build(config.model)
    tx = optimizer.build(config, 18)
    state = states.init(model, tx, config)
    chunk = make_chunk(model, tx, config)
    cut = data.training_windows(corpus.train, config.window)
    train, seeds = on_device(cut), jnp.asarray(config.seeds)
    for epoch in range(3):
        orders = [data.epoch_order(s, epoch, len(cut.inputs), 4) for s in config.seeds]
        order = jnp.stack([o.order for o in orders])
        for first in range(0, 6, 2):
            state, _ = chunk(
                seeds, state, train, order, orders[0].weight, jnp.asarray(first), jnp.asarray(6)
            )
    assert_bitwise(params_of(undisturbed), state.params)


def test_a_run_compiles_its_chunk_and_its_evaluation_once(tmp_path, corpus, tiny, compilations):
    run(tiny(), tmp_path, corpus=corpus)
    compiled = [m for m in compilations if re.match(r"Compiling (jit\()?chunk\b", m)]
    assert len(compiled) == 1, compiled
    # one for each split: valid, test
    evaluations = [m for m in compilations if re.match(r"Compiling (jit\()?mapped\b", m)]
    assert len(evaluations) == 2, evaluations


# ------------------------------------------------------------------------ stopping, going on


@pytest.mark.parametrize(
    ("chunks", "number"),
    [(2, signal.SIGTERM), (3, signal.SIGINT), (8, signal.SIGTERM)],
    ids=["first-epoch", "between-epochs", "third-epoch"],
)
def test_a_stopped_run_goes_on_bitwise(
    tmp_path, undisturbed, corpus, tiny, monkeypatch, chunks, number
):
    """S2 and S3: losses and parameters after resuming are those of the undisturbed run."""
    interrupt(tiny(), tmp_path, corpus, monkeypatch, chunks, number)
    assert not (tmp_path / "summary.json").exists()
    stopped = len(metrics_of(tmp_path)) if chunks > 2 else 0
    assert stopped == 2 * (2 * chunks // 6)
    assert checkpoint.load(tmp_path, "last")[0] == tiny().model
    run(tiny(), tmp_path, corpus=corpus)
    assert_same_run(tmp_path, undisturbed)


def test_signals_are_given_back(tmp_path, corpus, tiny, monkeypatch):
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    interrupt(tiny(), tmp_path, corpus, monkeypatch, 1)
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.slow
def test_the_same_step_can_be_stopped_at_twice(tmp_path, undisturbed, corpus, tiny, monkeypatch):
    for chunks in (1, 1, 3):
        interrupt(tiny(), tmp_path, corpus, monkeypatch, chunks)
    run(tiny(), tmp_path, corpus=corpus)
    assert_same_run(tmp_path, undisturbed)


@pytest.mark.slow
def test_a_signal_that_comes_after_the_last_step_is_not_lost(tmp_path, corpus, tiny, monkeypatch):
    """A sweep or a script that runs one after the other must stop there."""
    floors = loop.ngram.floors

    def late(*args):
        os.kill(os.getpid(), signal.SIGINT)
        return floors(*args)

    with monkeypatch.context() as patch:
        patch.setattr(loop.ngram, "floors", late)
        with pytest.raises(KeyboardInterrupt):
            run(tiny(seeds=(11,)), tmp_path, corpus=corpus)
    assert (tmp_path / "summary.json").exists()
    assert run(tiny(seeds=(11,)), tmp_path, corpus=corpus)["steps"] == 18


def test_it_ends_once_no_seed_has_improved_for_so_many_epochs(tmp_path, corpus, tiny, monkeypatch):
    """Steps too small for float32 change nothing, so that the first epoch stays the best."""
    still = tiny(learning_rate=1e-20, patience=1, num_epochs=5)
    summary = run(still, tmp_path / "whole", corpus=corpus)
    assert summary["steps"] == 12
    assert summary["best_epoch"]["per_seed"] == [1] * 5
    assert [r["step"] for r in metrics_of(tmp_path / "whole") if r["split"] == "test"] == [12]
    interrupt(still, tmp_path / "stopped", corpus, monkeypatch, chunks=4)
    again = run(still, tmp_path / "stopped", corpus=corpus)
    assert again["best_valid_ppl"] == summary["best_valid_ppl"] and again["steps"] == 12
    assert run(tiny(patience=2), tmp_path / "moving", corpus=corpus)["steps"] == 18


def test_a_chunk_size_may_change_on_resuming(tmp_path, undisturbed, corpus, tiny, monkeypatch):
    interrupt(tiny(), tmp_path, corpus, monkeypatch, 2)
    run(tiny(chunk_steps=3), tmp_path, corpus=corpus)
    for record, wanted in zip(metrics_of(tmp_path), metrics_of(undisturbed), strict=True):
        np.testing.assert_allclose(record["nll"], wanted["nll"], rtol=1e-5)


def test_a_run_killed_after_its_last_evaluation_does_not_report_it_twice(
    finished, undisturbed, corpus, tiny
):
    (finished / "summary.json").unlink()
    run(tiny(), finished, corpus=corpus)
    assert_same_run(finished, undisturbed)


def test_a_line_cut_off_by_a_kill_is_written_again(finished, undisturbed, corpus, tiny):
    (finished / "summary.json").unlink()
    path = finished / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    run(tiny(), finished, corpus=corpus)
    assert_same_run(finished, undisturbed)


def test_a_damaged_line_costs_that_line_alone(finished, undisturbed, corpus, tiny):
    (finished / "summary.json").unlink()
    path = finished / "metrics.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"7\n", b"\xff" + whole[0], *whole[1:]]))
    run(tiny(), finished, corpus=corpus)
    assert path.read_bytes() == b"".join(whole[1:])
    assert b"".join(whole) == (undisturbed / "metrics.jsonl").read_bytes()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"config": {}}', b"\xff"])
def test_a_damaged_summary_is_refused_and_can_be_made_anew(finished, corpus, tiny, content):
    path = finished / "summary.json"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"summary\.json (cannot be read|is no summary) .*; delete it"
    ):
        run(tiny(), finished, corpus=corpus)
    path.unlink()
    assert run(tiny(), finished, corpus=corpus)["steps"] > 0


def test_a_carried_state_goes_on_where_it_was(tmp_path, corpus, tiny, monkeypatch):
    """S5: stopped in the middle of an epoch of streams; the loss does not jump."""
    config = tiny(mode="stream", seeds=(1, 2), eval_streams=2, num_epochs=2)
    run(config, tmp_path / "whole", corpus=corpus)
    interrupt(config, tmp_path / "stopped", corpus, monkeypatch, 2)
    with checkpoint.Checkpoints(tmp_path / "stopped") as checkpoints:
        content = checkpoints.restore_all(checkpoints.latest())
    carry, root = content["state"]["carry"]["coords"], content["state"]["params"]["backbone"]
    assert np.all(carry != np.asarray(root["root"])[:, None])
    run(config, tmp_path / "stopped", corpus=corpus)
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


@pytest.mark.parametrize(
    "backbone",
    ["transformer", *(pytest.param(b, marks=pytest.mark.slow) for b in ("lstm", "ssm", "rhn"))],
)
def test_a_baselines_carry_goes_on_where_it_was(tmp_path, corpus, tiny, monkeypatch, backbone):
    """Whatever it is made of, with dropout drawn anew from the step's number."""
    model = {"backbone": backbone, "head": "tied", "manifold": "euclidean", "dim": 8, "span": 5}
    options = {"dropout": 0.2, "output_dropout": 0.1, "bias": True}
    config = tiny(model | options, mode="stream", seeds=(1, 2), eval_streams=2, num_epochs=2)
    run(config, tmp_path / "whole", corpus=corpus)
    interrupt(config, tmp_path / "stopped", corpus, monkeypatch, 2)
    run(config, tmp_path / "stopped", corpus=corpus)
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


def test_lanes_of_one_seed_at_several_rates_are_runs_at_those_rates(tmp_path, corpus, tiny):
    """And a run that is not to read the test split does not."""
    lanes = tiny(seeds=(11, 11), rate_factors=(1.0, 0.5), num_epochs=1, test=False)
    summary = run(lanes, tmp_path / "lanes", corpus=corpus)
    for lane, rate in enumerate((1e-2, 5e-3)):
        alone = run(
            tiny(seeds=(11,), learning_rate=rate, num_epochs=1),
            tmp_path / str(rate),
            corpus=corpus,
        )
        wanted = alone["best_valid_ppl"]["per_seed"][0]
        assert summary["best_valid_ppl"]["per_seed"][lane] == pytest.approx(wanted, rel=1e-5)
    assert summary["test_ppl"] == {"per_seed": [None, None], "mean": None, "std": None}
    lines = (tmp_path / "lanes" / "metrics.jsonl").read_text().splitlines()
    assert {json.loads(line)["split"] for line in lines} == {"train", "valid"}


# ----------------------------------------------------------------------------------- refusals


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_workdir_of_another_configuration_is_refused_by_the_fields(finished, corpus, tiny):
    before = snapshot(finished)
    with pytest.raises(InputError, match="another configuration") as error:
        run(tiny({"k": 3}, learning_rate=0.5), finished, corpus=corpus)
    assert "learning_rate (0.01 there, 0.5 here)" in str(error.value)
    assert "k (None there, 3 here)" in str(error.value)
    assert snapshot(finished) == before


def test_a_folder_of_other_files_is_refused_and_left_alone(tmp_path, corpus, tiny):
    (tmp_path / "thesis.tex").write_text("years of work")
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=r"holds other files \(thesis.tex\)"):
        run(tiny(), tmp_path, corpus=corpus)
    assert snapshot(tmp_path) == before


def test_a_run_killed_while_it_wrote_its_first_file_can_be_started_again(tmp_path, corpus, tiny):
    (tmp_path / ".lock").touch()
    (tmp_path / "config.json.part").write_text('{"half": ')
    run(tiny(num_epochs=1), tmp_path, corpus=corpus)
    assert not (tmp_path / "config.json.part").exists()


def test_a_workdir_that_cannot_be_written_to_is_refused(tmp_path, corpus, tiny):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="cannot be written to"):
            run(tiny(), place, corpus=corpus)
    if os.geteuid():  # root writes everywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(InputError, match="cannot be written to"):
            run(tiny(), tmp_path / "closed", corpus=corpus)


def test_a_damaged_config_is_refused(finished, corpus, tiny):
    (finished / "config.json").write_text('{"dim": 6')
    before = snapshot(finished)
    with pytest.raises(InputError, match=r"config\.json cannot be read"):
        run(tiny(), finished, corpus=corpus)
    assert snapshot(finished) == before


def test_two_processes_cannot_share_a_workdir(tmp_path, corpus, tiny):
    holder = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from rilm_jax import ModelConfig, RunConfig
        from rilm_jax.training import workdir

        config = RunConfig(model=ModelConfig(vocab_size=20), window=8)
        with workdir.claim(Path(sys.argv[1]), config):
            print("held", flush=True)
            sys.stdin.read()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="in use by another process"):
            run(RunConfig(model=ModelConfig(vocab_size=20), window=8), tmp_path, corpus=corpus)
        process.kill()
    # A lock dies with its process; what is left is another configuration's folder.
    with pytest.raises(InputError, match="another configuration"):
        run(tiny(), tmp_path, corpus=corpus)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"train": np.arange(5, dtype=np.int32)}, "fewer than one window of 8"),
        ({"valid": np.array([], np.int32)}, "at least two ids"),
        ({"test": np.array([3], np.int32)}, "at least two ids"),
        ({"train": np.full(99, 20, np.int32)}, "train split: id 20 at position 0"),
        ({"valid": np.array([1, 2, -1, 3])}, "valid split: id -1 at position 2"),
        ({"test": np.array([1.0, 2.0])}, "test split: id 1.0 at position 0"),
    ],
)
def test_a_wrong_corpus_is_refused_before_any_work(tmp_path, corpus, tiny, change, said):
    with pytest.raises(InputError, match=said):
        run(tiny(), tmp_path / "new", corpus=corpus._replace(**change))
    assert not (tmp_path / "new").exists()


# ------------------------------------------------------------------------ damaged checkpoints


def unfinished(finished: Path) -> Path:
    """The run as it was before its summary, with the last checkpoint's folder."""
    (finished / "summary.json").unlink()
    return finished / "checkpoints" / "18"


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_truncated_checkpoint_is_named_and_the_one_before_it_is_used(
    finished, undisturbed, corpus, tiny, share
):
    last = unfinished(finished)
    for path in last.rglob("*"):
        if path.is_file():
            whole = path.read_bytes()
            path.write_bytes(whole[: int(share * len(whole))])
    before = snapshot(finished / "checkpoints")
    with pytest.raises(InputError, match="18 cannot be read") as error:
        run(tiny(), finished, corpus=corpus)
    assert "move that folder away to go on from the one before" in str(error.value)
    assert "\n" not in str(error.value)
    assert snapshot(finished / "checkpoints") == before

    shutil.move(last, finished.parent / "damaged")
    run(tiny(), finished, corpus=corpus)
    assert_same_run(finished, undisturbed)


@pytest.mark.parametrize(
    "model",
    [{"dim": 7}, {"vocab_size": 25}, {"bias": True}, {"composition": "spline"}],
    ids=["width", "words", "bias", "spline"],
)
def test_a_checkpoint_of_another_model_is_refused_by_its_arrays(finished, corpus, tiny, model):
    """S4, where config.json was edited to fit."""
    unfinished(finished)
    config = tiny(model)
    fields = json.loads((finished / "config.json").read_text()) | model
    (finished / "config.json").write_text(json.dumps(fields))
    before = snapshot(finished / "checkpoints")
    with pytest.raises(InputError, match=r"is of another model: .*params.* there and .* here"):
        run(config, finished, corpus=corpus)
    assert snapshot(finished / "checkpoints") == before


# ------------------------------------------------------------------------------ frozen seeds


def poisoned(original, lane):
    """`states.init` with NaN in one seed's optimiser, so that its second step is not finite."""

    def init(model, tx, config):
        state = original(model, tx, config)

        def spoil(x):
            return x.at[lane].set(jnp.nan) if jnp.issubdtype(x.dtype, jnp.floating) else x

        return state._replace(opt_state=jax.tree.map(spoil, state.opt_state))

    return init


@pytest.mark.parametrize("seed_map", ["map", pytest.param("vmap", marks=pytest.mark.slow)])
def test_a_seed_that_is_not_finite_is_frozen_and_the_others_go_on(
    tmp_path, corpus, tiny, monkeypatch, seed_map
):
    config = tiny(seed_map=seed_map)
    run(config, tmp_path / "healthy", corpus=corpus)
    monkeypatch.setattr(states, "init", poisoned(states.init, 1))
    summary = run(config, tmp_path / "poisoned", corpus=corpus)

    (frozen,) = summary["frozen"]
    assert (frozen["seed"], frozen["step"]) == (12, 1)
    assert not math.isfinite(float(frozen["grad_norm"]))
    others = [0, 2, 3, 4]
    healthy, hurt = metrics_of(tmp_path / "healthy"), metrics_of(tmp_path / "poisoned")
    tolerance = 0 if seed_map == "map" else 1e-6
    for before, after in zip(healthy, hurt, strict=True):
        for name in ("nll", "ppl"):
            np.testing.assert_allclose(
                [after[name][i] for i in others],
                [before[name][i] for i in others],
                rtol=tolerance,
            )
    assert hurt[-2]["nll"][1] is None
    for name in ("final_valid_ppl", "best_valid_ppl", "test_ppl", "test_ppl_non_unk"):
        values = summary[name]["per_seed"]
        assert values[1] is None
        np.testing.assert_allclose(summary[name]["mean"], np.mean([values[i] for i in others]))
        np.testing.assert_allclose(
            summary[name]["std"], np.std([values[i] for i in others], ddof=1)
        )


@pytest.mark.slow
def test_a_run_whose_seeds_all_die_ends_with_nothing_to_average(tmp_path, corpus, tiny):
    config = tiny({"manifold": "euclidean"}, learning_rate=1e30, schedule="constant", seeds=(1, 2))
    summary = run(config, tmp_path, corpus=corpus)
    assert [f["seed"] for f in summary["frozen"]] == [1, 2]
    assert summary["epochs"] == 1 < config.num_epochs
    assert summary["test_ppl"] == {"per_seed": [None, None], "mean": None, "std": None}


# ---------------------------------------------------------------------------------- learning


@pytest.mark.parametrize(
    "manifold", ["poincare", pytest.param("euclidean", marks=pytest.mark.slow)]
)
def test_it_memorises_a_short_text(tmp_path, corpus, tiny, manifold):
    text = np.random.default_rng(5).integers(0, 20, 201).astype(np.int32)
    config = tiny(
        {"manifold": manifold, "dim": 32, "tau": None},
        seeds=(1,),
        batch_size=10,
        window=20,
        num_epochs=1,
        num_steps=600,
        chunk_steps=100,
        learning_rate=2e-2,
    )
    model = build(config.model)
    tx = optimizer.build(config, config.num_steps)
    state, chunk = states.init(model, tx, config), make_chunk(model, tx, config)
    train = on_device(data.training_windows(text, 20))
    order = jnp.tile(jnp.arange(10)[None, None], (1, 600, 1))
    for first in range(0, 600, 100):
        state, info = chunk(
            jnp.array([1]), state, train, order, jnp.ones((600, 10)), jnp.asarray(first),
            jnp.asarray(600),
        )  # fmt: skip
    assert info.nll[0, 0] / info.weight[0, 0] < 0.1
    evaluator = Evaluator(model, text, config)
    assert perplexity(evaluator.nll(state.params)[0], evaluator.targets).all < math.exp(0.1)


# ---------------------------------------------------------------------------- who listens


def test_a_listener_hears_each_evaluation_as_it_is_written(tmp_path, corpus, tiny):
    heard = []
    run(tiny(seeds=(11,), num_epochs=2), tmp_path, corpus=corpus, listener=heard.append)
    assert heard == metrics_of(tmp_path)


def test_tensorboard_gets_a_scalar_a_split_and_seed(tmp_path, monkeypatch):
    written = []

    class Writer:
        def __init__(self, folder):
            assert folder == str(tmp_path / "events")

        def add_scalar(self, *scalar):
            written.append(scalar)

        def flush(self): ...

    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=Writer))
    listener = events.tensorboard(tmp_path)
    evaluation = {"seeds": [42, 43], "split": "valid", "step": 6, "ppl": [3.0, None]}
    listener(evaluation | {"ppl_non_unk": [4.0, 5.0]})
    assert written == [
        ("valid/ppl/42", 3.0, 6),
        ("valid/ppl_non_unk/42", 4.0, 6),
        ("valid/ppl_non_unk/43", 5.0, 6),
    ]
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(InputError, match="need tensorboardX; install it"):
        events.tensorboard(tmp_path)
