"""NLL of every target of a split, for all seeds, by the protocol: each target once, no dropout."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax.config import RunConfig
from rilm_jax.data import Windows, pad_batch, streams, windows
from rilm_jax.embedding import Points
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
        self._measure = jax.jit(make_measure(model, config))

    def measure(self, params: Any) -> tuple[np.ndarray, np.ndarray]:
        """NLL and the state's norm at every target, both [S, n] in the order of `self.targets`."""
        nll, norms = jax.device_get(self._measure(params, self._data))
        return nll[:, self._counted], norms[:, self._counted]

    def nll(self, params: Any) -> np.ndarray:
        """[S, number of targets] in nats, in the order of `self.targets`, from params [S, ...]."""
        return self.measure(params)[0]

    def report(self, params: Any) -> dict[str, Any]:
        """`n_targets` and, a list over seeds each, scores and how far out the states lie.

        `nll` (mean), `ppl`, `ppl_non_unk`; `state_norm_mean` and `state_norm_max` of |h|, on the
        ball of sqrt(c) |h|, so that its boundary is at 1.
        """
        per_target, norms = self.measure(params)
        scores = [perplexity(row, self.targets) for row in per_target]
        return {
            "n_targets": len(self.targets),
            "nll": [float(row.mean(dtype=np.float64)) for row in per_target],
            "ppl": [score.all for score in scores],
            "ppl_non_unk": [score.non_unk for score in scores],
            "state_norm_mean": [float(row.mean(dtype=np.float64)) for row in norms],
            "state_norm_max": [float(row.max()) for row in norms],
        }


def make_measure(
    model: LanguageModel, config: RunConfig
) -> Callable[[Any, Batch], tuple[jax.Array, jax.Array]]:
    """(params [S, ...], batches [n, B, T]) -> NLL and norms of the states, [S, n, B, T]."""

    def one_seed(params, data):
        prep = model.prepare(params)
        root = model.initial_carry(params, data.inputs.shape[1], prep=prep)

        def one_batch(carry, batch):
            mask = batch.weights if config.eval_streams else None
            states, after = model.hidden(params, batch.inputs, carry, mask=mask, prep=prep)
            nll = model.nll(params, states, batch.targets, prep=prep)
            norms = _norms(states, prep.table.c)
            return (after if config.eval_streams else carry), (nll, norms)

        return jax.lax.scan(one_batch, root, data)[1]

    return over_seeds(one_seed, seed_map(config.seed_map), (0, None))


def _norms(states: Any, c: jax.Array) -> jax.Array:
    if not isinstance(states, Points):
        return jnp.linalg.norm(states, axis=-1)
    norms = jnp.linalg.norm(states.coords, axis=-1)
    return norms if states.gap is None else jnp.sqrt(c) * norms
