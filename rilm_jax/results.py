"""The record of finished runs, and the tables made from it.

experiments/results/CORPUS/NAME.json     a run's summary.json, as it was written
experiments/results/RESULTS.md           every run, a row each
README.md                                the same table between two markers

Nothing in a table is typed by hand, save what the paper reports.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rilm_jax import config as configuration
from rilm_jax import recipes
from rilm_jax.errors import InputError

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
WHOLE = 5  # seeds behind a claim in words

# Validation perplexity, all targets, of Li, "RiLM: Parameter-Efficient Language Modeling via
# Geodesic Decoding", by corpus, V, model and head. Of the other baselines on WikiText-2 only the
# range is known here.
_OTHERS = "113 to 147"
PAPER: dict[tuple[str, int, str, str], str] = {
    ("wikitext2", 2000, "hyprilm", "geodesic"): "54.2 ± 0.2",
    ("wikitext2", 2000, "flatrilm", "geodesic"): "87.6 ± 0.6",
    ("wikitext2", 2000, "ssm", "tied"): "113.0 ± 3.8",
    ("wikitext2", 2000, "ssm", "linear"): _OTHERS,
    ("wikitext2", 2000, "lstm", "tied"): _OTHERS,
    ("wikitext2", 2000, "lstm", "linear"): _OTHERS,
    ("wikitext2", 2000, "transformer", "tied"): _OTHERS,
    ("wikitext2", 2000, "transformer", "linear"): _OTHERS,
    ("wikitext2", 10000, "hyprilm", "geodesic"): "345.8 ± 16.0",
    ("wikitext2", 10000, "flatrilm", "geodesic"): "341.8 ± 0.5",
    ("wikitext2", 10000, "ssm", "tied"): "708.3 ± 9.0",
    ("ptb", 2000, "hyprilm", "geodesic"): "69.8 ± 0.5",
    ("ptb", 2000, "flatrilm", "geodesic"): "40.9 ± 0.6",
}

_HEADER = (
    "dataset",
    "V",
    "model",
    "head",
    "preset",
    "options",
    "parameters",
    "steps",
    "seeds",
    "valid",
    "valid, non-`<unk>`",
    "test",
    "test, non-`<unk>`",
    "paper, valid",
    "5-gram, valid",
    "5-gram, non-`<unk>`",
    "tokens/s",
    "command",
    "commit",
)
_SHOWN = ("preset=", "data=")  # options that have a column of their own
_NUMBERS = {"V", "parameters", "steps", "tokens/s"}

_NOTES = """\
Perplexity: exp of the mean negative log-likelihood over the whole split, every target once; mean ±
standard deviation (n - 1) over the seeds, each at its best validation epoch. *non-`<unk>`* counts
only the targets that are words of the vocabulary. *5-gram* is modified Kneser-Ney on the same split
and vocabulary, the floor. *paper* is what the RiLM paper reports for that model on validation; how
it counted is not known. *tokens/s* is training, all seeds together, on the device named.
A row marked † has fewer than five finished seeds, and no claim in words rests on it."""


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
    summary = _read(path)
    corpus = summary["config"]["corpus"]
    name = workdir.absolute().name
    target = Path(folder) / (corpus if corpus in recipes.CORPORA else "text") / f"{name}.json"
    row(summary, name, path)  # all that the table needs is there
    _write(target, path.read_bytes())
    return target


def rows(folder: str | Path) -> list[list[str]]:
    """A row for every summary below `folder`, by corpus, V and mean validation perplexity.

    Raises:
      InputError: a file that is no summary.
    """
    found = []
    for order, corpus in enumerate(recipes.CORPORA):
        for path in sorted((Path(folder) / corpus).glob("*.json")):
            summary = _read(path)
            cells = row(summary, path.stem, path)
            mean = summary["best_valid_ppl"]["mean"]
            key = (order, summary["config"]["vocab_size"], mean is None, mean or 0.0, path.stem)
            found.append((key, cells))
    return [cells for _, cells in sorted(found)]


def row(summary: Mapping[str, Any], name: str, path: Path) -> list[str]:
    """A summary as the cells of the table.

    Raises:
      InputError: it lacks something that the table shows.
    """
    try:
        return _row(summary, name)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is no summary of a run ({type(error).__name__}: {error}); collect it again."
        ) from error


def _row(summary: Mapping[str, Any], name: str) -> list[str]:
    config, floor = summary["config"], summary["floor"]
    corpus, model = config["corpus"], _model(config)
    given = command(summary, name)
    string = _string(given) if given else name
    seeds = [v for v in summary["best_valid_ppl"]["per_seed"] if v is not None]
    python = summary["corpus"].get("python")
    dataset = corpus if corpus in recipes.CORPORA else Path(corpus).name
    cells = {
        "dataset": f"{dataset} (Python {python})" if python else dataset,
        "V": str(config["vocab_size"]),
        "model": model,
        "head": config["head"],
        "preset": config["preset"],
        "options": ", ".join(o for o in string.split(",")[1:] if not o.startswith(_SHOWN)),
        "parameters": f"{summary['params']['total']:,}",
        "steps": f"{summary['steps']:,}",
        "seeds": f"{len(seeds)} of {len(summary['seeds'])}"
        if len(seeds) < len(summary["seeds"])
        else str(len(seeds)),
        "valid": spread(summary["best_valid_ppl"], "±"),
        "valid, non-`<unk>`": spread(summary["best_valid_ppl_non_unk"], "±"),
        "test": spread(summary["test_ppl"], "±"),
        "test, non-`<unk>`": spread(summary["test_ppl_non_unk"], "±"),
        "paper, valid": _paper(config, model),
        "5-gram, valid": number(floor["kn5"]),
        "5-gram, non-`<unk>`": number(floor["kn5_non_unk"]),
        "tokens/s": f"{summary['tokens_per_second'] or 0:,.0f} "
        f"({summary['device'].split(': ')[-1]})",
        "command": f"`{given}`" if given else "-",
        "commit": summary["commit"] or "-",
    }
    if len(seeds) < WHOLE:
        cells["seeds"] += " †"
    return [cells[column] for column in _HEADER]


def command(summary: Mapping[str, Any], name: str) -> str | None:
    """The command line behind a summary: the recorded one, or the one that its name stands for.

    The latter only where the name is a configuration string whose recipe is the summary's
    configuration still; None otherwise.
    """
    if summary.get("command"):
        return summary["command"]
    corpus = summary["config"]["corpus"]
    try:
        if recipes.name(name) != name or corpus not in recipes.CORPORA:
            return None
        run = configuration.from_flat(recipes.recipe(corpus, name))
    except InputError:
        return None
    if configuration.to_flat(run) != summary["config"]:
        return None
    return shlex.join(
        ["python", "experiments/train.py", f"--config=experiments/configs/{corpus}.py:{name}"]
    )


def markdown(cells: Sequence[Sequence[str]]) -> str:
    """The table of `rows`, with the notes that it needs."""
    if not cells:
        return "No run has been collected yet.\n"
    aligned = ["---:" if column in _NUMBERS else "---" for column in _HEADER]
    lines = [_HEADER, aligned, *cells]
    table = "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in ln) + " |" for ln in lines)
    return f"{table}\n\n{_NOTES}\n"


def pages(folder: Path, readme: Path) -> dict[Path, str]:
    """What RESULTS.md and the README are to hold, by file.

    Raises:
      InputError: a file that is no summary; a README that cannot be read or lacks the two markers.
    """
    table = markdown(rows(folder))
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
    filled = between.sub(lambda _: f"{BEGIN}\n{table}{END}", text)
    results = f"# Results\n\nMade by `python experiments/table.py`; not to be edited.\n\n{table}"
    return {folder / "RESULTS.md": results, readme: filled}


def take_in(workdirs: Sequence[str | Path], folder: Path, readme: Path) -> list[Path]:
    """`collect` each run, then `write`; returns the files that were written."""
    pages(folder, readme)  # what is wrong there shows before anything is copied
    return [*(collect(workdir, folder) for workdir in workdirs), *write(folder, readme)]


def write(folder: Path, readme: Path) -> list[Path]:
    """Bring both tables up to date; returns the files that changed."""
    changed = stale(folder, readme)
    for path, text in pages(folder, readme).items():
        if path in changed:
            _write(path, text.encode())
    return changed


def stale(folder: Path, readme: Path) -> list[Path]:
    """The files whose table differs from the one that the summaries give."""
    return [
        path
        for path, text in pages(folder, readme).items()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def spread(score: Mapping[str, Any], sign: str = "+-") -> str:
    """`{per_seed, mean, std}` as `mean +- std`, or the mean alone where there is one seed."""
    if score["mean"] is None:
        return "-"
    if len(score["per_seed"]) < 2 or score["std"] is None:
        return number(score["mean"])
    return f"{number(score['mean'])} {sign} {number(score['std'])}"


def number(value: float | None) -> str:
    """A perplexity as it is printed everywhere; "-" for none."""
    return "-" if value is None else f"{value:.2f}"


def _read(path: Path) -> dict[str, Any]:
    try:
        summary = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); restore it.") from error
    if not isinstance(summary, dict) or "config" not in summary:
        raise InputError(f"{path} is no summary of a run; collect it again.")
    return summary


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); make it writable or make room."
        ) from error


def _model(config: Mapping[str, Any]) -> str:
    if config["backbone"] != "rilm":
        return config["backbone"]
    return "hyprilm" if config["manifold"] == "poincare" else "flatrilm"


def _string(given: str) -> str:
    """The options of a command as one string: those of its configuration, then its overrides."""
    words = shlex.split(given)
    strings = [w.partition(":")[2] for w in words if w.startswith("--config=")] or [""]
    overrides = [w.removeprefix("--config.") for w in words if w.startswith("--config.")]
    return ",".join([strings[0], *overrides])


def _paper(config: Mapping[str, Any], model: str) -> str:
    """The paper's value where the run has the paper's model, not a variation on it."""
    if (config["dim"], config["composition"], config["recurrence"]) != (128, "mlp", "mobius"):
        return "-"
    return PAPER.get((config["corpus"], config["vocab_size"], model, config["head"]), "-")
