"""NLL of every target of a split, for all seeds, by the protocol: each target once, no dropout."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from rilm_jax.config import RunConfig
from rilm_jax.data import Windows, pad_batch, streams, windows
from rilm_jax.metrics import perplexity
from rilm_jax.model import LanguageModel
from rilm_jax.training.step import Batch, on_device, over_seeds, seed_map


class Evaluator:
    """Evaluates parameters on one split; compiled once, the split lies on the device.

    Windows start from the root each, `eval_batch_size` at a time; with `eval_streams` the state is
    carried along that many contiguous streams instead.
    """

    def __init__(self, model: LanguageModel, ids: np.ndarray, config: RunConfig):
        if config.eval_streams:
            cut = streams(ids, config.eval_streams, config.window)
        else:
            cut = pad_batch(windows(ids, config.window), config.eval_batch_size)
            shape = (-1, config.eval_batch_size, config.window)
            cut = Windows(*(x.reshape(shape) for x in cut))
        self._counted = cut.mask > 0
        self.targets = cut.targets[self._counted]
        self._data = on_device(cut)
        self._nll = jax.jit(make_nll(model, config))

    def nll(self, params: Any) -> np.ndarray:
        """[S, number of targets] in nats, in the order of `self.targets`, from params [S, ...]."""
        result = np.asarray(jax.device_get(self._nll(params, self._data)))
        return result[:, self._counted]

    def report(self, params: Any) -> dict[str, Any]:
        """`n_targets` and, a list over seeds each, `nll` (mean), `ppl` and `ppl_non_unk`."""
        per_target = self.nll(params)
        scores = [perplexity(row, self.targets) for row in per_target]
        return {
            "n_targets": len(self.targets),
            "nll": [float(row.mean(dtype=np.float64)) for row in per_target],
            "ppl": [score.all for score in scores],
            "ppl_non_unk": [score.non_unk for score in scores],
        }


def make_nll(model: LanguageModel, config: RunConfig) -> Callable[[Any, Batch], jax.Array]:
    """(params [S, ...], batches [n, B, T]) -> NLL [S, n, B, T]."""

    def one_seed(params, data):
        prep = model.prepare(params)
        root = model.initial_carry(params, data.inputs.shape[1], prep=prep)

        def one_batch(carry, batch):
            mask = batch.weights if config.eval_streams else None
            states, after = model.hidden(params, batch.inputs, carry, mask=mask, prep=prep)
            nll = model.nll(params, states, batch.targets, prep=prep)
            return (after if config.eval_streams else carry), nll

        return jax.lax.scan(one_batch, root, data)[1]

    return over_seeds(one_seed, seed_map(config.seed_map), (0, None))
