"""A run that has been trained, opened for use: its model, parameters, vocabulary and tokeniser."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rilm_jax import checkpoint, data, summaries
from rilm_jax import model as models
from rilm_jax.config import RunConfig
from rilm_jax.data import CORPORA, Corpus, Vocabulary, prepare, pydoc, sources
from rilm_jax.data.loading import PYDOC
from rilm_jax.errors import InputError
from rilm_jax.model import LanguageModel
from rilm_jax.training import workdir as workdirs


class Trained(NamedTuple):
    """What a work directory gives back.

    Attributes:
      config: the run's configuration.
      model: its model.
      params: leaves [S, ...] over the run's seeds, or of one seed where one was asked for.
      vocab: the words of its ids.
      corpus: the text it was trained on, as ids; None where it was not asked for.
    """

    config: RunConfig
    model: LanguageModel
    params: Any
    vocab: Vocabulary
    corpus: Corpus | None


def load(
    workdir: str | Path,
    which: str = "best",
    *,
    seed: int | None = None,
    data_dir: str | Path | None = None,
    with_corpus: bool = True,
) -> Trained:
    """Open a run: `checkpoint.load`, and the corpus that its configuration names.

    Args:
      workdir: the run's work directory.
      which: "best" (each seed at its best validation epoch) or "last".
      seed: one of the run's seeds, or None for all of them.
      data_dir: where the corpus lies; `RILM_DATA_DIR` when absent. For a run on a folder of your
        own, the present place of its file or folder.
      with_corpus: read the corpus, too; its vocabulary lies in the work directory.

    Raises:
      InputError: what `checkpoint.load` and `data.load` raise; or the corpus found is another text
        than the run was trained on, so that its words would not be the model's.
    """
    workdir = Path(workdir)
    model_config, params = checkpoint.load(workdir, which, seed)
    config = checkpoint.read_config(workdir)
    vocab, corpus = workdirs.read_vocabulary(workdir), None
    if with_corpus or vocab is None:
        corpus = _corpus(config, data_dir)
        workdirs.check_corpus(workdir, corpus, "give the data it was trained on")
        vocab = corpus.vocab
    return Trained(config, models.build(model_config), params, vocab, corpus)


def load_seed(
    workdir: str | Path,
    which: str = "best",
    *,
    seed: int | None = None,
    data_dir: str | Path | None = None,
    with_corpus: bool = True,
) -> Trained:
    """`load` of one seed: the given one, or the run's first."""
    if seed is None:
        seed = checkpoint.read_config(Path(workdir)).seeds[0]
    return load(workdir, which, seed=seed, data_dir=data_dir, with_corpus=with_corpus)


def has_ended(workdir: str | Path) -> bool:
    """Whether the run was trained to its end; before, "best" and "last" are so only up to now."""
    return (Path(workdir) / "summary.json").exists()


def caveat(workdir: str | Path, config: RunConfig) -> str:
    """What is to follow "its parameters", of a run that has not ended; "" of one that has."""
    if has_ended(workdir):
        return ""
    try:
        evaluated = summaries.evaluations(Path(workdir) / "metrics.jsonl", "start it again")
        epoch = evaluated[-1]["epoch"] if evaluated else 0
    except InputError:  # its last line may have been cut off by a kill
        return ", of a run that has not ended"
    of = "" if config.num_steps else f" of {config.num_epochs}"
    return f", of a run that has not ended (epoch {epoch}{of})"


def load_alike(
    workdirs: Sequence[str | Path],
    *,
    seed: int | None = None,
    data_dir: str | Path | None = None,
) -> dict[str, Trained]:
    """`load_seed` of several runs, to be looked at side by side, by their folders' names.

    Where two folders have one name, the paths take their place.

    Raises:
      InputError: what `load` raises, or a run whose vocabulary is another than the first one's.
    """
    names = [Path(workdir).absolute().name for workdir in workdirs]
    if len(set(names)) < len(names):
        names = [str(workdir) for workdir in workdirs]
    runs = {
        name: load_seed(workdir, seed=seed, data_dir=data_dir)
        for name, workdir in zip(names, workdirs, strict=True)
    }
    first = next(iter(runs))
    for name, run in runs.items():
        if run.vocab != runs[first].vocab:
            raise InputError(f"{name} has other words than {first}; choose runs of one vocabulary.")
    return runs


def encode(corpus: str, vocab: Vocabulary, prompt: str) -> tuple[np.ndarray, list[str]]:
    """Ids of a prompt, its lines parted by `<eos>`, and its words that are not in the vocabulary.

    A prompt without words gives no ids.
    """
    ids: list[int] = []
    unknown: dict[str, None] = {}
    for number, line in enumerate(sources.lines(prompt)):
        of_line = words(corpus, line)
        ids += [vocab.eos] * bool(number) + vocab.encode(of_line).tolist()
        unknown |= dict.fromkeys(word for word in of_line if word not in vocab)
    return np.asarray(ids, np.int32), list(unknown)


def words(corpus: str, line: str) -> list[str]:
    """The words of one line, as the corpus of that name was split into words; without `<eos>`.

    White space parts words, save in `pydoc`, whose text also has its punctuation cut off, and in
    which a line without a letter, digit or underscore is no line (so: no words).
    """
    if corpus == PYDOC:
        # A line alone is a topic alone, and the first topic belongs to `valid`.
        return pydoc.split_topics({"line": line})["valid"].decode().split()
    return list(prepare.tokens([line]))[:-1]


def _corpus(config: RunConfig, data_dir: str | Path | None) -> Corpus:
    name = config.corpus
    if name not in (*CORPORA, PYDOC) and data_dir is not None:
        return data.load(Path(data_dir), config.model.vocab_size, part=config.part)
    return data.load(name, config.model.vocab_size, data_dir=data_dir, part=config.part)
