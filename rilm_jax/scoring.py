"""What a trained run says of a split of its corpus, or of a text of your own."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from rilm_jax.data import EOS, Vocabulary, sources
from rilm_jax.data.corpora import SPLITS
from rilm_jax.data.loading import PYDOC
from rilm_jax.errors import InputError, unknown_name
from rilm_jax.metrics import UNK_ID, perplexity
from rilm_jax.progress import bar
from rilm_jax.trained import Trained, words
from rilm_jax.training import Evaluator
from rilm_jax.training.summary import statistics

# Tokens that a stream is read in at a time: a block of the loss at the usual 2000 words.
_STREAM_STEP = 256


class Scores(NamedTuple):
    """The NLL of every target of a stream.

    Attributes:
      targets: [n] ids, all of the stream but its first.
      nll: [S, n], in nats.
    """

    targets: np.ndarray
    nll: np.ndarray


class Text(NamedTuple):
    """A text as one stream of ids.

    Attributes:
      ids: [N] int32, one `<eos>` a line.
      line: [N], the number of each token's line in `lines`.
      lines: as they were read.
    """

    ids: np.ndarray
    line: np.ndarray
    lines: list[str]


class Line(NamedTuple):
    """A line and its mean NLL over its targets (its `<eos>` among them), averaged over seeds."""

    number: int
    text: str
    n_targets: int
    nll: float


def score_split(run: Trained, split: str) -> Scores:
    """The NLL of a split, by the run's own protocol: the number in its summary.

    Args:
      run: with all of its seeds.
      split: "train", "valid" or "test".

    Raises:
      InputError: no such split, or a run that was opened without its corpus.
    """
    if split not in SPLITS:
        raise InputError(unknown_name("split", split, SPLITS))
    if run.corpus is None:
        raise InputError("the run was opened without its corpus; open it with_corpus=True.")
    return _score(run, getattr(run.corpus, split))


def score_text(run: Trained, text: Text) -> Scores:
    """The NLL of a text read in one go: the state is carried from its first token to its last.

    As in the corpora, the first token is read and not scored.
    """
    return _score(run, text.ids, eval_streams=1, window=_STREAM_STEP)


def _score(run: Trained, ids: np.ndarray, **protocol: int) -> Scores:
    evaluator = Evaluator(run.model, ids, dataclasses.replace(run.config, **protocol))
    seeds = range(len(run.config.seeds))
    rows = [
        evaluator.nll(jax.tree.map(lambda x, seed=seed: x[seed : seed + 1], run.params))
        for seed in bar(len(seeds), "evaluating", "seed", iterable=seeds)
    ]
    return Scores(evaluator.targets, np.concatenate(rows))


def report(scores: Scores) -> dict[str, Any]:
    """`n_targets`, `unk_share` and, each `{per_seed, mean, std}`, `ppl` and `ppl_non_unk`."""
    found = [perplexity(row, scores.targets) for row in scores.nll]
    return {
        "n_targets": len(scores.targets),
        "unk_share": float(np.mean(scores.targets == UNK_ID)),
        "ppl": statistics([score.all for score in found]),
        "ppl_non_unk": statistics([score.non_unk for score in found]),
    }


def read_text(path: str | Path, vocab: Vocabulary, corpus: str) -> Text:
    """A file as ids, its lines split into words as those of the model's corpus were.

    Args:
      path: UTF-8 text.
      vocab: the model's words; any other becomes `<unk>`.
      corpus: the name of the corpus that the model was trained on.

    Raises:
      InputError: the file cannot be read, is not plain UTF-8 text, or has fewer than two tokens.
    """
    try:
        raw = sources.RawText(str(path), Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); name a text file.") from error
    text = as_text(sources.decode(raw), vocab, corpus)
    if len(text.ids) < 2:
        raise InputError(
            f"{path} has no target: it needs two words, or a word and the end of its line, and "
            f"it has {len(text.ids)} in all; give more text."
        )
    return text


def as_text(content: str, vocab: Vocabulary, corpus: str) -> Text:
    """`read_text` of a string, which may be empty."""
    lines = sources.lines(content.removeprefix("\ufeff"))
    stream: list[str] = []
    line: list[int] = []
    for number, content in enumerate(lines):
        of_line = words(corpus, content)
        if of_line or corpus != PYDOC:  # whose lines all have words
            stream += [*of_line, EOS]
            line += [number] * (len(of_line) + 1)
    return Text(vocab.encode(stream), np.asarray(line, np.int64), lines)


def worst_lines(scores: Scores, text: Text, n: int) -> list[Line]:
    """The n lines of highest mean NLL, worst first; blank ones are left out."""
    line = text.line[1:]
    count = np.bincount(line, minlength=len(text.lines))
    total = np.bincount(line, scores.nll.mean(axis=0, dtype=np.float64), len(text.lines))
    there = [i for i, content in enumerate(text.lines) if count[i] and content.strip()]
    ranked = sorted(there, key=lambda i: (-total[i] / count[i], i))
    return [
        Line(i + 1, text.lines[i].strip(), int(count[i]), float(total[i] / count[i]))
        for i in ranked[:n]
    ]
