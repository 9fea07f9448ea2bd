"""The table launcher; tests/results has the tables."""

import json

import pytest

from rilm_jax import commandline, config, recipes, results

README = f"# Title\n\n{results.BEGIN}\n{results.END}\n"


@pytest.fixture
def project(tmp_path):
    """Flags that name a results folder and a README of the test's own, and a finished run."""
    (tmp_path / "README.md").write_text(README)
    run = config.from_flat(recipes.recipe("ptb", "flatrilm"))
    score = {"per_seed": [50.0], "mean": 50.0, "std": None}
    workdir = tmp_path / "runs" / "ptb" / "flatrilm"
    workdir.mkdir(parents=True)
    content = {
        "config": config.to_flat(run),
        "seeds": [42],
        "params": {"total": 1},
        "steps": 1,
        "floor": {"unigram": 194.0, "unigram_non_unk": 415.9, "kn5": 52.7, "kn5_non_unk": 87.2},
        "corpus": {},
        "tokens_per_second": 1.0,
        "wall_seconds": 1.0,
        "device": "cpu: cpu",
        "commit": None,
    }
    content |= dict.fromkeys(results.SCORES, score)
    (workdir / "summary.json").write_text(json.dumps(content))
    return [f"--results={tmp_path / 'results'}", f"--readme={tmp_path / 'README.md'}"]


def test_a_run_is_collected_and_the_tables_are_made(launch, project, tmp_path):
    finished = launch("table", *project, "--collect=runs/ptb/flatrilm")
    assert (finished.status, finished.err) == (0, "")
    written = [tmp_path / "results/ptb/flatrilm.json", tmp_path / "results/RESULTS.md"]
    assert finished.out.splitlines() == [*map(str, written), str(tmp_path / "README.md")]
    assert "| 50.00 |" in (tmp_path / "README.md").read_text("utf-8")
    assert launch("table", *project).out == ""


def test_check_fails_where_a_table_differs_and_writes_nothing(launch, project, tmp_path):
    launch("table", *project, "--collect=runs/ptb/flatrilm")
    assert launch("table", *project, "--check").status == 0
    readme = tmp_path / "README.md"
    edited = readme.read_text("utf-8").replace("50.00", "49.00")
    readme.write_text(edited, "utf-8")
    finished = launch("table", *project, "--check")
    assert finished.status == commandline.BAD_INPUT
    assert finished.err == (
        "README.md differs from the summaries; run python experiments/table.py.\n"
    )
    assert readme.read_text("utf-8") == edited


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--collect=runs/ptb/hyprilm"], "runs/ptb/hyprilm holds no summary.json"),
        (["--collect=runs/ptb/flatrilm", "--check"], "--collect cannot stand beside it"),
        (["--compare=a,b", "--check"], "--compare stands alone"),
        (["--compare=a,b", "--collect=runs/ptb/flatrilm"], "--compare stands alone"),
    ],
)
def test_mistakes_end_with_one_sentence_and_nothing_written(
    launch, project, tmp_path, arguments, sentence
):
    finished = launch("table", *project, *arguments)
    assert finished.status == commandline.BAD_INPUT
    assert sentence in finished.err
    assert not (tmp_path / "results").exists()
    assert (tmp_path / "README.md").read_text() == README


def put(tmp_path, name, *per_seed):
    """A run on record with these perplexities."""
    content = json.loads((tmp_path / "runs/ptb/flatrilm/summary.json").read_text())
    score = {"per_seed": per_seed, "mean": None, "std": None}
    content |= {"seeds": list(range(len(per_seed))), **dict.fromkeys(results.SCORES, score)}
    path = tmp_path / "results" / "ptb" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("first", "said", "dead"),
    [
        ((1.0, 2.0, 3.0, 4.0, 5.1), "A is lower", ""),
        ((1.0, 2.0, 3.0, 4.0, None), "fewer than five seeds", " (no finite score: seed 4)"),
        ((None, 2.0, 3.0, 4.0, None), "fewer than five seeds", " (no finite score: seed 0, 4)"),
    ],
)
def test_two_runs_are_compared_and_no_claim_rests_on_fewer_than_five_seeds(
    launch, project, tmp_path, first, said, dead
):
    put(tmp_path, "a,k=0", *first)
    put(tmp_path, "b", 11.0, 12.0, 13.0, 14.0, 15.0)
    finished = launch("table", *project, "--compare=ptb/a,k=0,ptb/b")
    assert (finished.status, finished.err) == (0, "")
    a, b, _, _, *rows = finished.out.splitlines()
    assert (a, b) == (f"A: ptb/a,k=0{dead}", "B: ptb/b")
    assert len(rows) == 4 and all(row.endswith(said) for row in rows)


def test_without_folders_it_is_the_projects_tables_that_are_checked(launch):
    assert launch("table", "--check").status == 0
