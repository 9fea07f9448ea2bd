"""Small models with parameters that spread words and contexts out."""

import jax
import pytest

from rilm_jax import ModelConfig, backbones, build
from rilm_jax.backbones import Backbone


@pytest.fixture
def spread_out():
    """`spread_out(manifold=..., ...)` -> (model, params), V = 7, d = 5."""

    def make(**fields):
        model = build(ModelConfig(**({"vocab_size": 7, "dim": 5} | fields)))
        params = model.init(jax.random.key(0))
        params["embed"]["table"] = 6 * params["embed"]["table"]
        return model, params

    return make


@pytest.fixture
def vector_backbone(monkeypatch):
    """The name of a backbone whose states are vectors: the sum of the words read."""

    def build_sum(config, manifold):
        del manifold

        def states(params, table, prep, tokens, carry, mask=None, rng=None):
            del prep, mask, rng
            visited = carry[:, None] + table.tangents[tokens].cumsum(axis=1)
            return visited, visited[:, -1]

        return Backbone(
            config.dim,
            False,
            lambda key: {},
            lambda params, c: params,
            lambda params, table: None,
            lambda params, table, n: jax.numpy.zeros((n, config.dim)),
            states,
        )

    monkeypatch.setitem(backbones._REGISTRY._added, "sum", build_sum)
    return "sum"
