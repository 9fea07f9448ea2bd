"""A suite worked through: what is done is passed over, what was stopped goes on."""

import dataclasses
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
from rilm_jax import config, results, training
from rilm_jax.config import RunConfig
from rilm_jax.errors import InputError
from rilm_jax.training import workdir as workdirs

LIMIT = 2 * 3600.0  # seconds a row may take where it is not left to a suite for GPUs


class Plan(NamedTuple):
    """What is left of a suite: rows to run with their seconds (None: unknown); rows too long."""

    todo: list[tuple[Row, float | None]]
    too_long: list[tuple[Row, float]]
    done: int

    def lines(self) -> list[str]:
        """As it is printed."""
        told = [f"{self.done} rows are done, {len(self.todo)} left: {words(self.seconds)}."]
        told += [f"  {words(s):<14} {row.path()}" for row, s in self.todo]
        if self.too_long:
            told.append("Left to gpu-all, as they take more than two hours here:")
        told += [f"  {words(s):<14} {row.path()}" for row, s in self.too_long]
        return told

    @property
    def seconds(self) -> float | None:
        """Of all rows left; None where one's is unknown."""
        times = [s for _, s in self.todo]
        return None if None in times else sum(s for s in times if s is not None)


def covers(summary: Mapping[str, Any], run: RunConfig) -> bool:
    """Whether a summary is that of `run`, or of the same run with more seeds."""
    try:
        return _includes(config.from_flat(summary["config"]), run)
    except InputError:  # of a version that had other fields
        return False


def _includes(larger: RunConfig, run: RunConfig) -> bool:
    """Whether `larger` is `run`, or the same run with more seeds."""
    if run.rate_factors or larger.rate_factors:  # lanes are no seeds of one configuration
        enough = larger.seeds == run.seeds
    else:
        enough = set(run.seeds) <= set(larger.seeds)
    same = {"seeds": run.seeds, "chunk_steps": run.chunk_steps}
    return enough and dataclasses.replace(larger, **same) == run


def plan(
    rows: Sequence[Row],
    summaries: Iterable[Mapping[str, Any]],
    estimator: Estimator,
    *,
    limit: float | None = LIMIT,
    shortest_first: bool = False,
) -> Plan:
    """Part a suite into what is done, what is to run, and what takes longer than `limit`.

    A row that another row runs with more seeds is left to that one.
    """
    summaries, runs = list(summaries), {row: row.config() for row in rows}
    rows = [
        row
        for row, run in runs.items()
        if not any(_includes(other, run) for other in runs.values() if other is not run)
    ]
    left = [row for row in rows if not any(covers(s, runs[row]) for s in summaries)]
    if shortest_first:
        left.sort(key=lambda row: estimator.amount(runs[row]))
    timed = [(row, estimator.seconds(runs[row])) for row in left]
    too_long = [(row, s) for row, s in timed if limit and s and s > limit]
    todo = [(row, s) for row, s in timed if not (limit and s and s > limit)]
    return Plan(todo, too_long, len(rows) - len(left))


def run(
    work: Plan, *, runs: Path, folder: Path, readme: Path, data_dir: str | None = None
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Train the rows of a plan one after the other; each one's summary is on record when yielded.

    Args:
      work: what to run.
      runs: below it, the work directories, those of `experiments/train.py`.
      folder: the results, where summaries go.
      readme: the file with the table.
      data_dir: where the corpora lie.

    Raises:
      InputError: a work directory that is of another configuration, before any row is run.
      Interrupted: a run was stopped; its checkpoint says where it goes on.
    """
    for row, _ in work.todo:
        workdirs.check_owner(runs / row.path(), row.config())
    for row, _ in work.todo:
        workdir = runs / row.path()
        record = {"command": row.command()}
        done = training.run(row.config(), workdir, data_dir=data_dir, record=record)
        results.take_in([workdir], folder, readme, below=row.folder)
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
