"""How long a run will take here, judged by the runs on record from the same kind of device.

A token costs about one multiplication for every weight it meets, so that

    seconds = multiplications(model) * tokens * (seconds a multiplication)

and the last factor is what finished runs of the same backbone needed, or, before there is one, of
any backbone. What a suite for a GPU takes on one is reckoned before any has run it, too: `OnGPU`.
"""

import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from rilm_jax import config, data, sizes
from rilm_jax.config import RunConfig
from rilm_jax.errors import InputError
from rilm_jax.training import summary

_FLOP, _FLOP_PER_SECOND = 6, 10e12
_PER_STEP = 3 * 30e-6


def tokens(run: RunConfig, words: int) -> int:
    """What all seeds of a run are trained on, of a training text of `words` words."""
    steps_tokens = run.num_steps * run.batch_size * run.window
    return len(run.seeds) * (steps_tokens or run.num_epochs * words)


def training_words(run: RunConfig, data_dir: str | None) -> int:
    """The length of a run's training text.

    Raises:
      InputError: the corpus is not there.
    """
    corpus = data.load(run.corpus, run.model.vocab_size, data_dir=data_dir, part=run.part)
    return len(corpus.train)


class Estimator:
    """Seconds a run, from the summaries of others.

    Args:
      summaries: finished runs; those of another kind of device are passed over.
      data_dir: where the corpora lie.
    """

    basis = ""

    def __init__(self, summaries: Iterable[Mapping[str, Any]], data_dir: str | None = None):
        self._data_dir, self._words = data_dir, {}
        self._rates: dict[str, list[float]] = {}
        device = _kind(summary.circumstances())
        for found in summaries:
            if _kind(found) != device:
                continue
            try:
                run = config.from_flat(found["config"])
                trained = found["steps"] * run.batch_size * run.window * len(run.seeds)
                rate = found["wall_seconds"] / (sizes.multiplications(run.model) * trained)
            except (InputError, KeyError, ZeroDivisionError):
                continue  # of another version, or of a backbone registered elsewhere
            self._rates.setdefault(run.model.backbone, []).append(rate)

    def amount(self, run: RunConfig) -> float:
        """Multiplications of a run, forward: what its time is taken to be proportional to."""
        return sizes.multiplications(run.model) * self._tokens(run)

    def _tokens(self, run: RunConfig) -> int:
        key = (run.corpus, run.part, run.model.vocab_size)
        if key not in self._words:
            self._words[key] = training_words(run, self._data_dir)
        return tokens(run, self._words[key])

    def seconds(self, run: RunConfig) -> float | None:
        """None where no run of this kind of device is on record."""
        rates = self._rates.get(run.model.backbone) or [
            r for rs in self._rates.values() for r in rs
        ]
        return statistics.median(rates) * self.amount(run) if rates else None


class OnGPU(Estimator):
    """Seconds a run on one data-centre GPU, by reckoning: what comes out is no measurement.

    The longer of two: 6 FLOP for every multiplication of a token forward, at 10 TFLOP/s, and 30
    microseconds for each step of each recurrent layer forward and twice that backward, which the
    seeds of a run share.
    """

    basis = " on a data-centre GPU, by reckoning"

    def seconds(self, run: RunConfig) -> float:
        steps = self._tokens(run) / (len(run.seeds) * run.batch_size)  # of the recurrence
        return max(_FLOP * self.amount(run) / _FLOP_PER_SECOND, _depth(run) * steps * _PER_STEP)


def _depth(run: RunConfig) -> int:
    """Layers that go step by step."""
    if run.model.backbone == "transformer":
        return 0
    return 1 if run.model.backbone == "rilm" else run.model.num_layers


def _kind(found: Mapping[str, Any]) -> str:
    """Of device: a CPU by any number of cores, as the steps of a recurrence leave most idle."""
    return str(found.get("device")).partition(",")[0]


def words(seconds: float | None) -> str:
    """A time as it is told: "about 3 min"."""
    if seconds is None:
        return "not known yet"
    return f"about {max(1, round(seconds / 60))} min"
