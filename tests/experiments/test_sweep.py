"""Suites of rows: what is in them, and how one is worked through."""

import contextlib
import dataclasses
import json
import re
import shlex
import threading

import pytest

from experiments.sweeps import estimate, runner, suites, tuning
from rilm_jax import config, recipes, results, sizes
from rilm_jax.errors import InputError
from rilm_jax.results import trials
from rilm_jax.training import summary, workdir

pytestmark = pytest.mark.usefixtures("quick_compilation")
README = f"{results.BEGIN}\n{results.END}\n"
TINY = "dim=4,vocab_size=200,num_steps=3,batch_size=4,window=8,eval_batch_size=512,seeds=1+2"
LANES = f"lstm-tied,{TINY[:-4]}=1+1,rate_factors=0.5+2,test=False"
ROWS = [suites.Row("pydoc", f"flatrilm,{TINY}"), suites.Row("pydoc", LANES)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Flags for a suite of two tiny rows, in folders of the test's own."""
    monkeypatch.setitem(suites.SUITES, "dims", lambda: ROWS)
    monkeypatch.setitem(suites.SUITES, "gpu-all", lambda: ROWS)
    (tmp_path / "README.md").write_text(README)
    return [f"--results={tmp_path / 'results'}", f"--readme={tmp_path / 'README.md'}"]


@pytest.mark.parametrize("name", suites.SUITES)
def test_every_row_of_every_suite_is_a_run_of_its_own(name):
    rows = suites.SUITES[name]()
    runs = [row.config() for row in rows]  # refused ones would raise
    assert len({row.path() for row in rows}) == len(rows)
    assert len({json.dumps(config.to_flat(run)) for run in runs}) == len(rows)


def test_the_launcher_knows_the_suites(launch):
    finished = launch("sweep", "--suite=tables")
    assert finished.status == 2
    assert f"<{'|'.join(suites.SUITES)}>" in finished.err


def test_gpu_all_has_every_row():
    """Itself or with more seeds."""
    everything = [row.config() for row in suites.SUITES["gpu-all"]()]
    for name, rows in suites.SUITES.items():
        for row in [] if name.startswith("tying") else rows():
            assert any(runner.includes(run, row.config()) for run in everything), row


def test_what_stands_for_a_claim_has_five_seeds_on_a_gpu():
    assert {len(row.config().seeds) for row in suites.controls("")} == {5}
    few = [row for row in suites.gpu_all() if len(row.config().seeds) < 5]
    assert all(trials.is_trial(config.to_flat(row.config())) for row in few)


def test_no_ablation_is_another_under_the_window():
    strings = {row.string for row in suites.ablations()}
    assert {"hyprilm,k=1", "hyprilm,k=8"} <= strings
    assert not {"hyprilm,k=0", "hyprilm,k=64"} & strings  # the same as hyprilm itself


def test_a_row_is_quoted_for_the_shell():
    row = suites.Row("text", "flatrilm,data=my texts")
    assert shlex.split(row.command())[2:] == [
        "--config=experiments/configs/text.py:flatrilm,data=my texts"
    ]


def test_a_search_that_stops_early_has_tried_every_model_alike():
    models = list(tuning.GROUPS)
    first_round = tuning.strings("wikitext2")[: len(models)]
    assert [
        s.startswith(f"{m},preset=start,num_epochs=")
        for m, s in zip(models, first_round, strict=True)
    ] == ([True] * len(models))
    assert len(tuning.strings("wikitext2")) == sum(map(len, tuning.GROUPS.values()))


@pytest.mark.parametrize("model", tuning.GROUPS)
def test_every_model_has_the_same_number_of_trials(model):
    found = set()
    for group in tuning.GROUPS[model]:
        run = config.from_flat(
            recipes.recipe("wikitext2", tuning.string("wikitext2", model, group))
        )
        assert not run.test, "a trial must not read the test split"
        assert set(run.seeds) == {tuning.SEED} and run.num_epochs == tuning.NUM_EPOCHS
        fixed = dataclasses.replace(run, seeds=(1,), rate_factors=())
        rates = (run.learning_rate * factor for factor in run.rate_factors)
        found |= {(json.dumps(config.to_flat(fixed)), rate) for rate in rates}
    assert len(found) == tuning.NUM_TRIALS


def test_a_suite_is_run_and_not_run_again(launch, here, tmp_path):
    planned = launch("sweep", "--suite=dims", "--plan", *here)
    assert planned.out.splitlines()[0] == "0 rows are done, 2 left: not known yet."
    assert not (tmp_path / "runs").exists()

    finished = launch("sweep", "--suite=dims", *here)
    assert (finished.status, finished.err) == (0, "")
    last = finished.out.splitlines()[-2:]
    assert last[0].startswith(f"pydoc/flatrilm,{TINY}: valid ") and last[0].endswith("1 rows left")
    lane = r"\d+\.\d\d at rate \S+"
    assert re.match(rf"tune/pydoc/{re.escape(LANES)}: valid {lane}, {lane}; 0 rows", last[1])
    main, trial = (tmp_path / "results" / f"{row.path()}.json" for row in ROWS)
    assert json.loads(main.read_text())["command"] == ROWS[0].command()
    assert trial.exists()
    assert "lstm" not in (tmp_path / "README.md").read_text()  # a trial is no result
    assert "lstm-tied" in (tmp_path / "results" / "tune" / "TRIALS.md").read_text()

    again = launch("sweep", "--suite=dims", *here)
    assert again.out == "2 rows are done, 0 left.\n"


def test_it_stops_when_the_time_is_over_and_goes_on(launch, here, tmp_path):
    stopped = launch("sweep", "--suite=gpu-all", "--max_minutes=0.0001", *here)
    assert stopped.status == 0
    # The first row may be too short to be stopped.
    told = r"0.0001 minutes are over; the same command goes on.\n[01] rows are done, [12] left"
    assert re.search(told, stopped.out)
    assert "".join(line[17:] for line in stopped.out.splitlines()).endswith(str(ROWS[1].path()))
    assert launch("sweep", "--suite=gpu-all", *here).status == 0
    assert launch("sweep", "--suite=gpu-all", "--plan", *here).out.startswith("2 rows are done")


def test_it_stops_after_a_row_for_which_the_interrupt_came_too_late(launch, here, monkeypatch):
    """training.run turns the signal into a request, which its last evaluation no longer reads."""

    @contextlib.contextmanager
    def over_at_once(minutes):
        over = threading.Event()
        over.set()
        yield over

    def finished_rows(plan, **_):
        score = {"per_seed": [50.0, 60.0], "mean": 55.0, "std": 7.07}
        for row, _ in plan.todo:
            yield row, {"config": config.to_flat(row.config()), "best_valid_ppl": score}

    monkeypatch.setattr(runner, "stopping_after", over_at_once)
    monkeypatch.setattr(runner, "run", finished_rows)
    stopped = launch("sweep", "--suite=dims", "--max_minutes=1", *here)
    assert (stopped.status, stopped.err) == (0, "")
    told = [
        f"{ROWS[0].path()}: valid 55.00 +- 7.07; 1 rows left",
        "1 minutes are over; the same command goes on.",
        "1 rows are done, 1 left: not known yet.",
    ]
    assert "\n".join(told) in stopped.out


def test_a_work_directory_of_another_run_is_refused_before_any_row_is_run(launch, here, tmp_path):
    other = tmp_path / "runs" / ROWS[1].path()
    other.mkdir(parents=True)
    run = dataclasses.replace(ROWS[1].config(), num_steps=5)
    workdir.write_json(other / "config.json", config.to_flat(run))
    finished = launch("sweep", "--suite=dims", *here)
    assert finished.status == 2
    assert "num_steps (5 there, 3 here)" in finished.err
    assert finished.err.endswith("; move that folder away or choose another --runs.\n")
    assert not (tmp_path / "runs" / ROWS[0].path()).exists()


def as_summary(run, seconds=10.0, steps=100):
    return {
        "config": config.to_flat(run),
        "steps": steps,
        "wall_seconds": seconds,
        "device": summary.circumstances()["device"],
    }


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--results=file/record"], "cannot be written to"),
        (["--results=record", "--readme=nowhere.md"], "nowhere.md cannot be read"),
    ],
)
def test_a_record_that_cannot_be_written_is_refused_before_any_row_is_run(
    launch, here, tmp_path, monkeypatch, flags, sentence
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setattr(runner.training, "run", lambda *_, **__: pytest.fail("a row was run"))
    refused = launch("sweep", "--suite=dims", *here, *flags)
    assert refused.status == 2 and sentence in refused.err


def test_an_interrupt_tells_what_is_left(launch, here, monkeypatch):
    def interrupted(plan, **_):
        row, _ = plan.todo[0]
        score = {"per_seed": [50.0, 60.0], "mean": 55.0, "std": 7.07}
        yield row, {"config": config.to_flat(row.config()), "best_valid_ppl": score}
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    stopped = launch("sweep", "--suite=dims", *here)
    assert stopped.status == 130
    assert "1 rows are done, 1 left: not known yet." in stopped.out


def test_a_gpus_time_is_reckoned_where_none_has_run_the_suite(monkeypatch):
    """The LSTM waits for its 35 steps a window, the Transformer for its products."""
    monkeypatch.setattr(estimate, "training_words", lambda run, data_dir: 1_400_000)
    reckoned = estimate.OnGPU([as_summary(ROWS[0].config())])
    small = suites.Row("ptb", "lstm-tied,preset=tying,num_epochs=2,seeds=42+43").config()
    steps = 2 * 1_400_000 / 20  # of the recurrence, both seeds side by side
    assert reckoned.seconds(small) == pytest.approx(steps * 2 * 90e-6)
    large = suites.Row("ptb", "transformer-tied,seeds=42").config()
    assert reckoned.seconds(large) == pytest.approx(6 * reckoned.amount(large) / 10e12)
    plan = runner.plan([suites.Row("ptb", "lstm-tied,seeds=42")], [], reckoned, limit=None)
    assert plan.lines()[0].endswith(" on a data-centre GPU, by reckoning.")


def test_more_seeds_cover_fewer_and_a_name_decides_nothing():
    two = config.from_flat(recipes.recipe("pydoc", "hyprilm,seeds=42+43"))
    five = config.from_flat(recipes.recipe("pydoc", "hyprilm,preset=tuned"))
    assert runner.includes(five, two) and not runner.includes(two, five)
    free = {"chunk_steps": 3, "preset": "start"}
    assert set(free) == set(workdir.FREE_TO_DIFFER)
    assert runner.includes(dataclasses.replace(five, **free), five)
    assert not runner.includes(dataclasses.replace(five, clip_norm=0.5), five)
    lanes = dataclasses.replace(two, seeds=(42, 42), rate_factors=(0.5, 1.0))
    assert runner.includes(lanes, lanes) and not runner.includes(lanes, two)

    rows = [suites.Row("pydoc", "hyprilm,seeds=42+43")]
    other_version = {"config": {"a field of another version": 1}}
    assert runner.plan(rows, [other_version], estimate.Estimator([])).done == 0
    assert runner.plan(rows, [other_version, as_summary(five)], estimate.Estimator([])).done == 1


def test_time_is_told_from_runs_of_the_same_device_and_backbone():
    fast, slow = (
        config.from_flat(recipes.recipe("pydoc", f"{model},{TINY}"))
        for model in ("flatrilm", "lstm-tied")
    )
    known = [as_summary(fast, 10.0, steps=3), as_summary(slow, 40.0, steps=3)]
    known.append(as_summary(fast, 1e6) | {"device": "another"})
    elsewhere = as_summary(fast, 1e6)  # a backbone that is registered there only
    known.append(elsewhere | {"config": elsewhere["config"] | {"backbone": "gru"}})
    known[0]["device"] += ", 99 cores"  # whose number is passed over
    known += [{"device": known[1]["device"]}, as_summary(fast, 1e6, steps=0), {}]
    estimator = estimate.Estimator(known)
    assert estimator.seconds(fast) == pytest.approx(10)
    assert estimator.seconds(slow) == pytest.approx(40)
    longer = dataclasses.replace(fast, num_steps=9, seeds=(1,))
    assert estimator.seconds(longer) == pytest.approx(15)
    ssm = config.from_flat(recipes.recipe("pydoc", f"ssm-tied,{TINY}"))
    assert estimator.seconds(ssm) > 0
    assert estimate.Estimator([]).seconds(fast) is None


def test_rows_that_take_too_long_are_left_and_short_ones_come_first():
    rows = [
        suites.Row("pydoc", f"flatrilm,{TINY}"),
        suites.Row("pydoc", f"flatrilm,dim=2,{TINY[6:]}"),
    ]
    estimator = estimate.Estimator([as_summary(rows[0].config(), 100.0, steps=3)])
    plan = runner.plan(rows, [], estimator, limit=90.0)
    assert [row for row, _ in plan.too_long] == rows[:1] and [r for r, _ in plan.todo] == rows[1:]
    assert "Left to a suite for GPUs, as they take more than two hours here:" in plan.lines()
    plan = runner.plan(rows, [], estimator, limit=None, shortest_first=True)
    assert [row for row, _ in plan.todo] == rows[::-1] and not plan.too_long


def test_work_counts_a_looked_up_table_once():
    tied = config.from_flat(recipes.recipe("pydoc", f"lstm-tied,{TINY}")).model
    linear = config.from_flat(recipes.recipe("pydoc", f"lstm-linear,{TINY}")).model
    assert sizes.multiplications(tied) == sizes.multiplications(linear)
    with pytest.raises(InputError):
        estimate.training_words(config.from_flat({"corpus": "nowhere"}), None)


def test_a_row_within_another_is_left_to_it():
    rows = [suites.Row("pydoc", f"flatrilm,{seeds}") for seeds in ("seeds=42", "seeds=42+43")]
    plan = runner.plan(rows, [], estimate.Estimator([]))
    assert [row for row, _ in plan.todo] == rows[1:]


def test_of_two_rows_that_are_one_run_the_first_is_kept():
    rows = [suites.Row("pydoc", f"flatrilm{same}") for same in ("", ",preset=tuned", ",seeds=42")]
    plan = runner.plan(rows, [], estimate.Estimator([]))
    assert [row for row, _ in plan.todo] == rows[:1]
