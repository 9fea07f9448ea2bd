"""A suite worked through: what is done is passed over, what was stopped goes on."""

import dataclasses
import functools
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax

from experiments.sweeps.estimate import Estimator, words
from experiments.sweeps.suites import Row
from rilm_jax import config, files, results, terminal, training
from rilm_jax.config import RunConfig
from rilm_jax.errors import InputError
from rilm_jax.results import trials
from rilm_jax.training import workdir as workdirs

LIMIT = 2 * 3600.0  # seconds a row may take where it is not left to a suite for GPUs


class Plan(NamedTuple):
    """What is left of a suite: rows to run with their seconds (None: unknown); rows too long.

    `basis` says what the seconds rest on, where that is not a run on this kind of device.
    """

    todo: list[tuple[Row, float | None]]
    too_long: list[tuple[Row, float]]
    done: int
    basis: str = ""

    def lines(self) -> list[str]:
        """As it is printed, in 80 columns."""
        time = f": {words(self.seconds)}{self.basis}" if self.todo else ""
        told = [f"{self.done} rows are done, {len(self.todo)} left{time}."]
        told += [line for row, s in self.todo for line in _lines(row, s)]
        if self.too_long:
            told.append("Left to a suite for GPUs, as they take more than two hours here:")
        return told + [line for row, s in self.too_long for line in _lines(row, s)]

    def without(self, row: Row) -> "Plan":
        """When that row is done, too, and what is too long has been told."""
        todo = [(other, s) for other, s in self.todo if other != row]
        return self._replace(todo=todo, too_long=[], done=self.done + 1)

    @property
    def seconds(self) -> float | None:
        """Of all rows left; None where one's is unknown."""
        times = [s for _, s in self.todo]
        return None if None in times else sum(s for s in times if s is not None)


def _lines(row: Row, seconds: float | None) -> list[str]:
    return terminal.item(f"  {words(seconds):<14} ", str(row.path()))


def includes(larger: RunConfig, run: RunConfig) -> bool:
    """Whether `larger` is `run`, or the same run with more seeds."""
    return _without_seeds(larger) == _without_seeds(run) and set(run.seeds) <= set(larger.seeds)


@functools.cache  # a plan compares every row with every other
def _without_seeds(run: RunConfig) -> RunConfig:
    """A run but for its seeds and for what changes no result; lanes are no seeds, and stay."""
    fields = config.flat_fields()
    free = {name: fields[name].default for name in workdirs.FREE_TO_DIFFER}
    return dataclasses.replace(run, seeds=run.seeds if run.rate_factors else (0,), **free)


def plan(
    rows: Sequence[Row],
    summaries: Iterable[Mapping[str, Any]],
    estimator: Estimator,
    *,
    limit: float | None = LIMIT,
    shortest_first: bool = False,
) -> Plan:
    """Part a suite into what is done, what is to run, and what takes longer than `limit`.

    A row that another row runs with more seeds is left to that one, and of equal rows the first is
    kept.
    """
    runs = {row: row.config() for row in rows}
    finished = [run for summary in summaries if (run := _config_of(summary))]
    rows = [row for i, row in enumerate(runs) if not _is_within_another(i, list(runs.values()))]
    left = [row for row in rows if not any(includes(run, runs[row]) for run in finished)]
    timed = [(row, estimator.seconds(runs[row])) for row in left]
    if shortest_first:
        timed.sort(key=lambda item: item[1] or estimator.amount(runs[item[0]]))
    too_long = [(row, s) for row, s in timed if limit and s and s > limit]
    todo = [(row, s) for row, s in timed if not (limit and s and s > limit)]
    return Plan(todo, too_long, len(rows) - len(left), estimator.basis)


def _config_of(summary: Mapping[str, Any]) -> RunConfig | None:
    try:
        return config.from_flat(summary["config"])
    except InputError:  # of a version that had other fields
        return None


def _is_within_another(i: int, runs: Sequence[RunConfig]) -> bool:
    """Whether another run includes the i-th; of runs that include each other, the first does."""
    return any(
        includes(other, runs[i]) and (j < i or not includes(runs[i], other))
        for j, other in enumerate(runs)
        if j != i
    )


def scores(done: Mapping[str, Any]) -> str:
    """Validation perplexity of a finished run as it is printed; of lanes, each one's."""
    if not done["config"].get("rate_factors"):
        return results.spread(done["best_valid_ppl"])
    lanes = trials.of_summary(done, "")
    return ", ".join(f"{results.number(t.valid)} at rate {t.learning_rate:g}" for t in lanes)


def run(
    work: Plan, *, runs: Path, folder: Path, readme: Path | None, data_dir: str | None = None
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Train the rows of a plan one after the other; each one's summary is on record when yielded.

    Args:
      work: what to run.
      runs: below it, the work directories, those of `experiments/train.py`.
      folder: the results, where summaries go.
      readme: the file with the table, if there is one.
      data_dir: where the corpora lie.

    Raises:
      InputError: a work directory that is of another configuration, or a record or README that
        cannot be written, before any row is run.
      Interrupted: a run was stopped; its checkpoint says where it goes on.
    """
    advice = "move that folder away or choose another --runs"
    for row, _ in work.todo:
        workdirs.check_owner(runs / row.path(), row.config(), advice)
    if work.todo:
        files.check_writable(folder, "choose another --results")
        results.stale(folder, readme)  # refuses a README without the table's place
    for row, _ in work.todo:
        workdir = runs / row.path()
        record = {"command": row.command()}
        done = training.run(row.config(), workdir, data_dir=data_dir, record=record)
        results.take_in([workdir], folder, readme)
        jax.clear_caches()  # programs of rows that are done would pile up
        yield row, done


@contextmanager
def stopping_after(minutes: float) -> Iterator[threading.Event]:
    """Ask for a stop, as Ctrl-C does, once the time is over (0: never), and set the event then."""
    over = threading.Event()

    def stop() -> None:
        over.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(60 * minutes, stop)
    timer.daemon = True
    if minutes:
        timer.start()
    try:
        yield over
    finally:
        timer.cancel()
