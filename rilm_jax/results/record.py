"""Finished runs on record: experiments/results/CORPUS/NAME.json, each as the run wrote it."""

import difflib
import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rilm_jax import config as configuration
from rilm_jax import recipes, summaries
from rilm_jax.errors import InputError

_SIZE = ("dim", "hidden_dim", "num_layers")
_TELLING = ("composition", "recurrence", "augment", "target_grad", "part")


def read(path: Path) -> dict[str, Any]:
    """The summary in a file.

    Raises:
      InputError: there is none, or it lacks something.
    """
    return summaries.read(path, "collect the run again")


def read_all(folder: Path) -> dict[Path, dict[str, Any]]:
    """Every summary in CORPUS/ below `folder`, those of the trials too, by corpus and name.

    Raises:
      InputError: a file that is no summary.
    """
    paths = (path for name in recipes.CORPORA for path in sorted(folder.rglob(f"{name}/*.json")))
    return {path: read(path) for path in paths}


def curve(path: Path, split: str = "valid") -> list[dict[str, Any]]:
    """The evaluations of a run, in order: of one on record, by its summary, or of a work directory.

    Empty where no metrics are on record; `summaries.evaluations` says what each holds.

    Raises:
      InputError: a file that holds no metrics.
    """
    metrics = path / "metrics.jsonl" if path.is_dir() else path.with_suffix(".jsonl")
    return summaries.evaluations(metrics, "collect the run again", split)


def find_two(folder: Path, names: str) -> tuple[Path, Path]:
    """The two summaries of `A,B`, each CORPUS/NAME below `folder` or a file; names hold commas too.

    Raises:
      InputError: no comma parts the text into two that are there.
    """
    parts = names.split(",")
    for i in range(1, len(parts)):
        a, b = (_find(folder, ",".join(half)) for half in (parts[:i], parts[i:]))
        if a and b:
            return a, b
    known = [str(path.relative_to(folder).with_suffix("")) for path in read_all(folder)]
    pairs = [f"{a},{b}" for a in known for b in known if a != b]
    near = difflib.get_close_matches(names, pairs, 1, 0)
    raise InputError(
        f"{names!r} does not name two runs on record in {folder}; give CORPUS/NAME of each with a "
        f"comma between them" + (f", e.g. {near[0]}." if near else ".")
    )


def _find(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / f"{name}.json", Path(name)) if p.is_file()), None)


def train_command(corpus: str, string: str) -> str:
    """The command that trains a configuration string, for the shell."""
    return command_line(f"--config=experiments/configs/{corpus}.py:{string}")


def command_line(*arguments: str) -> str:
    """The training launcher with these arguments, for the shell."""
    return shlex.join(["python", "experiments/train.py", *arguments])


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
        same = configuration.from_flat(summary["config"]) == run
    except InputError:  # no string of ours, or a summary of a version that had other fields
        return None
    return train_command(corpus, name) if same else None


def options(summary: Mapping[str, Any], name: str) -> list[str]:
    """What a run's configuration string says beside its model, its overrides included."""
    given = command(summary, name)
    string = _string(given) if given else name
    return string.split(",")[1:]


def title(config: Mapping[str, Any]) -> str:
    """MODEL-HEAD, and what else makes it another model, or another loss, than that usually is."""
    usual = configuration.flat_fields()
    other = [n for n in _TELLING if config.get(n, usual[n].default) != usual[n].default]
    return ",".join(
        [f"{recipes.model_name(config)}-{config['head']}", *(f"{n}={config[n]}" for n in other)]
    )


def labels(names: Sequence[str]) -> list[str]:
    """Configuration strings without the options that all share, if that leaves them apart."""
    parts = [name.split(",") for name in names]
    shared = set.intersection(*(set(options) for _, *options in parts))
    short = [",".join([m, *(o for o in options if o not in shared)]) for m, *options in parts]
    return short if len(set(short)) == len(short) else list(names)


def best_of_each(
    runs: Mapping[Path, Mapping[str, Any]], of: Callable[[Mapping[str, Any]], Hashable]
) -> dict[Any, tuple[Path, Mapping[str, Any]]]:
    """The run of lowest validation perplexity for everything that `of` says of a run, best first.

    Runs without a finished seed are left out.
    """
    best: dict[Any, tuple[Path, Mapping[str, Any]]] = {}
    scored = {path: run for path, run in runs.items() if by_seed(run)}
    for path, run in sorted(scored.items(), key=lambda item: item[1]["best_valid_ppl"]["mean"]):
        best.setdefault(of(run), (path, run))
    return best


