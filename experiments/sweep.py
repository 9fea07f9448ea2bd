"""Runs the rows of a suite one by one, and takes each into the record.

What is left of a suite, and how long it will take:
  python experiments/sweep.py --suite=controls --plan

Run it; for an hour only (a row that is stopped goes on with the same command):
  python experiments/sweep.py --suite=controls
  python experiments/sweep.py --suite=gpu-all --max_minutes=60

The trials of equal tuning, and what they found:
  python experiments/sweep.py --suite=tune
  python experiments/table.py

Summaries go to experiments/results, those of trials to its folder tune, and
work directories to runs/, as those of train.py do. A row that would take more
than two hours is left to gpu-all, which runs everything, trials too, the
shortest rows first, or to tying-gpu, the Tying paper's tables.
"""

import sys
from pathlib import Path

from absl import flags

from rilm_jax import commandline, results

_PROJECT = Path(__file__).resolve().parents[1]
_SUITE = flags.DEFINE_enum(
    "suite",
    None,
    [
        *("table3", "ptb", "vocab10k", "ablations", "controls", "dims", "tune", "tying"),
        *("gpu-all", "tying-gpu"),
    ],
    "which rows",
)
_MAX_MINUTES = flags.DEFINE_float("max_minutes", 0, "stop after this; 0: never", lower_bound=0)
_PLAN = flags.DEFINE_bool("plan", False, "say what is left and run nothing")
_RUNS = flags.DEFINE_string("runs", "runs", "parent folder of the work directories")
_RESULTS = flags.DEFINE_string(
    "results", None, "folder of the summaries (default: the project's experiments/results)"
)
_README = flags.DEFINE_string(
    "readme", None, "file with the table (default: the project's, or with --results none)"
)
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the corpora (or RILM_DATA_DIR)")


def main() -> None:
    suite = commandline.required(_SUITE, "controls")
    folder, readme = commandline.record_paths(_RESULTS, _README, _PROJECT)
    if str(_PROJECT) not in sys.path:  # the suites are no part of the installed package
        sys.path.insert(0, str(_PROJECT))

    from experiments.sweeps import runner, suites  # here, so that --help need not wait for JAX
    from experiments.sweeps.estimate import Estimator, OnGPU

    for_gpu = suite in suites.FOR_GPU
    summaries = list(results.read_all(folder).values())
    plan = runner.plan(
        suites.SUITES[suite](),
        summaries,
        (OnGPU if for_gpu else Estimator)(summaries, _DATA_DIR.value),
        limit=None if for_gpu else runner.LIMIT,
        shortest_first=for_gpu,
    )
    print("\n".join(plan.lines()))
    if _PLAN.value:
        return
    with runner.stopping_after(_MAX_MINUTES.value) as over:
        try:
            for row, done in runner.run(
                plan, runs=Path(_RUNS.value), folder=folder, readme=readme, data_dir=_DATA_DIR.value
            ):
                plan = plan.without(row)
                scores = runner.scores(done)
                print(f"{row.path()}: valid {scores}; {len(plan.todo)} rows left", flush=True)
                if over.is_set():  # too late for the row to be stopped
                    break
        except KeyboardInterrupt:
            if not over.is_set():
                print("\n".join(plan.lines()))
                raise
    if plan.todo:
        print(f"{_MAX_MINUTES.value:g} minutes are over; the same command goes on.")
        print("\n".join(plan.lines()))


if __name__ == "__main__":
    commandline.run(
        main, interrupted="Interrupted; the same command goes on where this one stopped."
    )
