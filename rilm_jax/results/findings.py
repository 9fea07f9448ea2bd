"""What five seeds show: pairs that differ in their geometry or their head, compared in words.

Each model stands with the best of its recipes that has so many seeds. A sentence rests on paired
intervals over at least `WHOLE` seeds, on validation and on test, and claims a difference where both
show it; there is one for every such pair on record, whichever way it falls.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rilm_jax import recipes
from rilm_jax.presets import RILMS
from rilm_jax.results import record
from rilm_jax.results.record import number
from rilm_jax.results.table import WHOLE, shown_options

_SCORE = "best_valid_ppl"
_SPLITS = {"validation": _SCORE, "test": "test_ppl"}


def sentences(runs: Mapping[Path, Mapping[str, Any]]) -> list[str]:
    """The best run beside its floor for each text and vocabulary, then the pairs.

    Args:
      runs: summaries by their file, CORPUS/NAME.json.
    """
    found = [(_facts(run, path.stem), run) for path, run in runs.items() if record.by_seed(run)]
    found.sort(key=lambda run: (run[0]["text"], run[1][_SCORE]["mean"]))
    told = []
    for text, group in itertools.groupby(found, key=lambda run: run[0]["text"]):
        every = list(group)
        of_text = _best_of_each([run for run in every if len(record.by_seed(run[1])) >= WHOLE])
        if not of_text:
            continue
        told.append(f"{record.text_name(text)}: {_best(of_text, every)}")
        pairs = itertools.combinations(of_text, 2)
        told += [
            f"{record.text_name(text)}: {_compared(a, b)}" for a, b in pairs if _are_a_pair(a, b)
        ]
    return told


def five_seeds(runs: Mapping[Path, Mapping[str, Any]]) -> str:
    """`sentences` as a list; "" where there are none."""
    line = (
        "What five seeds show (95 % paired intervals; each model by its best recipe that has five "
        "seeds, which its options tell where it is not the tuned one):"
    )
    told = "\n".join(f"- {sentence}" for sentence in sentences(runs))
    return f"{line}\n\n{told}\n" if told else ""


def _facts(run: Mapping[str, Any], name: str) -> dict[str, Any]:
    config = run["config"]
    others = record.title(config).split(",")[1:]
    return {
        "text": record.text(run),
        "model": recipes.model_name(config),
        "head": config["head"],
        "rest": (config["preset"], config["init"], config["dim"], *others),
        "options": (config["preset"], *shown_options(run, name)),
    }


def _best_of_each(of_text: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The first run of every model, of runs in the order of their scores."""
    best: dict[Any, tuple[Any, Any]] = {}
    for facts, run in of_text:
        best.setdefault((facts["model"], facts["head"], facts["rest"]), (facts, run))
    return list(best.values())


def _are_a_pair(a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
    """Whether two runs differ in geometry alone, or in the head alone, over enough equal seeds."""
    (one, run), (other, other_run) = a, b
    if (
        one["rest"] != other["rest"]
        or len(record.by_seed(run).keys() & record.by_seed(other_run).keys()) < WHOLE
    ):
        return False
    models = {one["model"], other["model"]}
    return (models == set(RILMS) and one["head"] == other["head"]) or (
        len(models) == 1 and one["head"] != other["head"]
    )


def _label(facts: Mapping[str, Any]) -> str:
    preset, *options = facts["options"]
    told = ([] if preset == "tuned" else [preset]) + options
    return f"{facts['model']}-{facts['head']}" + (f" ({', '.join(told)})" if told else "")


def _best(of_text: Sequence[tuple[Any, Any]], every: Sequence[tuple[Any, Any]]) -> str:
    """The best model of five seeds beside its floor, and what has fewer and is lower still."""
    facts, run = of_text[0]
    mean, floor = run[_SCORE]["mean"], run["floor"]["kn5"]
    sentence = f"{_label(facts)} has the lowest validation perplexity, {number(mean)}"
    if len(of_text) > 1:
        sentence += f", of the {len(of_text)} models with five seeds"
    if floor is not None:
        where = "below" if mean < floor else "above"
        sentence += f"; {number(abs(mean - floor))} {where} the 5-gram's {number(floor)}"
    lower = [(f, r) for f, r in every if r[_SCORE]["mean"] < mean]
    if lower:
        shown = [f"{_label(f)} {number(r[_SCORE]['mean'])}" for f, r in _best_of_each(lower)]
        sentence += f". Lower, with fewer seeds: {', '.join(shown)}"
    return f"{sentence}."


def _compared(a: tuple[Any, Any], b: tuple[Any, Any]) -> str:
    from rilm_jax.results import comparison  # here, as SciPy takes a while

    found = comparison.summaries(a[1], b[1])
    intervals = {name: found[key] for name, key in _SPLITS.items() if key in found}
    signs = {interval.sign for interval in intervals.values()}
    shown = [name for name, interval in intervals.items() if interval.sign]
    one, other = _label(a[0]), _label(b[0])
    if signs in ({-1}, {1}):
        said = f"{one} is {'lower' if signs == {-1} else 'higher'} than {other}"
    elif len(shown) == 1:
        said = f"{one} and {other} differ on {shown[0]} alone (inconclusive)"
    else:
        said = f"no difference is shown between {one} and {other}"
    told = [f"{n} {i.mean:+.2f} ({i.low:+.2f} to {i.high:+.2f})" for n, i in intervals.items()]
    return f"{said}: {', '.join(told)}."
