"""The launcher that draws: of the record, and of trained models."""

import pytest

from rilm_jax import config, recipes, results, training

pytestmark = pytest.mark.usefixtures("quick_compilation")
README = f"{results.BEGIN}\n{results.END}\n"
TINY = "dim=4,vocab_size=2000,num_steps=3,batch_size=4,window=8,eval_batch_size=512,seeds=1+2"


@pytest.fixture(scope="module")
def workdirs(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("runs"), []
    for model in ("hyprilm", "flatrilm"):
        made.append(folder / model)
        training.run(config.from_flat(recipes.recipe("pydoc", f"{model},{TINY}")), made[-1])
    return made


def test_the_record_and_two_models_are_drawn(launch, workdirs, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(README)
    folder = tmp_path / "results"
    results.take_in(workdirs, folder, readme)
    finished = launch("plot", f"--results={folder}", "--format=svg")
    assert (finished.status, finished.err) == (0, "")
    drawn = [folder / "figures" / f"{name}-pydoc.svg" for name in ("curves", "frontier")]
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
    header, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    assert header == ["hyprilm", "p", "d", "flatrilm", "p", "d"]
    assert len(rows) == 5 and all(0 < float(row[1]) < 1 and float(row[5]) > 0 for row in rows)


def test_what_cannot_be_drawn_is_refused(launch, workdirs, tmp_path):
    empty = launch("plot", f"--results={tmp_path / 'nowhere'}")
    assert empty.status == 2 and "holds no finished run" in empty.err
    short = launch("plot", f"--workdir={workdirs[0]}", "--prompt=the")
    assert short.status == 2 and "fewer than two words" in short.err
