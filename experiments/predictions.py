"""Shows side by side what trained models predict, and how sure they are.

The qualitative table of "Tying Word Vectors and Word Classifiers" (1611.01462,
section 5.3): the likeliest next words after the same contexts of the validation
text, and the mean probability of the target, of its neighbours in the
embedding, of the twenty most frequent words, and of <unk>:
  python experiments/predictions.py --workdir=runs/ptb/VD --workdir=runs/ptb/REAL

The models share a corpus and a vocabulary. With --out=FILE.md the page is
written, too.
"""

from pathlib import Path

from absl import flags

from rilm_jax import commandline, files, markdown
from rilm_jax.errors import InputError

_WORKDIR = flags.DEFINE_multi_string("workdir", [], "a run's work directory; to be repeated")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the corpus (or RILM_DATA_DIR)")
_CONTEXTS = flags.DEFINE_integer("contexts", 8, "how many contexts are shown", lower_bound=1)
_LENGTH = flags.DEFINE_integer("length", 12, "words of a context", lower_bound=1)
_TOP_K = flags.DEFINE_integer("top_k", 5, "words shown of each model", lower_bound=1)
_OUT = flags.DEFINE_string("out", None, "a page to write, in Markdown")


def main() -> None:
    if not _WORKDIR.value:
        raise InputError("--workdir is missing; give one for each model, e.g. two of runs/ptb.")

    from rilm_jax import trained
    from rilm_jax.analysis import shares, top_k_words

    runs = trained.load_alike(_WORKDIR.value, data_dir=_DATA_DIR.value)
    first = next(iter(runs.values()))
    ids, vocab = first.corpus.valid, first.corpus.vocab

    rows = []
    for name, run in runs.items():
        found = shares(run.model, run.params, ids)
        rows.append([name, *(f"{value:.4f}" for value in found)])
    header = ["model", "target", "its neighbours", "20 frequent words", "<unk>"]
    page = "# Predictions\n\nMean probability over validation targets that are words:\n\n"
    page += markdown.table(header, rows, right=header[1:]) + "\n\n"

    rows = []
    step = max(1, (len(ids) - 1) // _CONTEXTS.value)
    for start in range(0, step * _CONTEXTS.value, step):
        context, target = ids[start : start + _LENGTH.value], ids[start + _LENGTH.value]
        cells = [" ".join(vocab.decode(context)), vocab.decode([target])[0]]
        for run in runs.values():
            best = top_k_words(run.model, run.params, vocab, context, _TOP_K.value)
            told = zip(best.words, best.probability, strict=True)
            cells.append(", ".join(f"{word} {p:.2f}" for word, p in told))
        rows.append(cells)
    page += markdown.table(["context", "target", *runs], rows) + "\n"
    if _OUT.value:
        files.write(Path(_OUT.value), page.encode())
    print(page, end="")


if __name__ == "__main__":
    commandline.run(main)
