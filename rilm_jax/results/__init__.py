"""The record of finished runs, and the pages made from it.

experiments/results/CORPUS/NAME.json        a run's summary.json; when a recipe changes, its
                                            command is respelled so that it gives the same run
experiments/results/CORPUS/NAME.jsonl       its metrics.jsonl: scores epoch by epoch
experiments/results/RESULTS.md              every run, a row each
experiments/results/TYING.md                the Tying paper's variants, and its loss elsewhere
experiments/results/tune/CORPUS/NAME.json   short runs that only chose a recipe
experiments/results/tune/TRIALS.md          what each of them gave
README.md                                   that table in brief, between two markers
"""

from rilm_jax.results.pages import BEGIN, END, stale, take_in, write
from rilm_jax.results.record import (
    best_by_title,
    best_curves,
    command,
    command_line,
    curve,
    find_two,
    labels,
    main_models,
    number,
    read,
    read_all,
    spread,
    title,
    train_command,
    vocabularies,
)
from rilm_jax.results.table import HEADER, WHOLE, brief, markdown, rows
from rilm_jax.summaries import SCORES

__all__ = [
    "BEGIN",
    "END",
    "HEADER",
    "SCORES",
    "WHOLE",
    "best_by_title",
    "best_curves",
    "brief",
    "command",
    "command_line",
    "curve",
    "find_two",
    "labels",
    "main_models",
    "markdown",
    "number",
    "read",
    "read_all",
    "rows",
    "spread",
    "stale",
    "take_in",
    "title",
    "train_command",
    "vocabularies",
    "write",
]
