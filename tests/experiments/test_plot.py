"""The launcher that draws: of the record, and of trained models."""

import json
import shlex

import pytest

from rilm_jax import config, recipes, results, training

pytestmark = pytest.mark.usefixtures("quick_compilation")
README = f"{results.BEGIN}\n{results.END}\n"
TINY = "dim=4,vocab_size=2000,num_steps=3,batch_size=4,window=8,eval_batch_size=512,seeds=1+2"


@pytest.fixture(scope="module")
def workdirs(tmp_path_factory):
    return [trained(tmp_path_factory, f"{model},{TINY}") for model in ("hyprilm", "flatrilm")]


@pytest.fixture(scope="module")
def fewer_words(tmp_path_factory):
    return trained(tmp_path_factory, f"hyprilm,{TINY}".replace("2000", "500"))


def trained(tmp_path_factory, string):
    workdir = tmp_path_factory.mktemp("runs") / recipes.name(string)
    training.run(config.from_flat(recipes.recipe("pydoc", string)), workdir)
    return workdir


def test_the_record_and_two_models_are_drawn(launch, workdirs, fewer_words, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(README)
    folder = tmp_path / "results"
    results.take_in([*workdirs, fewer_words], folder, readme)
    finished = launch("plot", f"--results={folder}", "--format=svg")
    assert (finished.status, finished.err) == (0, "")
    names = [f"{name}-pydoc{of}.svg" for of in ("-500", "") for name in ("curves", "frontier")]
    drawn = [folder / "figures" / name for name in names]
    assert finished.out.splitlines() == [str(path) for path in drawn]
    for path in drawn:
        assert path.read_text("utf-8").count("<path") > 10

    flags = [f"--workdir={workdir}" for workdir in workdirs]
    finished = launch("plot", *flags, f"--out={tmp_path / 'out'}", "--length=3")
    assert (finished.status, finished.err) == (0, "")
    page = tmp_path / "out" / "decoding-pydoc.md"
    assert finished.out.splitlines()[-1] == str(page)
    text = page.read_text("utf-8")
    assert len(text.split("*")[1].split()) == 3
    assert shlex.join(["python", "experiments/plot.py", *flags, "--length=3"]) in text
    header, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    assert header == ["hyprilm", "p", "d", "flatrilm", "p", "d"]
    assert len(rows) == 5 and all(0 < float(row[1]) < 1 and float(row[5]) > 0 for row in rows)


def test_pictures_of_other_records_stand_beside_them_or_in_the_folder_given(
    launch, workdirs, tmp_path
):
    folder = tmp_path / "results"
    (folder / "collapse").mkdir(parents=True)
    results.take_in(workdirs[:1], folder, None)
    norms = {"untrained": {"mean": [0.1, 0.5]}, "trained": {"mean": [0.1, 0.2]}}
    rows = [{"recurrence": "mobius", "init": "plain", "guard": "gap", **norms}]
    record = folder / "collapse" / "pydoc.json"
    record.write_text(json.dumps({"rows": rows}))
    for arguments, drawn in (
        ([], folder / "collapse" / "pydoc.svg"),
        ([f"--out={tmp_path / 'out'}"], tmp_path / "out" / "collapse-pydoc.svg"),
    ):
        finished = launch("plot", f"--results={folder}", "--format=svg", *arguments)
        assert finished.out.splitlines()[0] == str(drawn)
        assert "mobius after an epoch" in drawn.read_text("utf-8")
    record.write_text("{")
    damaged = launch("plot", f"--results={folder}")
    assert damaged.status == 2 and f"{record} cannot be read" in damaged.err
    record.write_text("{}")
    empty = launch("plot", f"--results={folder}")
    assert empty.status == 2 and f"{record} holds no record" in empty.err
    assert "make it anew with collapse.py" in empty.err


def test_what_cannot_be_drawn_is_refused(launch, workdirs, tmp_path):
    empty = launch("plot", f"--results={tmp_path / 'nowhere'}")
    assert empty.status == 2 and "holds no finished run" in empty.err
    short = launch("plot", f"--workdir={workdirs[0]}", "--prompt=the")
    assert short.status == 2 and "fewer than two words" in short.err
