"""Plain tables for a terminal of 80 columns."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rilm_jax.results import number, spread

#: The floors of a summary, as they are called.
FLOORS = {"unigram": "unigram", "kn5": "5-gram"}

_WIDTH = 80


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table of at most 80 columns: the first column to the left, the others to the right.

    Where the columns are too wide, the first is cut, as the others hold numbers.
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths[0] = max(4, min(widths[0], _WIDTH - sum(w + 2 for w in widths[1:])))

    def line(cells: Sequence[str]) -> str:
        first = cells[0] if len(cells[0]) <= widths[0] else cells[0][: widths[0] - 3] + "..."
        rest = (cell.rjust(w) for cell, w in zip(cells[1:], widths[1:], strict=True))
        return "  ".join([first.ljust(widths[0]), *rest]).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([line(header), rule, *map(line, rows)])


def item(label: str, name: str) -> list[str]:
    """`label` and a name, the latter broken behind its commas where the width asks for it."""
    lines = [label]
    for part in re.findall(r"[^,]*,|[^,]+$", name):
        if len(lines[-1]) + len(part) > _WIDTH and lines[-1].strip() not in ("", label.strip()):
            lines.append(" " * len(label))
        lines[-1] += part
    return lines


def summary_table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Perplexities at the best-validation epoch, mean and standard deviation over the seeds.

    Lanes (`rate_factors`) have a row each. The runs share a corpus and a vocabulary, whose n-gram
    floors stand above them, that of the test split where the first run has told it.

    Args:
      summaries: what `rilm_jax.training.run` returns, by the name to print.
    """
    header = ["model", "parameters", "valid ppl", "valid non-<unk>", "test ppl", "seconds"]
    first = next(iter(summaries.values()))
    valid, test = first["floor"], first.get("test_floor") or {}
    rows = [
        [label, "", *map(number, (valid[key], valid[f"{key}_non_unk"], test.get(key))), ""]
        for key, label in FLOORS.items()
    ]
    shown = ("best_valid_ppl", "best_valid_ppl_non_unk", "test_ppl")
    for label, summary in summaries.items():
        lanes = _lanes(summary.get("config", {}))
        scores = [summary[name] for name in shown]
        means = ["" if lanes else spread(score) for score in scores]
        size, seconds = f"{summary['params']['total']:,}", f"{summary['wall_seconds']:.0f}"
        rows.append([label, size, *means, seconds])
        for i, lane in enumerate(lanes):
            rows.append([f"  {lane}", "", *(number(score["per_seed"][i]) for score in scores), ""])
    return table(header, rows)


def _lanes(values: Mapping[str, Any]) -> list[str]:
    """What to call each lane of a flat configuration; none where its seeds are seeds."""
    factors = values.get("rate_factors")
    if not factors:
        return []
    return [f"seed {s}, rate x {f:g}" for s, f in zip(values["seeds"], factors, strict=True)]


def candidates_table(
    position: int, drawn: str, radius: float, candidates: Any, unk: float | None = None
) -> str:
    """What one word was drawn from: a line on the context, and a line a candidate.

    Args:
      position: of the word in the text, from 1.
      drawn: the word.
      radius: of the context.
      candidates: `rilm_jax.analysis.Candidates`.
      unk: the probability of `<unk>`, if it is not drawn.
    """
    distances = candidates.distance
    if distances is None:
        distances = [None] * len(candidates.words)
    rows = [
        [
            f"{'>' if word == drawn else ' '} {word}",
            f"{p:.4f}",
            "-" if d is None else f"{d:.3f}",
            f"{r:.3f}",
        ]
        for word, p, d, r in zip(
            candidates.words, candidates.probability, distances, candidates.radius, strict=True
        )
    ]
    if unk is not None:
        rows.append(["  <unk>, not drawn", f"{unk:.4f}", "", ""])
    title = f"word {position} (context |log_0 h| {radius:.3f})"
    return table([title, "probability", "distance", "|log_0 e|"], rows)
