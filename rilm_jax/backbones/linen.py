"""Flax linen modules as backbones: one adapter from a module to the pure functions of `Backbone`.

A sequence module reads word vectors and returns states:

    class Module(nn.Module):
        def __call__(self, inputs, carry, mask, deterministic): ...

from `inputs` [B, T, d], a carry, `mask` [B, T] or None and whether dropout is off to `(states
[B, T, D], carry)`, where a masked position leaves the carry unchanged. Two methods are optional:

    def initial_carry(self, batch_size): ...   # a pytree of fixed shapes; without it ()
    def word_inputs(self, vectors): ...        # [..., d] -> [..., K], what a word alone decides;
                                               # `inputs` then has K columns, made once a word

`deterministic` is False in training where one of the configuration's four dropout rates is above 0
(`ModelConfig.drops`): give a module with dropout of its own its rate from `config.dropout`. Then
`self.make_rng("dropout")` is at hand.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from rilm_jax import varying
from rilm_jax.backbones import dropout, inputs
from rilm_jax.backbones.base import Backbone, Params
from rilm_jax.config import ModelConfig
from rilm_jax.embedding import Table
from rilm_jax.errors import InputError
from rilm_jax.manifolds import Manifold


def adapt(make: Callable[[ModelConfig], nn.Module]) -> Callable[[ModelConfig, Manifold], Backbone]:
    """A builder for `backbones.register` from a function that makes the module.

    Words on a manifold are read through log_0, and states are vectors of R^D. `word_dropout`,
    `input_dropout` and `output_dropout` are applied here, around the module; all are inverted.

    Raises (the builder):
      InputError: the module returns states of another shape than [B, T, D].
    """

    def build(config: ModelConfig, manifold: Manifold) -> Backbone:
        del manifold
        return _backbone(make(config), config)

    return build


def _backbone(module: Any, config: ModelConfig) -> Backbone:
    hoists = hasattr(module, "word_inputs")

    def read(params: Params, vectors: jax.Array) -> jax.Array:
        return module.apply(params, vectors, method="word_inputs") if hoists else vectors

    def start(batch_size: int) -> Any:
        return module.initial_carry(batch_size) if hasattr(module, "initial_carry") else ()

    def both(module, vectors, carry):
        rows = module.word_inputs(vectors) if hoists else vectors
        return module(rows, carry, None, True)

    vectors = jax.ShapeDtypeStruct((1, 1, config.dim), config.dtype)
    initialise = nn.init_with_output(both, module)
    key = jax.eval_shape(lambda: jax.random.key(0))
    (states_shape, _), _ = jax.eval_shape(initialise, key, vectors, start(1))
    if states_shape.shape[:2] != (1, 1) or len(states_shape.shape) != 3:
        raise InputError(
            f"{type(module).__name__} turns inputs [1, 1, {config.dim}] into states of shape "
            f"{list(states_shape.shape)}; return [B, T, D]."
        )
    state_dim = states_shape.shape[2]

    def init(key: jax.Array) -> Params:
        _, params = initialise(key, jnp.zeros(vectors.shape, vectors.dtype), start(1))
        return dict(params)

    def prepare(params: Params, table: Table) -> jax.Array:
        return read(params, table.tangents)

    def initial_carry(params: Params, table: Table, batch_size: int) -> Any:
        del params, table
        return start(batch_size)

    def states(
        params: Params,
        table: Table,
        prep: jax.Array | None,
        tokens: jax.Array,
        carry: Any,
        mask: jax.Array | None = None,
        rng: jax.Array | None = None,
    ) -> tuple[jax.Array, Any]:
        inner = None
        if rng is not None:
            rng, inner = jax.random.split(rng)
        masks = dropout.masks(rng, tokens, config, state_dim)
        kept = 1 / (1 - config.word_dropout)
        rows = inputs.read(lambda v: read(params, v), table, prep, tokens, masks, kept)
        visited, carry = module.apply(
            params,
            rows,
            varying.like(carry, tokens),
            None if mask is None else mask > 0,
            rng is None,
            rngs=None if inner is None else {"dropout": inner},
        )
        if masks.output is not None:
            visited = dropout.apply(masks.output[:, None], visited)
        return visited, carry

    return Backbone(state_dim, False, init, lambda p, c: p, prepare, initial_carry, states)
