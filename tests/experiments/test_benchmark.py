"""The benchmark's own arithmetic, its products against the head's, and whole suites at tiny sizes.

Nothing here tests how long anything takes.
"""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmarks import alternatives, gemms, measure, programs, report, suites
from experiments.benchmarks.measure import Row, Target
from rilm_jax.backbones import ssm

pytestmark = pytest.mark.usefixtures("quick_compilation")

RECORDS = Path(suites.__file__).parents[1] / "results" / "benchmarks"
CIRCUMSTANCES = {
    "suite": "cpu",
    "quick": False,
    "date": "2026-01-01T00:00:00+00:00",
    "device": "cpu: cpu",
    "cores": 2,
    "load_average": 0.25,
    "versions": {"jax": "0.10.2", "python": "3.12.0"},
    "commit": "abc",
}


def test_rows_are_called_in_turn_and_back_again():
    called = []
    rows = [Row(name, lambda name=name: called.append(name)) for name in "abc"]
    samples = measure.interleave(rows, 3)
    assert "".join(called) == "abc" + "abc" + "cba" + "abc"
    assert {name: len(values) for name, values in samples.items()} == {"a": 3, "b": 3, "c": 3}


def test_times_are_milliseconds_a_unit(monkeypatch):
    clock = iter([0.0, 2.0, 10.0, 10.5])
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(clock))
    row = Row("a", lambda: None, "step", units=4, tokens=100, facts={"compile_seconds": 1.5})
    samples = measure.interleave([row], 2)
    assert samples["a"].tolist() == [500.0, 125.0]
    assert measure.row_record(row, samples) == {
        "name": "a",
        "unit": "ms/step",
        "median": 312.5,
        "min": 125.0,
        "max": 500.0,
        "n": 2,
        "tokens_per_second": 320.0,
        "compile_seconds": 1.5,
    }


def test_a_ratio_is_the_median_over_repeats_not_of_medians():
    samples = {"a": np.array([1.0, 4.0, 9.0]), "b": np.array([1.0, 1.0, 10.0])}

    def record(**bound):
        return measure.target_record(Target("a/b", lambda t: t["a"] / t["b"], **bound), samples)

    assert record(bound=1.0)["median"] == 1.0  # of the medians: 4
    assert (record(bound=1.0)["met"], record(bound=0.9)["met"]) == (True, False)
    assert (record(bound=1.0, least=True)["met"], record(bound=1.1, least=True)["met"]) == (
        True,
        False,
    )
    assert record(bound=1.1, least=True)["target"] == ">= 1.10"
    assert record()["target"] is None and record()["met"] is None


@pytest.mark.parametrize("block", [4, 12, 24])
def test_the_head_s_products_are_those_of_its_gradient(block):
    q, e = (
        jax.random.normal(jax.random.key(i), shape) for i, shape in enumerate([(24, 3), (7, 3)])
    )
    d_e, d_q = gemms._head(block)(q, e)
    scores = q @ e.T
    np.testing.assert_allclose(d_q.reshape(q.shape), scores @ e, rtol=1e-5)
    np.testing.assert_allclose(d_e, scores.T @ q, rtol=1e-5)


