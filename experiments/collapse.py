"""Measures which recurrences run to the boundary of the ball, and the cost.

Each of mobius, projected and naive, under both initialisations and both artanh
guards, is trained for one epoch by the paper's recipe; |h| after 1 .. 8 words
is measured before and after. Writes CORPUS.json, CORPUS.md and CORPUS.png into
experiments/results/collapse:
  python experiments/collapse.py
  python experiments/collapse.py --corpus=ptb --workdir=runs/collapse-ptb

A run that was stopped goes on with the same command; rows that are done are not
run again.
"""

import shlex
from pathlib import Path

from absl import flags

from rilm_jax import commandline, config, files, recipes

_CORPUS = flags.DEFINE_enum("corpus", "wikitext2", ["wikitext2", "ptb"], "trained and measured on")
_WORKDIR = flags.DEFINE_string("workdir", "runs/collapse", "folder of the runs")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the corpus (or RILM_DATA_DIR)")
_OUT = flags.DEFINE_string(
    "out", None, "folder of the record (default: the project's experiments/results/collapse)"
)
_STEPS = flags.DEFINE_integer("steps", 8, "words read in the measurement", lower_bound=1)

_SEED, _WINDOWS = 42, 128
_RESULTS = Path(__file__).resolve().parent / "results" / "collapse"
_GRID = [
    (recurrence, init, guard)
    for init in ("plain", "contractive")
    for guard in ("gap", "clip")
    for recurrence in ("mobius", "projected", "naive")
]


def main() -> None:
    import jax

    from rilm_jax import build, checkpoint, data, rng, training
    from rilm_jax.analysis import collapse, figures
    from rilm_jax.training import summary

    path = Path(_OUT.value or _RESULTS) / f"{_CORPUS.value}.json"
    files.check_writable(path.parent, "choose another --out")
    rows = []
    for recurrence, init, guard in _GRID:
        string = f"hyprilm,preset=paper,recurrence={recurrence},init={init},guard={guard}"
        string += f",num_epochs=1,seeds={_SEED}"
        run = config.from_flat(recipes.recipe(_CORPUS.value, string))
        folder = Path(_WORKDIR.value) / _CORPUS.value / recipes.name(string)
        done = training.run(run, folder, data_dir=_DATA_DIR.value)
        corpus = data.load(_CORPUS.value, run.model.vocab_size, data_dir=_DATA_DIR.value)
        windows = data.windows(corpus.valid, _STEPS.value).inputs[:_WINDOWS]
        model = build(run.model)
        _, params = checkpoint.load(folder, "last", seed=_SEED)
        fresh = model.init(rng.key(_SEED, rng.INIT))
        rows.append(
            {
                "recurrence": recurrence,
                "init": init,
                "guard": guard,
                "config": string,
                "untrained": collapse.norms_by_step(model, fresh, windows),
                "trained": collapse.norms_by_step(model, params, windows),
                "valid_ppl": done["final_valid_ppl"]["mean"],
            }
        )
        jax.clear_caches()  # a compiled program a row would pile up
    arguments = [f"--{flag.name}={flag.value}" for flag in (_CORPUS, _STEPS)]
    record = {"command": shlex.join(["python", "experiments/collapse.py", *arguments])}
    record |= {"seed": _SEED, "rows": rows, **summary.circumstances()}
    table = collapse.table(rows)
    page = (
        f"# Recurrences and the boundary, {_CORPUS.value}\n\n"
        f"Made by `{record['command']}`, seed {_SEED}, paper preset, one epoch; |h| is the mean of "
        f"sqrt(c) |h| over {_WINDOWS} validation windows.\n\n{table}\n"
        f"![|h| by step]({_CORPUS.value}.png)\n"
    )
    files.write_record(path, record, page)
    figures.save(collapse.plot(rows), path.with_suffix(".png"))
    print(table)


if __name__ == "__main__":
    commandline.run(main)
