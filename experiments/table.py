"""Makes the tables of results from the summaries in experiments/results.

Bring experiments/results/RESULTS.md and the README's table up to date:
  python experiments/table.py

Take a finished run's summary into the record first, as CORPUS/NAME.json (a
trial: tune/CORPUS/...):
  python experiments/table.py --collect=runs/wikitext2/hyprilm

Is A better than B? The difference seed by seed, with its 95 % interval
(CORPUS/NAME of each):
  python experiments/table.py \\
    --compare=ptb/hyprilm,ptb/flatrilm,learning_rate=4e-3

Leave with status 2 where a table is not what the summaries give:
  python experiments/table.py --check
"""

from pathlib import Path

from absl import flags

from rilm_jax import commandline, results, terminal
from rilm_jax.errors import InputError

_PROJECT = Path(__file__).resolve().parents[1]
_COLLECT = flags.DEFINE_multi_string(
    "collect", [], "work directory whose summary is taken in; may be repeated"
)
_CHECK = flags.DEFINE_bool("check", False, "change nothing and say whether the tables are current")
_COMPARE = flags.DEFINE_string("compare", None, "A,B: two runs on record; changes nothing")
_RESULTS = flags.DEFINE_string(
    "results", None, "folder of the summaries (default: the project's experiments/results)"
)
_README = flags.DEFINE_string(
    "readme", None, "file with the markers (default: the project's, or with --results none)"
)


def main() -> None:
    folder, readme = commandline.record_paths(_RESULTS, _README, _PROJECT)
    if _COMPARE.value:
        if _CHECK.value or _COLLECT.value:
            raise InputError("--compare stands alone; leave out --check and --collect.")
        _compare(folder, _COMPARE.value)
        return
    if _CHECK.value:
        if _COLLECT.value:
            raise InputError("--check changes nothing, so --collect cannot stand beside it.")
        stale = results.stale(folder, readme)
        if stale:
            names = " and ".join(path.name for path in stale)
            verb = "differs" if len(stale) == 1 else "differ"
            raise InputError(f"{names} {verb} from the summaries; run python experiments/table.py.")
        return
    for path in results.take_in(_COLLECT.value, folder, readme):
        print(path)


def _compare(folder: Path, names: str) -> None:
    from rilm_jax.results import comparison  # here, as SciPy takes a while

    paths = results.find_two(folder, names)
    a, b = map(results.read, paths)
    found = comparison.summaries(a, b)  # refuses two that cannot be compared
    for letter, path, run in zip("AB", paths, (a, b), strict=True):
        dead = sorted({seed for score in found for seed in comparison.unfinished(run, score)})
        without = f" (no finite score: seed {', '.join(map(str, dead))})" if dead else ""
        print(f"{letter}: {path.parent.name}/{path.stem}{without}")
    rows = []
    for score, interval in found.items():
        said = {-1: "A is lower", 0: "no difference shown", 1: "B is lower"}[interval.sign]
        rows.append(
            [
                score.removeprefix("best_").replace("_ppl", "").replace("_non_unk", ", non-<unk>"),
                f"{interval.mean:+.2f}",
                f"{interval.low:+.2f} to {interval.high:+.2f}",
                str(interval.n),
                said if interval.n >= results.WHOLE else "fewer than five seeds",
            ]
        )
    print(terminal.table(["perplexity", "A - B", "95 % interval", "seeds", ""], rows))


if __name__ == "__main__":
    commandline.run(main)
