"""Each baseline against its formulas written out slowly in NumPy, in float64."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from rilm_jax import ModelConfig, build
from rilm_jax.backbones import dropout, lstm, ssm, transformer

V, D, B, T = 20, 8, 2, 9


@pytest.fixture(autouse=True, scope="module")
def double():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def drawn(monkeypatch):
    """Every mask that is drawn while the test runs, in order."""
    masks, inverted = [], dropout.inverted

    def noted(*args):
        masks.append(inverted(*args))
        return masks[-1]

    monkeypatch.setattr(dropout, "inverted", noted)
    return masks


def made(backbone, key=None, **options):
    """Weights, word vectors and states; with a key, those of training, whose masks it decides."""
    config = ModelConfig(
        backbone=backbone,
        head="tied",
        manifold="euclidean",
        vocab_size=V,
        dim=D,
        dtype="float64",
        **options,
    )
    model = build(config)
    params = model.init(jax.random.key(0))
    # Away from zeros and ones, so that a forgotten bias or scale shows.
    params["backbone"] = jax.tree.map(
        lambda x: x + 0.1 * jax.random.normal(jax.random.key(1), x.shape, x.dtype),
        params["backbone"],
    )
    params["embed"]["table"] = 10 * params["embed"]["table"]
    tokens = jax.random.randint(jax.random.key(2), (B, T), 0, V)
    hidden = jax.jit(model.hidden) if key is None else functools.partial(model.hidden, rng=key)
    states, _ = hidden(params, tokens, model.initial_carry(params, B))
    weights = jax.tree.map(np.asarray, params["backbone"]["params"])
    return weights, np.asarray(params["embed"]["table"])[tokens], np.asarray(states)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rms(x, norm):
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-6) * norm["scale"]


def lstm_states(weights, x, masks):
    """Of as many layers as there are masks [B, H], which every step reads and passes on."""
    for layer, mask in enumerate(masks):
        w = weights[f"layers_{layer}"]
        h = c = np.zeros_like(mask)
        out = []
        for t in range(T):
            z = x[:, t] @ w["W_x"] + (mask * h) @ w["W_h"] + w["b"]
            i, f, g, o = np.split(z, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            out.append(mask * h)
        x = np.stack(out, 1)
    return x


def test_lstm():
    weights, x, states = made("lstm", hidden_dim=5, projection=True, num_layers=3)
    wanted = lstm_states(weights, x, np.ones((3, B, 5)))
    np.testing.assert_allclose(states, wanted, rtol=1e-10, atol=1e-12)


def test_an_lstm_has_one_mask_a_layer_on_the_way_up_and_back_and_none_on_the_words(drawn):
    key = jax.random.key(3)
    weights, x, states = made("lstm", key, num_layers=2, dropout=0.5)
    masks = np.asarray(drawn[-2:])
    assert np.any(masks[0] != masks[1])
    np.testing.assert_allclose(states, lstm_states(weights, x, masks), rtol=1e-10, atol=1e-12)


def test_the_lstm_cell_has_the_derivatives_written_for_it():
    z, c = (jax.random.normal(jax.random.key(i), (B, n * D)) for i, n in ((0, 4), (1, 1)))
    check_grads(lstm.cell, (z, c), order=2, modes=["rev"])


def test_the_forget_gate_starts_open():
    model = build(ModelConfig(backbone="lstm", head="tied", manifold="euclidean", dim=3))
    bias = model.init(jax.random.key(0))["backbone"]["params"]["layers_1"]["b"]
    np.testing.assert_array_equal(bias, np.repeat([0.0, 1.0, 0.0, 0.0], 3))


def rhn_states(w, x, mask):
    """Of depth 3, where every layer's R reads the state through the mask [B, H]."""
    s, out = np.zeros((B, D)), []
    for t in range(T):
        for layer in range(3):
            mapped = (mask * s) @ w["R"][layer] + w["b"][layer]
            mapped = mapped + (x[:, t] @ w["W"] if layer == 0 else 0)
            gate = sigmoid(mapped[:, D:])
            s = gate * np.tanh(mapped[:, :D]) + (1 - gate) * s
        out.append(s)
    return np.stack(out, 1)


def test_rhn():
    w, x, states = made("rhn", num_layers=3)
    wanted = rhn_states(w, x, np.ones((B, D)))
    np.testing.assert_allclose(states, wanted, rtol=1e-10, atol=1e-12)