def main_models(runs: Mapping[Path, Mapping[str, Any]]) -> dict[Path, Mapping[str, Any]]:
    """All but the Tying paper's models and the others that have its loss: TYING.md shows those."""
    return {
        path: run
        for path, run in runs.items()
        if run["config"]["preset"] != "tying" and not run["config"].get("augment")
    }


def model_on_text(run: Mapping[str, Any]) -> Hashable:
    """What `best_of_each` compares where one text's models are to stand once each."""
    return text(run), title(run["config"])


def vocabularies(runs: Mapping[Path, Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Every corpus and vocabulary size with a finished seed, for `best_by_title`."""
    found = {
        (r["config"]["corpus"], r["config"]["vocab_size"]) for r in runs.values() if by_seed(r)
    }
    order = list(recipes.CORPORA)
    return sorted(
        (of for of in found if of[0] in order), key=lambda of: (order.index(of[0]), of[1])
    )


def best_by_title(
    runs: Mapping[Path, Mapping[str, Any]], corpus: str, vocab_size: int = 2000
) -> dict[str, list[tuple[Path, Mapping[str, Any]]]]:
    """The best run of every title at every size; best titles first.

    The augmented loss on a model whose paper has none is left to TYING.md.

    Args:
      runs: by file; those without a finished seed are left out.
      corpus: of the runs that are asked for, of the whole of it.
      vocab_size: of them.
    """
    wanted = {
        path: run
        for path, run in runs.items()
        if (run["config"]["corpus"], run["config"]["vocab_size"]) == (corpus, vocab_size)
        and run["config"].get("part", "all") == "all"
        and (run["config"]["preset"] == "tying" or not run["config"].get("augment"))
    }

    def of(config):
        return title(config), tuple(config.get(name) for name in _SIZE)

    by_title: dict[str, list[tuple[Path, Mapping[str, Any]]]] = {}
    for (name, _), found in best_of_each(wanted, lambda run: of(run["config"])).items():
        by_title.setdefault(name, []).append(found)
    return by_title


def best_curves(
    models: Mapping[str, Sequence[tuple[Path, Mapping[str, Any]]]], most: int = 10
) -> dict[str, list[dict[str, Any]]]:
    """The curve of the best run of each of `best_by_title`'s models, of those that have one.

    Args:
      models: what `best_by_title` returns.
      most: as many as can be told apart in one picture; the best.
    """
    found = {title: curve(runs[0][0]) for title, runs in models.items()}
    return dict([(title, there) for title, there in found.items() if there][:most])


def text(run: Mapping[str, Any]) -> tuple[str, int, str]:
    """What a run's perplexity is of: the corpus or a part of it, V, and the text's hashes.

    Two texts of one name, as the help texts of two Pythons, are two texts.
    """
    config, content = run["config"], str(run["corpus"].get("sha256"))
    part = config.get("part", "all")
    name = Path(config["corpus"]).name + ("" if part == "all" else f" ({part} half)")
    return name, config["vocab_size"], content


def text_name(of: tuple[str, int, str]) -> str:
    """A `text` as it is called in prose."""
    return f"{of[0]}, {of[1]:,} words"


def by_seed(run: Mapping[str, Any], score: str = "best_valid_ppl") -> dict[int, float]:
    """A score of every seed that is finite."""
    found = zip(run["seeds"], run[score]["per_seed"], strict=True)
    return {seed: value for seed, value in found if value is not None}


def differences(a: Mapping[int, float], b: Mapping[int, float]) -> str:
    """a - b of every seed that both have, as it is told; "-" if there is none."""
    return ", ".join(f"{a[seed] - b[seed]:+.2f}" for seed in a if seed in b) or "-"


def seeds(run: Mapping[str, Any]) -> str:
    """How many seeds have finished, as it is told."""
    count = len(by_seed(run))
    return f"{count} seed{'' if count == 1 else 's'}"


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


def _string(given: str) -> str:
    """The options of a command as one string: those of its configuration, then its overrides."""
    words = shlex.split(given)
    strings = [w.partition(":")[2] for w in words if w.startswith("--config=")] or [""]
    overrides = [w.removeprefix("--config.") for w in words if w.startswith("--config.")]
    return ",".join([strings[0], *overrides])
