"""RiLM's recurrence: a context is a point h of the manifold, and every word moves it.

    h' = h moved by phi(log_0 h, log_0 e)

How it moves stands in `moves`, what phi is in `composition`. Source: Li, "RiLM: Parameter-Efficient
Language Modeling via Geodesic Decoding".
"""

import jax
import jax.numpy as jnp

from rilm_jax import varying
from rilm_jax.backbones import composition, dropout, inputs, moves, truncation
from rilm_jax.backbones.base import Backbone, Params
from rilm_jax.config import ModelConfig
from rilm_jax.embedding import Points, Table, with_gap
from rilm_jax.manifolds import Manifold

ROOT_SCALE = 0.01
DEFAULT_K = 8


def build(config: ModelConfig, manifold: Manifold) -> Backbone:
    """The recurrence of `config` on `manifold`, its gradients cut every k steps."""
    k = DEFAULT_K if config.k is None else config.k
    log, step = moves.build(config, manifold)

    def init(key: jax.Array) -> Params:
        key_root, key_phi = jax.random.split(key)
        root = ROOT_SCALE * jax.random.normal(key_root, (config.dim,), config.dtype)
        return {"root": root, "phi": composition.init(key_phi, config)}

    def project(params: Params, c: jax.Array) -> Params:
        return params | {"root": manifold.project(params["root"], c)}

    def prepare(params: Params, table: Table) -> jax.Array:
        return composition.word_inputs(params["phi"], table.tangents)

    def initial_carry(params: Params, table: Table, batch_size: int) -> Points:
        root = with_gap(manifold, params["root"], table.c)
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (batch_size, *x.shape)), root)

    def states(
        params: Params,
        table: Table,
        prep: jax.Array | None,
        tokens: jax.Array,
        carry: Points,
        mask: jax.Array | None = None,
        rng: jax.Array | None = None,
    ) -> tuple[Points, Points]:
        phi, c = params["phi"], table.c
        masks = dropout.masks(rng, tokens, config, config.dim)
        rows = inputs.read(lambda v: composition.word_inputs(phi, v), table, prep, tokens, masks)

        def one_step(state: Points, row: jax.Array) -> Points:
            v = log(state, c)
            return step(state, composition.apply(phi, config.composition, v, row, masks.state), c)

        kept = None if mask is None else mask > 0
        visited, carry = truncation.scan(one_step, varying.like(carry, tokens), rows, kept, k)
        if masks.output is not None:
            v = dropout.apply(masks.output[:, None], log(visited, c))
            visited = with_gap(manifold, manifold.expmap0(v, c), c)
        return visited, carry

    return Backbone(config.dim, True, init, project, prepare, initial_carry, states)
