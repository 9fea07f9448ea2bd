"""Makes the tables of results from the summaries in experiments/results.

Bring experiments/results/RESULTS.md and the README's table up to date:
  python experiments/table.py

Take a finished run's summary into the record first, as CORPUS/NAME.json:
  python experiments/table.py --collect=runs/wikitext2/hyprilm

Leave with status 2 where a table is not what the summaries give:
  python experiments/table.py --check
"""

from pathlib import Path

from absl import flags

from rilm_jax import commandline, results
from rilm_jax.errors import InputError

_PROJECT = Path(__file__).resolve().parents[1]
_COLLECT = flags.DEFINE_multi_string(
    "collect", [], "work directory whose summary is taken in; may be repeated"
)
_CHECK = flags.DEFINE_bool("check", False, "change nothing and say whether the tables are current")
_RESULTS = flags.DEFINE_string(
    "results", None, "folder of the summaries (default: the project's experiments/results)"
)
_README = flags.DEFINE_string("readme", None, "file with the markers (default: the project's)")


def main() -> None:
    folder = Path(_RESULTS.value or _PROJECT / "experiments" / "results")
    readme = Path(_README.value or _PROJECT / "README.md")
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


if __name__ == "__main__":
    commandline.run(main)