@pytest.mark.parametrize("at_once", [True, False])
def test_the_recurrence_s_products_are_those_of_its_gradient(at_once):
    h, w = (jax.random.normal(jax.random.key(i), shape) for i, shape in enumerate([(4, 5), (5, 5)]))
    last, pull = jax.vjp(lambda h, w: h @ w @ w @ w, h, w)
    for a, b in zip(gemms._recurrence(at_once)(h, w, jnp.zeros(3)), pull(last), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


def test_the_operations_of_the_products_are_counted():
    n = 128 * 64
    assert gemms.flops(2000, 128, 128, 64) == {
        "head": 3 * 2 * n * 2000 * 128,
        "recurrence": 3 * 64 * 2 * 128 * 128 * 128,
        "inputs": 3 * 2 * 2000 * 128 * 128,
    }
    assert gemms.flops(10_000, 128, 128, 64)["inputs"] == 3 * 2 * n * 128 * 128


def test_measured_steps_are_the_product_s_and_five_seeds_take_the_memory_of_one():
    one, five = (
        programs.steps(name, suites.QUICK.run("flatrilm", 50, seeds=seeds))
        for name, seeds in [("one", (42,)), ("five", suites.FIVE)]
    )
    assert one.units == five.units == 2
    assert (one.tokens, five.tokens) == (4 * 6, 5 * 4 * 6)
    one.call()
    one.call()  # the state given away in the first call is not used again
    # On CPU the seeds take turns.
    assert 0 < five.facts["temporary_mib"] < 2 * one.facts["temporary_mib"]


def test_full_precision_decodes_accurately():
    error = programs.decoder_precision(64, 16, 1.0)
    assert error["highest"] < 1e-4


def test_the_tables_say_what_the_record_says():
    record = CIRCUMSTANCES | {
        "rows": [
            {
                "name": "V=2000: flatrilm",
                "unit": "ms/step",
                "median": 151.2,
                "min": 149.0,
                "max": 160.0,
                "n": 3,
                "tokens_per_second": 54179.9,
                "temporary_mib": 31.25,
            }
        ],
        "targets": [
            {
                "name": "HypRiLM step / Flat step",
                "median": 1.176,
                "min": 1.1,
                "max": 1.3,
                "n": 3,
                "target": "<= 1.20",
                "met": True,
            },
            {
                "name": "of interest",
                "median": 2.0,
                "min": 1,
                "max": 3,
                "n": 3,
                "target": None,
                "met": None,
            },
        ],
    }
    heading, targets, rows = report.markdown(record).split("\n\n")
    assert heading == (
        "Benchmark `cpu`: cpu: cpu, 2 cores, jax 0.10.2, commit abc, 2026-01-01T00:00:00+00:00, "
        "load 0.2 at the start."
    )
    assert targets.splitlines() == [
        "| ratio                    | median |        range |  target | met |",
        "| ------------------------ | -----: | -----------: | ------: | --: |",
        "| HypRiLM step / Flat step |   1.18 | 1.10 to 1.30 | <= 1.20 | yes |",
        "| of interest              |   2.00 | 1.00 to 3.00 |         |     |",
    ]
    assert [cell.strip() for cell in rows.splitlines()[-1].split("|")[1:-1]] == [
        "V=2000: flatrilm",
        "151 ms/step",
        "149 to 160",
        "54,180 tokens/s",
        "31.2",
        "",
    ]


@pytest.mark.parametrize("record", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_the_pages_on_record_show_their_records(record):
    assert record.with_suffix(".md").read_text() == report.page(json.loads(record.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["cpu", "scaling", "gpu"])
def test_a_suite_runs_from_end_to_end(launch, tmp_path, suite):
    finished = launch("benchmark", f"--suite={suite}", "--quick", f"--out={tmp_path / 'records'}")
    assert finished.status == 0, finished.err
    record = json.loads((tmp_path / "records" / f"{suite}.json").read_text())
    assert record["suite"] == suite and record["quick"]
    assert all(0 < row["min"] <= row["median"] <= row["max"] for row in record["rows"])
    names = [row["name"] for row in record["rows"]]
    assert len(set(names)) == len(names)
    assert report.targets_table(record) in finished.out or suite == "scaling"
    if suite == "cpu":
        assert len([t for t in record["targets"] if t["target"]]) == 4
    if suite == "gpu":
        assert record["run"]["wall_seconds"] > 0
    assert (tmp_path / "records" / f"{suite}.md").read_text() == report.page(record)
    shown = launch("benchmark", f"--suite={suite}", "--show", f"--out={tmp_path / 'records'}")
    assert shown.out.strip() == report.markdown(record)


def test_a_gpu_suite_without_a_gpu_is_marked_and_leaves_an_older_record(launch, tmp_path):
    path = tmp_path / "gpu.json"
    finished = launch("benchmark", "--suite=gpu", f"--out={tmp_path}")
    assert finished.status == 0
    assert "Not run: there is no GPU here." in finished.out
    assert json.loads(path.read_text())["not_run"] == "there is no GPU here"
    path.write_text("{}")
    launch("benchmark", "--suite=gpu", f"--out={tmp_path}")
    assert path.read_text() == "{}"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--suite is missing"),
        (["--suite=cpuu"], "cpuu"),
        (["--suite=cpu", "--show", "--out=nowhere"], "cpu.json is not there"),
        (["--suite=cpu", "--out=file/records"], "cannot be written to"),
        (["--suite=cpu", "--show", "--out=damaged"], "holds no record"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(launch, tmp_path, arguments, sentence):
    (tmp_path / "file").touch()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "cpu.json").write_text("{}")
    finished = launch("benchmark", *arguments)
    assert finished.status == 2
    assert sentence in finished.err
    assert finished.out == "" and finished.err.count("\n") == 1


def test_peers_without_their_packages_are_refused(launch, monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(suites, "_version", version)
    finished = launch("benchmark", "--suite=peers", "--quick")
    assert finished.status == 2
    assert "pip install -e '.[bench]'" in finished.err


def test_the_associative_scan_is_the_sequential_one():
    """Else the two could not be compared in time."""
    keys = iter(jax.random.split(jax.random.key(0), 6))
    batch, length, channels, n = 2, 7, 3, 4
    x = jax.random.normal(next(keys), (batch, length, channels))
    dt = jax.random.uniform(next(keys), (batch, length, channels))
    a = -jnp.exp(jax.random.normal(next(keys), (n, channels)))
    b, c = (jax.random.normal(next(keys), (batch, length, n)) for _ in range(2))
    state = jax.random.normal(next(keys), (batch, n, channels))
    for got, wanted in zip(
        alternatives.associative_scan(x, dt, a, b, c, state),
        ssm.selective_scan(x, dt, a, b, c, state),
        strict=True,
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_an_unrolled_recurrence_is_unrolled(monkeypatch):
    seen = []
    scan = jax.lax.scan
    monkeypatch.setattr(
        jax.lax, "scan", lambda *args, unroll=1, **rest: seen.append(unroll) or scan(*args, **rest)
    )
    alternatives.unrolled("row", suites.QUICK.run("flatrilm", 50), 4)
    assert 4 in seen
    seen.clear()
    programs.recurrence("row", suites.QUICK.run("flatrilm", 50))
    assert seen and 4 not in seen
