"""The pages made from the summaries: RESULTS.md, TYING.md, TRIALS.md, the README's brief table."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rilm_jax import files, recipes
from rilm_jax.errors import InputError
from rilm_jax.results import findings, grids, hyperparameters, record, table, trials, tying

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def take_in(workdirs: Sequence[str | Path], folder: Path, readme: Path | None) -> list[Path]:
    """Copy the summaries of finished runs into the record, and bring the pages up to date.

    A run of NAME, its work directory's, goes to `folder`/CORPUS/NAME.json, and its metrics beside
    it to NAME.jsonl; a trial goes below `folder`/tune. An older file of that name is replaced.

    Returns:
      The files written.

    Raises:
      InputError: a run that has not ended, or whose summary or metrics are none; what `pages`
        raises. Nothing is written then. Or a file that cannot be written.
    """
    sources, taken = {}, {}
    for workdir in map(Path, workdirs):
        path = workdir / "summary.json"
        if not path.is_file():
            raise InputError(f"{workdir} holds no summary.json; let the run end first.")
        summary = record.read(path)
        place = folder / _below(summary["config"]) / f"{workdir.absolute().name}.json"
        sources[place], taken[place] = path, summary
        metrics = workdir / "metrics.jsonl"
        if metrics.is_file():
            record.curve(workdir)  # refuses what is none
            sources[place.with_suffix(".jsonl")] = metrics
    pages(record.read_all(folder) | taken, folder, readme)  # raises before anything is written
    for place, path in sources.items():
        files.write(place, path.read_bytes())
    return [*sources, *write(folder, readme)]


def write(folder: Path, readme: Path | None) -> list[Path]:
    """Bring the pages up to date; returns the files that changed."""
    return _bring_up_to_date(pages(record.read_all(folder), folder, readme))


def stale(folder: Path, readme: Path | None) -> list[Path]:
    """The pages that differ from what the summaries give."""
    return _differing(pages(record.read_all(folder), folder, readme))


def pages(
    runs: Mapping[Path, Mapping[str, Any]], folder: Path, readme: Path | None
) -> dict[Path, str | None]:
    """What each page is to hold, by file; None where there is to be none.

    Args:
      runs: what `record.read_all` returns.
      folder: of the results.
      readme: a file whose table stands between `BEGIN` and `END`; None: there is no such file.

    Raises:
      InputError: a README that cannot be read or lacks the two markers.
    """
    whole, tried = (
        {path: run for path, run in runs.items() if path.parent.parent == parent}
        for parent in (folder, folder / trials.FOLDER)
    )
    main = record.main_models(whole)
    found = findings.five_seeds(main)
    parts = [table.markdown(whole), found, grids.markdown(main), hyperparameters.markdown(main)]
    made = "\n".join(filter(None, parts))
    note = "Made by `python experiments/table.py`; not to be edited."
    contents = {
        folder / "RESULTS.md": ("Results", made),
        folder / trials.FOLDER / "TRIALS.md": ("Trials", trials.markdown(trials.ordered(tried))),
        folder / "TYING.md": ("Tying word vectors and word classifiers", tying.markdown(whole)),
    }
    shown: dict[Path, str | None] = {
        path: f"# {title}\n\n{note}\n\n{content}" if content else None
        for path, (title, content) in contents.items()
    }
    brief = "\n".join(filter(None, [table.brief(main), found]))
    return shown | ({readme: _with_table(readme, brief)} if readme else {})


def _with_table(readme: Path, made: str) -> str:
    """The README with this between its markers."""
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
    return between.sub(lambda _: f"{BEGIN}\n{made}{END}", text)


def _below(config: Mapping[str, Any]) -> Path:
    """The folder below the results where a summary of this configuration belongs."""
    corpus = config["corpus"] if config["corpus"] in recipes.CORPORA else "text"
    return Path(trials.FOLDER, corpus) if trials.is_trial(config) else Path(corpus)


def _differing(made: Mapping[Path, str | None]) -> list[Path]:
    there = {path: path.read_bytes() if path.exists() else None for path in made}
    return [p for p, text in made.items() if there[p] != (None if text is None else text.encode())]


def _bring_up_to_date(made: Mapping[Path, str | None]) -> list[Path]:
    changed = _differing(made)
    for path in changed:
        text = made[path]
        if text is None:
            path.unlink()
        else:
            files.write(path, text.encode())
    return changed
