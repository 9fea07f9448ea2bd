"""Attention and the LSTM against PyTorch's own, from the same weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.backbones import transformer

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def torch():
    import torch  # here, as only `pytest -m bench` has it

    return torch


def test_attention_is_scaled_dot_product_attention(torch):
    """Queries and keys turned by their places, a sliding causal mask, part of it from the cache."""
    batch, length, heads, width, span = 2, 9, 3, 8, 5
    keys = jax.random.split(jax.random.key(0), 3)
    q, k, v = (jax.random.normal(key, (batch, length, heads, width)) for key in keys)

    def places(x):
        return np.asarray(transformer.rotate(x, jnp.arange(length)[None]))

    t = np.arange(length)
    behind = t[:, None] - t
    turned = [torch.from_numpy(np.swapaxes(np.array(x), 1, 2)) for x in (places(q), places(k), v)]
    wanted = torch.nn.functional.scaled_dot_product_attention(
        *turned, attn_mask=torch.from_numpy((behind >= 0) & (behind < span))
    )
    first = 6
    cache = jnp.zeros((batch, span, heads, width))
    where = transformer.window(jnp.zeros(batch, jnp.int32), None, first, span)
    head = transformer.attend(q[:, :first], k[:, :first], v[:, :first], cache, cache, where)
    cached = [transformer._store(cache, x[:, :first], where.slots) for x in (k, v)]
    where = transformer.window(jnp.full(batch, first), None, length - first, span)
    tail = transformer.attend(q[:, first:], k[:, first:], v[:, first:], *cached, where)
    got = jnp.swapaxes(jnp.concatenate([head, tail], axis=1), 1, 2)
    np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-5, atol=1e-5)


def test_the_lstm_is_torch_nn_lstm(torch):
    config = ModelConfig(
        backbone="lstm",
        head="tied",
        manifold="euclidean",
        vocab_size=20,
        dim=6,
        hidden_dim=5,
        num_layers=3,
        projection=True,
    )
    model = build(config)
    params = model.init(jax.random.key(0))
    params["embed"]["table"] = 10 * params["embed"]["table"]
    tokens = jax.random.randint(jax.random.key(1), (2, 9), 0, 20)
    states, carry = model.hidden(params, tokens, model.initial_carry(params, 2))

    theirs = torch.nn.LSTM(6, 5, num_layers=3, batch_first=True)
    weights = dict(theirs.named_parameters())
    for i in range(3):
        ours = params["backbone"]["params"][f"layers_{i}"]
        for name, value in (("weight_ih", "W_x"), ("weight_hh", "W_h"), ("bias_ih", "b")):
            weights[f"{name}_l{i}"].data = torch.from_numpy(np.array(ours[value]).T.copy())
        weights[f"bias_hh_l{i}"].data.zero_()
    with torch.no_grad():
        wanted, (h, c) = theirs(torch.from_numpy(np.array(params["embed"]["table"][tokens])))
    np.testing.assert_allclose(states, wanted.numpy(), rtol=1e-5, atol=1e-6)
    for i, (our_h, our_c) in enumerate(carry):
        np.testing.assert_allclose(our_h, h[i].numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(our_c, c[i].numpy(), rtol=1e-5, atol=1e-6)
