"""RiLM's recurrence step by step, against the formulas written out with the public geometry."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.manifolds import euclidean, poincare

V, D, B, T = 12, 6, 2, 10


def make(seed=0, scale=6.0, **options):
    model = build(ModelConfig(vocab_size=V, dim=D, **options))
    params = model.init(jax.random.key(seed))
    params["embed"]["table"] = scale * params["embed"]["table"]
    params["backbone"]["root"] = 20 * params["backbone"]["root"]
    return model, model.project(params)


def run(model, params, tokens):
    return jax.jit(model.hidden)(params, tokens, model.initial_carry(params, len(tokens)))


@pytest.fixture(scope="module")
def tokens():
    return jax.random.randint(jax.random.key(1), (B, T), 0, V, jnp.int32)


def mlp(phi, v_h, v_e):
    w_h, w_e, b = (np.asarray(phi[n], np.float64) for n in ("W_h", "W_e", "b"))
    return np.tanh(v_h @ w_h + v_e @ w_e + b)


def gated(phi, v_h, v_e):
    w_h, w_e, b = (np.asarray(phi[n], np.float64) for n in ("W_h", "W_e", "b"))
    mapped = v_h @ w_h + v_e @ w_e + b
    return (np.tanh(mapped[:, :D]) - v_h) / (1 + np.exp(-mapped[:, D:]))


@pytest.mark.parametrize(("composition", "phi"), [("mlp", mlp), ("gated", gated)])
def test_flat_is_h_plus_phi(tokens, composition, phi):
    model, params = make(manifold="euclidean", composition=composition)
    states, carry = run(model, params, tokens)
    h = np.tile(np.asarray(params["backbone"]["root"], np.float64), (B, 1))
    table = np.asarray(params["embed"]["table"], np.float64)
    for t in range(T):
        h = h + phi(params["backbone"]["phi"], h, table[tokens[:, t]])
        np.testing.assert_allclose(states.coords[:, t], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(carry.coords, states.coords[:, -1])
    assert states.gap is None and carry.gap is None


def ball_step(recurrence, h, v, c, eps):
    if recurrence == "naive":
        return poincare.expmap(h, v, c)
    moved = poincare.mobius_add(h, poincare.expmap0(v, c), c)
    if recurrence == "mobius":
        return moved
    radius = (1 - eps) / np.sqrt(c)
    norm = jnp.linalg.norm(moved, axis=-1, keepdims=True)
    return jnp.where(norm > radius, moved * radius / norm, moved)


@pytest.mark.parametrize(
    ("recurrence", "composition", "c"),
    [
        ("mobius", "mlp", 1.0),
        ("mobius", "gated", 0.5),
        ("naive", "mlp", 1.0),
        ("projected", "mlp", 2.0),
    ],
)
def test_the_ball_moves_by_its_public_maps(tokens, recurrence, composition, c):
    """mobius: h (+) exp_0(phi(log_0 h, log_0 e)); naive: exp_h(phi); projected: clipped mobius."""
    eps = 0.2
    model, params = make(
        scale=3.0, recurrence=recurrence, composition=composition, c=c, projection_eps=eps
    )
    states, _ = run(model, params, tokens)
    phi = mlp if composition == "mlp" else gated
    h = jnp.tile(params["backbone"]["root"], (B, 1))
    words = poincare.logmap0(params["embed"]["table"], c)
    for t in range(T):
        v = phi(params["backbone"]["phi"], poincare.logmap0(h, c), words[tokens[:, t]])
        h = ball_step(recurrence, h, jnp.asarray(v, jnp.float32), c, eps)
        np.testing.assert_allclose(states.coords[:, t], h, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(states.gap[:, t], poincare.gap(h, c), rtol=1e-4)
        h = states.coords[:, t]  # errors are judged one step at a time


@pytest.mark.parametrize("eps", [0.3, 4e-3])
def test_projected_states_stay_inside_and_touch_the_edge(tokens, eps):
    model, params = make(scale=20.0, recurrence="projected", init="plain", projection_eps=eps)
    params["backbone"]["phi"]["W_e"] *= 5
    states, _ = run(model, params, tokens)
    norms = jnp.linalg.norm(states.coords, axis=-1)
    assert jnp.max(norms) <= (1 - eps) * (1 + 1e-6)
    assert jnp.any(norms > (1 - eps) * (1 - 1e-5))


@pytest.mark.parametrize("composition", ["mlp", "gated"])
def test_the_carried_gap_is_the_gap_of_the_states(tokens, composition):
    """Also far out, where reading it off the coordinates would have lost its digits."""
    model, params = make(scale=20.0, init="plain", composition=composition)
    long = jnp.tile(tokens, (1, 6))
    states, carry = run(model, params, long)
    wanted = poincare.gap(states.coords, 1.0)
    assert jnp.min(wanted) < 0.1
    near = wanted > 1e-2
    np.testing.assert_allclose(states.gap[near], wanted[near], rtol=1e-4)
    np.testing.assert_allclose(states.gap, wanted, atol=1e-5)
    np.testing.assert_array_equal(carry.gap, states.gap[:, -1])


def test_the_naive_recurrence_on_flat_space_is_the_same_as_mobius(tokens):
    states = [
        run(*make(manifold="euclidean", recurrence=r), tokens)[0].coords
        for r in ("mobius", "naive")
    ]
    np.testing.assert_allclose(*states, rtol=1e-6)


@pytest.mark.parametrize(("length", "same"), [(1.0, True), (7.0, False)])
def test_the_clip_guard_is_the_textbook_artanh(tokens, length, same):
    """Far from the boundary the maps are one; beyond |log_0 h| = 6.1 it sees h too near."""
    gaps = []
    for guard in ("gap", "clip"):
        model, params = make(scale=1.0, guard=guard)
        root = poincare.expmap0(length * jnp.ones(D) / jnp.sqrt(D), 1.0)
        params["backbone"]["root"] = root
        params["backbone"]["phi"]["W_h"] = -0.05 * jnp.eye(D)
        gaps.append(run(model, params, tokens[:, :1])[0].gap)
    assert bool(jnp.allclose(*gaps, rtol=1e-3)) is same


def test_the_contractive_start_contracts_and_the_plain_one_does_not(tokens):
    """Two runs from roots far apart meet: h' = h/2 + e/2 + ... from the first step."""
    gaps = {}
    for init in ("contractive", "plain"):
        model, params = make(init=init, manifold="euclidean")
        far = params | {"backbone": params["backbone"] | {"root": params["backbone"]["root"] + 0.5}}
        ends = [run(model, p, tokens)[1].coords for p in (params, far)]
        gaps[init] = float(jnp.linalg.norm(ends[0] - ends[1]) / jnp.sqrt(B * D * 0.25))
    assert gaps["contractive"] < 0.05 < gaps["plain"]


