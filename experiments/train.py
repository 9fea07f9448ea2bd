"""Trains language models and prints their perplexity beside the n-gram floors.

Both RiLMs on the embedded corpus (minutes on two cores), in runs/quickstart:
  python experiments/train.py

One model of one corpus, CORPUS.py:MODEL[-HEAD][,key=value...]:
  python experiments/train.py --config=experiments/configs/wikitext2.py:hyprilm
  python experiments/train.py --config=experiments/configs/ptb.py:flatrilm-tied
  python experiments/train.py --config=experiments/configs/text.py:flatrilm,data=NAME.txt

Another recipe, by keys of the string; one field changed after it:
  python experiments/train.py --config=experiments/configs/ptb.py:hyprilm,preset=paper
  python experiments/train.py --config=experiments/configs/pydoc.py:hyprilm \\
      --config.num_epochs=2 --config.seeds="(42,43)"

A backbone of your own, from a file that registers it (see the README):
  python experiments/train.py --register=FILE.py \\
      --config=experiments/configs/pydoc.py:gru-geodesic

Watched in TensorBoard (events go to the work directory):
  python experiments/train.py --config=experiments/configs/pydoc.py:hyprilm --tensorboard

Every corpus, model, head and key:
  python experiments/train.py --list
"""

import functools
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from absl import flags
from ml_collections import config_flags

from rilm_jax import commandline, config, recipes, terminal
from rilm_jax.results import number

_CONFIG = config_flags.DEFINE_config_file(
    "config", help_string="configuration file and string; absent: both RiLMs on pydoc"
)
_WORKDIR = flags.DEFINE_string(
    "workdir", None, "folder of the run (default runs/CORPUS/NAME, of both runs/quickstart)"
)
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the corpus (or RILM_DATA_DIR)")
_DOWNLOAD = flags.DEFINE_bool("download", False, "fetch a corpus that is not there")
_TENSORBOARD = flags.DEFINE_bool("tensorboard", False, "write TensorBoard events, too")
_LIST = flags.DEFINE_bool("list", False, "print every corpus, model, head and key, and leave")
flags.declare_key_flag("register")

_QUICKSTART = ("hyprilm", "flatrilm")
_QUICKSTART_CONFIG = str(Path(__file__).resolve().parent / "configs" / "pydoc.py")


def main() -> None:
    if _LIST.value:
        print(recipes.listing())
        return
    changed = commandline.overrides()
    if _CONFIG.present:
        workdir = Path(_WORKDIR.value) if _WORKDIR.value else commandline.default_workdir()
        runs = {workdir: commandline.run_config(_CONFIG.value)}
    else:
        parent = Path(_WORKDIR.value or "runs/quickstart")
        runs = {
            parent / model: config.from_flat(recipes.recipe("pydoc", model) | changed)
            for model in _QUICKSTART
        }

    for run in runs.values():
        recipes.check_read(changed, config.to_flat(run))

    # Here, so that --help and refusals need not wait for JAX.
    from rilm_jax import trained, training

    record = {"command": commandline.command()}
    summaries, before = {}, []
    for workdir, run in runs.items():
        if trained.has_ended(workdir):
            before.append(workdir.name)
        elif len(runs) > 1 and sys.stderr.isatty():
            print(workdir.name, file=sys.stderr)  # whose progress is drawn below it
        summaries[workdir.name] = training.run(
            run,
            workdir,
            data_dir=_DATA_DIR.value,
            download=_DOWNLOAD.value,
            record=record,
            listener=_listener(workdir),
        )
    run, summary = next(iter(runs.values())), next(iter(summaries.values()))
    seeds = f"{len(run.seeds)} seed{'s' if len(run.seeds) > 1 else ''}"
    print(
        f"{run.corpus}, {run.model.vocab_size} words: perplexity at the best validation epoch, "
        f"{seeds}"
    )
    if (share := summary["corpus"].get("unk_share")) is not None:
        print(f"<unk>, all other words, is {share:.1%} of the validation targets")
    print("\n" + terminal.summary_table(summaries))
    print("\n" + "\n".join(str(workdir / "summary.json") for workdir in runs))
    if before:
        print(f"\nFinished before, not run again: {', '.join(before)}.")
    for name, summary in summaries.items():
        if said := _advice(name, summary, run.num_epochs):
            print("\n" + textwrap.fill(said, 80, break_long_words=False, break_on_hyphens=False))


def _advice(name: str, summary: Mapping[str, Any], epochs: int) -> str | None:
    """What to do about a model that is above a floor; the lowest it is above is named."""
    score, floor = summary["best_valid_ppl"]["mean"], summary["floor"]
    bars = {
        "unigram": f"{summary['steps']:,} steps taught it less than how often words occur",
        "kn5": "counts of five words in a row tell more of this text",
    }
    for bar, so in bars.items():
        if score is not None and floor[bar] is not None and score > floor[bar]:
            return (
                f"{name} is above the {terminal.FLOORS[bar]}: {so}; give it more text, or more "
                f"epochs, as in --config.num_epochs={2 * epochs} with another --workdir."
            )
    return None


def _listener(workdir: Path) -> Callable[[Mapping[str, Any]], None]:
    """Events where they are asked for, and lines for a log where no bar is drawn."""
    listeners = []
    if _TENSORBOARD.value:
        from rilm_jax.training import events

        listeners.append(events.tensorboard(workdir))
    if not sys.stderr.isatty():
        listeners.append(functools.partial(_log, workdir))

    def tell(record: Mapping[str, Any]) -> None:
        for listener in listeners:
            listener(record)

    return tell


def _log(workdir: Path, record: Mapping[str, Any]) -> None:
    if record["split"] == "valid":
        scores = ", ".join(map(number, record["ppl"]))
        told = f"{workdir}: epoch {record['epoch']}, validation perplexity {scores}"
        print(told, file=sys.stderr, flush=True)


if __name__ == "__main__":
    commandline.run(
        main,
        default_config=_QUICKSTART_CONFIG,
        interrupted="Interrupted; the same command goes on from the last checkpoint.",
    )