def test_an_rhn_has_its_masks_for_all_steps_and_layers(drawn):
    """On the words, on the state, and on what goes to the head."""
    rates = {"input_dropout": 0.3, "dropout": 0.5, "output_dropout": 0.4}
    w, x, states = made("rhn", jax.random.key(3), num_layers=3, **rates)
    rate_of = {tuple(np.unique(m)): m for m in map(np.asarray, drawn)}
    words, state, output = (rate_of[0.0, 1 / (1 - rate)] for rate in rates.values())
    wanted = output[:, None] * rhn_states(w, words[:, None] * x, state)
    np.testing.assert_allclose(states, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("init", ["contractive", "uniform"])
def test_the_highway_starts_closed(init):
    model = build(ModelConfig(backbone="rhn", head="tied", manifold="euclidean", dim=3, init=init))
    bias = model.init(jax.random.key(0))["backbone"]["params"]["b"]
    np.testing.assert_array_equal(bias, np.tile(np.repeat([0.0, -2.0], 3), (2, 1)))


def rotated(x, position):
    """Complex numbers x_i + i x_{i + n/2}, turned."""
    half = x.shape[-1] // 2
    turn = np.exp(1j * position * 10_000.0 ** (-np.arange(half) / half))
    z = (x[..., :half] + 1j * x[..., half:]) * turn
    return np.concatenate([z.real, z.imag], -1)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def test_transformer():
    heads, span = 2, 4
    weights, x, states = made("transformer", num_heads=heads, span=span, hidden_dim=11)
    x = x * np.sqrt(D)
    for block in (weights["block_0"], weights["block_1"]):
        q, k, v = np.split(rms(x, block["norm_attention"]) @ block["qkv"]["kernel"], 3, axis=-1)
        attended = np.zeros_like(x)
        for b, t, h in np.ndindex(B, T, heads):
            part = slice(h * D // heads, (h + 1) * D // heads)
            seen = range(max(0, t - span + 1), t + 1)
            scores = [rotated(q[b, t, part], t) @ rotated(k[b, s, part], s) for s in seen]
            share = np.exp(np.array(scores) / np.sqrt(D / heads))
            attended[b, t, part] = share / share.sum() @ v[b, seen, part]
        x = x + attended @ block["attention_out"]["kernel"]
        inner = rms(x, block["norm_feed_forward"]) @ block["feed_forward_in"]["kernel"]
        x = x + gelu(inner) @ block["feed_forward_out"]["kernel"]
    np.testing.assert_allclose(states, rms(x, weights["norm"]), rtol=1e-9, atol=1e-10)


def test_rotary_scores_depend_on_the_distance_alone():
    q, k = jax.random.normal(jax.random.key(0), (2, 1, 1, 8))
    at = [
        jnp.sum(
            transformer.rotate(q, jnp.array([s + 7])) * transformer.rotate(k, jnp.array([s])),
        )
        for s in (0, 3, 50)
    ]
    np.testing.assert_allclose(at, at[0], rtol=1e-10)


def silu(x):
    return x * sigmoid(x)


def test_ssm():
    """Mamba's S6 block, one channel and one state after the other."""
    channels, rank, n = 6, 1, ssm.D_STATE
    weights, x, states = made("ssm", hidden_dim=channels)
    x = x * np.sqrt(D)
    for w in (weights["block_0"], weights["block_1"]):
        u, gate = np.split(rms(x, w["norm"]) @ w["in_proj"]["kernel"], 2, axis=-1)
        convolved = np.zeros_like(u)
        for t in range(T):
            for j in range(4):
                if t - 3 + j >= 0:
                    convolved[:, t] += w["conv1d"][j] * u[:, t - 3 + j]
        u = silu(convolved + w["conv1d_bias"])
        selected = u @ w["x_proj"]["kernel"]
        low, b_t, c_t = selected[..., :rank], selected[..., rank : rank + n], selected[..., -n:]
        dt = np.log1p(np.exp(low @ w["dt_proj"]["kernel"] + w["dt_bias"]))
        a = -np.exp(w["A_log"])
        y = np.zeros_like(u)
        for row, e in np.ndindex(B, channels):
            h = np.zeros(n)
            for t in range(T):
                step = dt[row, t, e]
                h = np.exp(step * a[:, e]) * h + step * b_t[row, t] * u[row, t, e]
                y[row, t, e] = c_t[row, t] @ h + w["D"][e] * u[row, t, e]
        x = x + (y * silu(gate)) @ w["out_proj"]["kernel"]
    np.testing.assert_allclose(states, rms(x, weights["norm"]), rtol=1e-9, atol=1e-10)


def test_an_input_changes_the_transition_of_the_ssm():
    """What is left after a word of a state carried in depends on which word it is: selection."""
    config = ModelConfig(backbone="ssm", head="tied", manifold="euclidean", vocab_size=V, dim=D)
    model = build(config)
    params = model.init(jax.random.key(0))
    params["embed"]["table"] = 10 * params["embed"]["table"]

    def kept(word):
        """d state' / d state of the first block, the transition of this word."""
        carry = model.initial_carry(params, 1)

        def after(state):
            first = carry[0]._replace(state=state)
            tokens = jnp.array([[word]])
            return model.hidden(params, tokens, (first, carry[1]))[1][0].state.sum()

        return jax.grad(after)(carry[0].state)

    one, other = kept(3), kept(4)
    assert jnp.all((one > 0) & (one < 1)) and jnp.all((other > 0) & (other < 1))
    assert jnp.max(jnp.abs(one - other)) > 1e-3


def test_step_sizes_start_between_a_thousandth_and_a_tenth():
    model = build(ModelConfig(backbone="ssm", head="tied", manifold="euclidean"))
    block = model.init(jax.random.key(0))["backbone"]["params"]["block_0"]
    dt = np.log1p(np.exp(block["dt_bias"]))
    assert 1e-3 * 0.999 <= dt.min() < 2e-3 and 5e-2 < dt.max() <= 0.1 * 1.001
    np.testing.assert_allclose(np.exp(block["A_log"][:, 0]), np.arange(1, 17), rtol=1e-6)
