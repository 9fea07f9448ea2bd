"""Measures steps, seeds, generation, scaling, and the same models in PyTorch.

Each suite takes a few minutes on two cores and wants them to itself:
  python experiments/benchmark.py --suite=cpu
  python experiments/benchmark.py --suite=scaling
  python experiments/benchmark.py --suite=peers    (needs the `bench` extra)
  python experiments/benchmark.py --suite=gpu      (one GPU, and WikiText-2)

The tables of a suite measured before; a try at tiny sizes, which leaves no
record:
  python experiments/benchmark.py --suite=cpu --show
  python experiments/benchmark.py --suite=cpu --quick

A record goes to experiments/results/benchmarks, SUITE.json and its tables,
SUITE.md.
"""

import sys
from pathlib import Path

from absl import flags

from rilm_jax import commandline, files
from rilm_jax.errors import InputError

_PROJECT = Path(__file__).resolve().parents[1]
_SUITE = flags.DEFINE_enum("suite", None, ["cpu", "gpu", "scaling", "peers"], "what to measure")
_QUICK = flags.DEFINE_bool("quick", False, "tiny sizes, to see that it works")
_SHOW = flags.DEFINE_bool("show", False, "print the suite's record and measure nothing")
_REPEATS = flags.DEFINE_integer("repeats", 0, "of every row; 0: as the suite says", lower_bound=0)
_OUT = flags.DEFINE_string(
    "out", None, "folder of the records (default: the project's experiments/results/benchmarks)"
)
_DATA_DIR = flags.DEFINE_string("data_dir", None, "gpu: folder with WikiText-2 (or RILM_DATA_DIR)")


def main() -> None:
    suite = commandline.required(_SUITE, "cpu")
    folder = Path(_OUT.value or _PROJECT / "experiments" / "results" / "benchmarks")
    path = folder / f"{suite}.json"
    if str(_PROJECT) not in sys.path:  # the benchmark is no part of the installed package
        sys.path.insert(0, str(_PROJECT))

    from experiments.benchmarks import report

    if _SHOW.value:
        if not path.is_file():
            raise InputError(f"{path} is not there; measure the suite first, without --show.")
        print(files.show_record(path, report.markdown, "measure the suite again"))
        return
    keep = bool(_OUT.value) or not _QUICK.value
    if keep:
        files.check_writable(folder, "choose another --out")

    from experiments.benchmarks import suites  # here, so that --help need not wait for JAX

    record = suites.run(suite, quick=_QUICK.value, repeats=_REPEATS.value, data_dir=_DATA_DIR.value)
    print(report.markdown(record))
    if "not_run" in record and path.exists():
        return  # what was measured where there is one stays
    if keep:
        files.write_record(path, record, report.page(record))
        print(f"\n{path}")


if __name__ == "__main__":
    commandline.run(main)