def test_contractive_initialisation_is_half_minus_and_plus_the_identity():
    phi = build(ModelConfig()).init(jax.random.key(0))["backbone"]["phi"]
    eye = np.eye(128)
    for name, sign in (("W_h", -0.5), ("W_e", 0.5)):
        noise = np.asarray(phi[name]) - sign * eye
        assert abs(noise.std() - 0.02) < 1e-3 and abs(noise.mean()) < 1e-3
    gated = build(ModelConfig(composition="gated")).init(jax.random.key(0))["backbone"]["phi"]
    assert abs(np.asarray(gated["W_h"])).max() < 0.15  # noise alone
    np.testing.assert_array_equal(gated["b"], np.repeat([0.0, 1.0], 128))


def test_plain_initialisation_is_glorot_over_d_by_2d():
    phi = build(ModelConfig(init="plain")).init(jax.random.key(0))["backbone"]["phi"]
    limit = np.sqrt(6 / (128 + 256))
    for name in ("W_h", "W_e"):
        assert 0.99 * limit < abs(np.asarray(phi[name])).max() <= limit
    assert jnp.all(phi["b"] == 0)


def test_the_flat_geometry_ignores_c(tokens):
    states = [run(*make(manifold="euclidean", c=c), tokens)[0].coords for c in (1.0, 7.0)]
    np.testing.assert_array_equal(*states)
    assert euclidean.project(states[0], 1.0).shape == states[0].shape
