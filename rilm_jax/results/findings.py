"""What five seeds show: runs that differ in their geometry or their head alone, compared in words.

A sentence rests on a paired interval over at least `WHOLE` seeds, and there is one for every such
pair on record, whichever way it falls.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rilm_jax.results.record import model_name, number
from rilm_jax.results.table import WHOLE, shown_options

_SCORE = "best_valid_ppl"
_RILMS = {"hyprilm", "flatrilm"}


def sentences(runs: Mapping[Path, Mapping[str, Any]]) -> list[str]:
    """The best run beside its floor for each text and vocabulary, then the pairs.

    Args:
      runs: summaries by their file, CORPUS/NAME.json.
    """
    whole = [(_facts(run, path.stem), run) for path, run in runs.items() if _seeds(run) >= WHOLE]
    whole.sort(key=lambda found: (found[0]["text"], found[1][_SCORE]["mean"]))
    told = []
    for text, group in itertools.groupby(whole, key=lambda found: found[0]["text"]):
        of_text = list(group)
        told.append(_best(text, *of_text[0]))
        pairs = itertools.combinations(of_text, 2)
        told += [_compared(text, a, b) for a, b in pairs if _alike(a[0], b[0])]
    return told


def markdown(runs: Mapping[Path, Mapping[str, Any]]) -> str:
    """The sentences as a list under a line of their own; "" where there is none."""
    told = sentences(runs)
    if not told:
        return ""
    lines = "\n".join(f"- {sentence}" for sentence in told)
    return f"What five seeds show, by validation perplexity:\n\n{lines}\n"


def _seeds(run: Mapping[str, Any]) -> int:
    return sum(value is not None for value in run[_SCORE]["per_seed"])


def _facts(run: Mapping[str, Any], name: str) -> dict[str, Any]:
    config = run["config"]
    return {
        "text": (Path(config["corpus"]).name, config["vocab_size"]),
        "model": model_name(config),
        "head": config["head"],
        "rest": (config["preset"], *shown_options(run, name)),
    }


def _alike(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two runs differ in geometry alone, or in the head alone."""
    if a["rest"] != b["rest"]:
        return False
    models = {a["model"], b["model"]}
    return (models == _RILMS and a["head"] == b["head"]) or (
        len(models) == 1 and a["head"] != b["head"]
    )


def _label(facts: Mapping[str, Any]) -> str:
    preset, *options = facts["rest"]
    told = ([] if preset == "tuned" else [preset]) + options
    return f"{facts['model']}-{facts['head']}" + (f" ({', '.join(told)})" if told else "")


def _best(text: tuple[str, int], facts: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    mean, floor = run[_SCORE]["mean"], run["floor"]["kn5"]
    sentence = f"{text[0]}, {text[1]:,} words: {_label(facts)} is the best at {number(mean)}"
    if floor is None:
        return f"{sentence}."
    where = "below" if mean < floor else "above"
    return f"{sentence}, {number(abs(mean - floor))} {where} the 5-gram's {number(floor)}."


def _compared(text: tuple[str, int], a: tuple[Any, Any], b: tuple[Any, Any]) -> str:
    from rilm_jax import comparison  # here, as it imports SciPy and this package

    found = comparison.summaries(a[1], b[1])[_SCORE]
    one, other = _label(a[0]), _label(b[0])
    between = f"95 % interval {found.low:+.2f} to {found.high:+.2f}, {found.n} seeds"
    if found.sign:
        verdict = "lower" if found.sign < 0 else "higher"
        said = f"{one} is {number(abs(found.mean))} {verdict} than {other}"
    else:
        said = f"no difference is shown between {one} and {other}"
    return f"{text[0]}, {text[1]:,} words: {said} ({between})."
