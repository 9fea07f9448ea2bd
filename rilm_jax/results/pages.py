"""The pages made from the summaries: RESULTS.md, the trials' page, and the README's table."""

import re
from collections.abc import Sequence
from pathlib import Path

from rilm_jax import recipes
from rilm_jax.errors import InputError
from rilm_jax.results import record, table, trials

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def collect(workdir: str | Path, folder: str | Path) -> Path:
    """Copy a finished run's summary to `folder`/CORPUS/NAME.json, NAME that of the work directory.

    Returns:
      The file, which replaces an older one of the same name.

    Raises:
      InputError: the run has not ended, or its summary is none; the copy cannot be written.
    """
    workdir = Path(workdir)
    path = workdir / "summary.json"
    if not path.is_file():
        raise InputError(f"{workdir} holds no summary.json; let the run end first.")
    summary = record.read(path)
    corpus = summary["config"]["corpus"]
    name = workdir.absolute().name
    table.row(summary, name, path)  # all that the table needs is there
    target = Path(folder) / (corpus if corpus in recipes.CORPORA else "text") / f"{name}.json"
    record.write_file(target, path.read_bytes())
    return target


def pages(folder: Path, readme: Path) -> dict[Path, str]:
    """What each page is to hold, by file; the trials' page only where there are trials.

    Raises:
      InputError: a file that is no summary; a README that cannot be read or lacks the two markers.
    """
    made = table.markdown(table.rows(folder))
    try:
        text = readme.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{readme} cannot be read ({error}); restore it.") from error
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(between.findall(text)) != 1:
        raise InputError(
            f"{readme} lacks the lines {BEGIN} and {END} between which the table belongs; "
            "put them where it is to stand."
        )
    filled = between.sub(lambda _: f"{BEGIN}\n{made}{END}", text)
    note = "Made by `python experiments/table.py`; not to be edited."
    made_pages = {folder / "RESULTS.md": f"# Results\n\n{note}\n\n{made}", readme: filled}
    tried = trials.markdown(trials.read(folder))
    if tried:
        made_pages[folder / trials.FOLDER / "TRIALS.md"] = f"# Trials\n\n{note}\n\n{tried}"
    return made_pages


def take_in(
    workdirs: Sequence[str | Path], folder: Path, readme: Path, *, below: str = ""
) -> list[Path]:
    """`collect` each run into `folder`/`below`, then `write`; returns the files written."""
    pages(folder, readme)  # what is wrong there shows before anything is copied
    return [*(collect(path, folder / below) for path in workdirs), *write(folder, readme)]


def write(folder: Path, readme: Path) -> list[Path]:
    """Bring both tables up to date; returns the files that changed."""
    changed = stale(folder, readme)
    for path, text in pages(folder, readme).items():
        if path in changed:
            record.write_file(path, text.encode())
    return changed


def stale(folder: Path, readme: Path) -> list[Path]:
    """The files whose table differs from the one that the summaries give."""
    return [
        path
        for path, text in pages(folder, readme).items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
