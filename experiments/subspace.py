"""Measures how the augmented loss brings W into the space of the embedding L.

A two-layer LSTM of 300 units with a linear head and word vectors of length 1
learns the first 20,000 words of Penn Treebank under `beta J_aug T^2 |V| + (1 -
beta) J`, T = 10, for several beta; then comes the distance between the spaces
of W and L. This is the validation experiment of "Tying Word Vectors and Word
Classifiers" (1611.01462, section 5.1), in which the distance falls from near 1
at beta = 0 to 0.06 at beta = 1. Writes ptb.json, ptb.md and ptb.png into
experiments/results/subspace:
  python experiments/subspace.py
  python experiments/subspace.py --betas=0,0.5,1

A run that was stopped goes on with the same command; rows that are done are not
run again.
"""

import contextlib
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags

from rilm_jax import commandline, config, files, recipes
from rilm_jax.errors import InputError

if TYPE_CHECKING:
    from rilm_jax.data import Corpus

_BETAS = flags.DEFINE_list("betas", ["0", "0.2", "0.4", "0.6", "0.8", "1"], "shares of J_aug")
_WORKDIR = flags.DEFINE_string("workdir", "runs/subspace", "folder of the runs")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the corpus (or RILM_DATA_DIR)")
_OUT = flags.DEFINE_string(
    "out", None, "folder of the record (default: the project's experiments/results/subspace)"
)
_WORDS = flags.DEFINE_integer("words", 20_000, "of the training text", lower_bound=100)
_EPOCHS = flags.DEFINE_integer("epochs", 60, "passes over them", lower_bound=1)
_RATE = flags.DEFINE_float("learning_rate", 6e-3, "of AdamW", lower_bound=1e-6)
_DIM = flags.DEFINE_integer("dim", 300, "units, and dimensions of a word", lower_bound=1)

_SEED, _TEMPERATURE = 42, 10.0
_RESULTS = Path(__file__).resolve().parent / "results" / "subspace"


def main() -> None:
    betas = [_beta(text) for text in _BETAS.value]
    if not betas:
        raise InputError("--betas is empty; give at least one share, e.g. --betas=0,1.")
    path = Path(_OUT.value or _RESULTS) / "ptb.json"
    files.check_writable(path.parent, "choose another --out")

    import jax

    from rilm_jax import build, checkpoint, data, training
    from rilm_jax.analysis import figures, subspace
    from rilm_jax.training import summary

    excerpt = _excerpt(data.load("ptb", 10_000, data_dir=_DATA_DIR.value), _WORDS.value)
    if _DIM.value > len(excerpt.vocab):
        raise InputError(
            f"--dim={_DIM.value} is more than the {len(excerpt.vocab)} different words, which span "
            "no more dimensions; choose a smaller --dim or more --words."
        )
    rows = []
    for beta in betas:
        run = _run(len(excerpt.vocab), beta)
        workdir = Path(_WORKDIR.value) / f"beta={beta:g}"
        done = training.run(run, workdir, corpus=excerpt)
        model_config, params = checkpoint.load(workdir, "last", seed=_SEED)
        model = build(model_config)
        words = model.prepare(params).table.tangents  # of length 1, as the model reads them
        evaluator = training.Evaluator(model, excerpt.train, run)
        on_train = evaluator.report(jax.tree.map(lambda x: x[None], params))
        rows.append(
            {
                "beta": beta,
                "distance": subspace.subspace_distance(params["head"]["W"], words),
                "train_ppl": on_train["ppl"][0],
                "steps": done["steps"],
            }
        )
        jax.clear_caches()
    arguments = [f"--betas={','.join(_BETAS.value)}"]
    told = (_WORDS, _EPOCHS, _RATE, _DIM, _WORKDIR, *([_OUT] if _OUT.value else []))
    arguments += [f"--{flag.name}={flag.value}" for flag in told]
    record = {"command": shlex.join(["python", "experiments/subspace.py", *arguments])}
    record |= {"seed": _SEED, "vocab_size": len(excerpt.vocab), "temperature": _TEMPERATURE}
    record |= {"rows": rows, **summary.circumstances()}
    table = subspace.table(rows)
    page = (
        "# The spaces of W and L\n\n"
        f"Made by `{record['command']}`, seed {_SEED}: {_WORDS.value:,} words of Penn Treebank, "
        f"{len(excerpt.vocab):,} of them different.\n\n{table}\n"
        "![distance against beta](ptb.png)\n"
    )
    files.write_record(path, record, page)
    figures.save(subspace.plot(rows), path.with_suffix(".png"))
    print(table)


def _beta(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (beta := float(text)) <= 1:
            return beta
    raise InputError(f"--betas holds {text!r}, which is no share; give numbers from 0 to 1.")


def _excerpt(corpus: "Corpus", words: int) -> "Corpus":
    """The beginnings of the three texts, with a vocabulary of the training part alone."""
    from rilm_jax import data

    lengths = {"train": words, "valid": 2000, "test": 2000}
    texts = {split: corpus.vocab.decode(getattr(corpus, split)[:n]) for split, n in lengths.items()}
    vocab = data.build_vocabulary(Counter(texts["train"]))
    ids = {split: vocab.encode(text) for split, text in texts.items()}
    return data.Corpus(vocab, **ids, name=corpus.name, info=corpus.info)


def _run(vocab_size: int, beta: float) -> config.RunConfig:
    """alpha = augment * T = beta T^2 |V|."""
    augment = (
        f"augment={beta * _TEMPERATURE * vocab_size},augment_temperature={_TEMPERATURE},"
        if beta
        else ""
    )
    string = (
        f"lstm-linear,vocab_size={vocab_size},dim={_DIM.value},unit_words=True,{augment}"
        f"cross_entropy={1 - beta},batch_size=20,window=35,output_dropout=0,"
        f"learning_rate={_RATE.value},num_epochs={_EPOCHS.value},seeds={_SEED}"
    )
    return config.from_flat(recipes.recipe("ptb", string))


if __name__ == "__main__":
    commandline.run(main)
