"""Corpora as ids, and ids as fixed shapes.

corpus = load("wikitext2", 2000)             # raw text -> ids, cached
cut = training_windows(corpus.train, 64)     # ids -> [n, T]
order, weight = epoch_order(seed, epoch, len(cut.inputs), 128)
"""

from rilm_jax.data.cache import read_prepared, write_prepared
from rilm_jax.data.corpora import CORPORA, CorpusSpec
from rilm_jax.data.ids import check_ids
from rilm_jax.data.loading import load
from rilm_jax.data.order import EpochOrder, epoch_order
from rilm_jax.data.prepare import Corpus, measure
from rilm_jax.data.vocabulary import EOS, UNK, Vocabulary, build_vocabulary
from rilm_jax.data.windows import Windows, pad_batch, streams, training_windows, windows

__all__ = [
    "CORPORA",
    "EOS",
    "UNK",
    "Corpus",
    "CorpusSpec",
    "EpochOrder",
    "Vocabulary",
    "Windows",
    "build_vocabulary",
    "check_ids",
    "epoch_order",
    "load",
    "measure",
    "pad_batch",
    "read_prepared",
    "streams",
    "training_windows",
    "windows",
    "write_prepared",
]
