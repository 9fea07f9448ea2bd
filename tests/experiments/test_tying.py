"""The launchers of the Tying paper's analyses, at tiny sizes."""

import json

import pytest

from rilm_jax import config, recipes, training

pytestmark = pytest.mark.usefixtures("quick_compilation")
TINY = "dim=4,vocab_size=200,num_steps=3,batch_size=4,window=8,eval_batch_size=512,seeds=1"


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for model in ("lstm-linear", "lstm-tied,augment=0.5"):
        run = config.from_flat(recipes.recipe("pydoc", f"{model},{TINY}"))
        training.run(run, folder / model[:9])
    return [f"--workdir={folder / name}" for name in ("lstm-line", "lstm-tied")]


def test_predictions_stand_side_by_side(launch, two_runs, tmp_path):
    flags = ["--contexts=2", "--length=3", "--top_k=2", f"--out={tmp_path / 'page.md'}"]
    finished = launch("predictions", *two_runs, *flags)
    assert (finished.status, finished.err) == (0, "")
    page = (tmp_path / "page.md").read_text("utf-8")
    assert (
        page.startswith(finished.out)
        and f"--contexts=2 --length=3 --top_k=2 --out={tmp_path}" in page
    )
    record = json.loads((tmp_path / "page.json").read_text("utf-8"))
    for of_context in record["contexts"]:
        assert all(len(of_model) == 2 for of_model in of_context["probabilities"].values())
    lines = finished.out.splitlines()
    assert all(len(line) <= 80 for line in lines if line.startswith("|"))
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert ["model", "target", "neighbours", "frequent", "unk"] in cells
    assert cells.count(["lstm-line", "p", "lstm-tied", "p"]) == 2
    assert len([line for line in lines if line.startswith("After *")]) == 2
    (shares,) = [line[1:] for line in cells if line and line[0] == "lstm-line" and line[1] != "p"]
    assert all(0 < float(cell) < 1 for cell in shares)
    recorded = record["shares"]["lstm-line"].values()
    assert [float(cell) for cell in shares] == pytest.approx([*recorded], abs=1e-4)
    best, second = (float(line[1]) for line in cells[-2:])
    assert 0 < second <= best < 1


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ("--contexts=9999", "do not fit into"),
        ("--length=99999", "do not fit into"),
        ("--top_k=201", "--top_k=201 is more than the 200 words"),
        ("--out=page", "--out=page is no page; give a name that ends in .md"),
    ],
)
def test_predictions_of_more_than_there_is_are_refused(launch, two_runs, flag, sentence):
    finished = launch("predictions", *two_runs, flag)
    assert finished.status == 2 and sentence in finished.err and not finished.out


def test_predictions_without_a_run_are_refused(launch):
    finished = launch("predictions")
    assert finished.status == 2 and "--workdir is missing" in finished.err


def test_the_distance_of_the_spaces_falls_with_the_augmented_loss(launch, corpora_dir, tmp_path):
    flags = ["--words=1500", "--epochs=30", "--dim=12", f"--out={tmp_path}", "--betas=0,1"]
    finished = launch("subspace", *flags, f"--data_dir={corpora_dir}")
    assert (finished.status, finished.err) == (0, "")
    record = json.loads((tmp_path / "ptb.json").read_text())
    alone, augmented = record["rows"]
    assert (alone["beta"], augmented["beta"]) == (0.0, 1.0)
    assert augmented["distance"] < alone["distance"] - 0.05
    assert (tmp_path / "ptb.png").stat().st_size > 1000
    assert "| 1 |" in (tmp_path / "ptb.md").read_text("utf-8")
    kept = (tmp_path / "ptb.json").read_text()
    empty = launch("subspace", "--betas=", f"--out={tmp_path}", f"--data_dir={corpora_dir}")
    assert empty.status == 2 and "--betas is empty" in empty.err
    assert (tmp_path / "ptb.json").read_text() == kept
    elsewhere = launch("subspace", f"--out={tmp_path / 'ptb.json' / 'x'}", "--betas=0,1")
    assert elsewhere.status == 2 and "cannot be written to" in elsewhere.err
    for betas in ("2", "0,a"):
        refused = launch("subspace", f"--betas={betas}")
        assert refused.status == 2 and "is no share" in refused.err
    flags = ["--words=100", "--dim=101", f"--out={tmp_path}", f"--data_dir={corpora_dir}"]
    refused = launch("subspace", *flags)
    assert refused.status == 2 and "which span no more dimensions" in refused.err
