"""Shows side by side what trained models predict, and how sure they are.

The qualitative table of "Tying Word Vectors and Word Classifiers" (1611.01462,
section 5.3): the likeliest next words after the same contexts of the validation
text, and the mean probability of the target, of its neighbours in the
embedding, of the twenty most frequent words, and of <unk>:
  python experiments/predictions.py --workdir=runs/ptb/VD --workdir=runs/ptb/REAL

The models share a corpus and a vocabulary. With --out=FILE.md the page is
written, too, and the numbers beside it, as FILE.json.
"""

import shlex
from pathlib import Path

from absl import flags

from rilm_jax import commandline, files, markdown, results
from rilm_jax.errors import InputError
from rilm_jax.progress import bar

_WORKDIR = flags.DEFINE_multi_string("workdir", [], "a run's work directory; to be repeated")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the corpus (or RILM_DATA_DIR)")
_CONTEXTS = flags.DEFINE_integer("contexts", 8, "how many contexts are shown", lower_bound=1)
_LENGTH = flags.DEFINE_integer("length", 12, "words of a context", lower_bound=1)
_TOP_K = flags.DEFINE_integer("top_k", 5, "words shown of each model", lower_bound=1)
_OUT = flags.DEFINE_string("out", None, "a page to write, in Markdown, beside its record")
flags.declare_key_flag("register")


def main() -> None:
    if not _WORKDIR.value:
        raise InputError("--workdir is missing; give one for each model, e.g. two of runs/ptb.")

    if _OUT.value:
        if Path(_OUT.value).suffix != ".md":
            raise InputError(f"--out={_OUT.value} is no page; give a name that ends in .md.")
        files.check_writable(Path(_OUT.value).parent, "choose another --out")

    from rilm_jax import trained
    from rilm_jax.analysis import shares, side_by_side, top_k_words
    from rilm_jax.training import summary

    found = trained.load_alike(_WORKDIR.value, data_dir=_DATA_DIR.value)
    runs = dict(zip(results.labels(list(found)), found.values(), strict=True))
    first = next(iter(runs.values()))
    assert first.corpus is not None  # which load_alike has read
    ids, vocab = first.corpus.valid, first.vocab

    step = (len(ids) - _LENGTH.value) // _CONTEXTS.value
    if step < 1:
        raise InputError(
            f"{_CONTEXTS.value} contexts of {_LENGTH.value} words do not fit into the {len(ids):,} "
            "of the validation text; choose fewer --contexts or a smaller --length."
        )
    if _TOP_K.value > len(vocab):
        raise InputError(f"--top_k={_TOP_K.value} is more than the {len(vocab)} words there are.")

    of_words = {
        name: shares(run.model, run.params, ids)._asdict()
        for name, run in bar(len(runs), "sharing out", "model", iterable=runs.items())
    }
    rows = [
        [markdown.escaped(name), *(f"{share:.4f}" for share in of_run.values())]
        for name, of_run in of_words.items()
    ]
    header = ["model", *next(iter(of_words.values()))]
    page = (
        "# Predictions\n\n"
        "Mean probability over the targets that are words in the first 200 windows of 64\n"
        "of the validation text, each read from the start: of the target, of its ten\n"
        "neighbours in the model's own embedding, of the twenty most frequent words, and\n"
        f"of `<unk>`.\n\n{markdown.table(header, rows, right=header[1:], padded=True)}\n"
    )

    shown = []
    starts = range(0, step * _CONTEXTS.value, step)
    for start in bar(len(starts), "predicting", "context", iterable=starts):
        end = start + _LENGTH.value
        *words, target = vocab.decode(ids[start : end + 1])
        context = " ".join(words)
        likeliest = {
            name: top_k_words(run.model, run.params, vocab, ids[start:end], _TOP_K.value)
            for name, run in runs.items()
        }
        probabilities = {
            name: dict(zip(best.words, map(float, best.probability), strict=True))
            for name, best in likeliest.items()
        }
        shown.append({"context": context, "target": target, "probabilities": probabilities})
        page += f"\nAfter *{markdown.escaped(context)}*, where the text has "
        page += f"**{markdown.escaped(target)}**:\n\n{side_by_side(likeliest)}"
    if _OUT.value:
        record = {"command": _command(), "shares": of_words, "contexts": shown}
        record |= summary.circumstances()
        made = f"\nMade by:\n\n```bash\n{record['command']}\n```\n"
        files.write_record(Path(_OUT.value).with_suffix(".json"), record, page + made)
    print(page, end="")


def _command() -> str:
    told = [f"--workdir={workdir}" for workdir in _WORKDIR.value]
    told += [f"--{flag.name}={flag.value}" for flag in (_CONTEXTS, _LENGTH, _TOP_K, _OUT)]
    return shlex.join(["python", "experiments/predictions.py", *told])


if __name__ == "__main__":
    commandline.run(main)
