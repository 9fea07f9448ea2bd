"""What every backbone owes: causality, streaming, masks, independent rows, learning, its size."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rilm_jax import ModelConfig, build, sizes
from rilm_jax.errors import InputError

V, D, B, T = 20, 8, 3, 11
BACKBONES = ("rilm", "lstm", "transformer", "ssm", "rhn")
BASELINES = BACKBONES[1:]


@functools.cache
def made(backbone, **options):
    options = {"head": "tied", "manifold": "euclidean", "dim": D, "span": 5} | options
    model = build(ModelConfig(backbone=backbone, vocab_size=V, **options))
    params = model.init(jax.random.key(0))
    params["embed"]["table"] = 10 * params["embed"]["table"]
    return model, params


def ids(seed=1, shape=(B, T)):
    return jax.random.randint(jax.random.key(seed), shape, 0, V)


def states_of(model, params, tokens, carry=None, **options):
    carry = model.initial_carry(params, len(tokens)) if carry is None else carry
    states, carry = jax.jit(model.hidden)(params, tokens, carry, **options)
    return jax.tree.leaves(states)[0], carry


@pytest.mark.parametrize("backbone", BACKBONES)
def test_a_state_depends_on_its_own_word_and_earlier_ones_alone(backbone):
    """The gradient of state t in the vector of word s is 0 for s > t and not for s <= t.

    Every position has a word of its own. A transformer of two blocks sees 2 * (span - 1) back.
    """
    model, params = made(backbone, span=64, k=None if backbone != "rilm" else 0)
    tokens = jnp.arange(T)[None]

    def states(table):
        moved = params | {"embed": params["embed"] | {"table": table}}
        visited, _ = model.hidden(moved, tokens, model.initial_carry(params, 1))
        return jax.tree.leaves(visited)[0][0].sum(-1)

    jacobian = jax.jit(jax.jacobian(states))(params["embed"]["table"])[:, :T]
    moves = np.abs(jacobian).max(-1) > 0
    np.testing.assert_array_equal(moves, np.tril(np.ones((T, T), bool)))


def test_a_transformer_sees_its_span_and_no_further():
    model, params = made("transformer", num_layers=1, span=4)
    tokens = jnp.arange(T)[None]

    def last(table):
        moved = params | {"embed": {"table": table}}
        visited, _ = model.hidden(moved, tokens, model.initial_carry(params, 1))
        return visited[0, -1].sum()

    moves = np.abs(jax.grad(last)(params["embed"]["table"])[:T]).max(-1) > 0
    np.testing.assert_array_equal(moves, np.arange(T) >= T - 4)


@pytest.mark.parametrize("pieces", [[1] * T, [4, 1, 6], [7, 4]], ids=str)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_pieces_through_the_carry_give_the_same_nll_as_one_pass(backbone, pieces):
    model, params = made(backbone)
    tokens, targets = ids(), ids(2)
    whole, end = states_of(model, params, tokens)
    prep, carry, parts = model.prepare(params), None, []
    for piece in np.split(np.asarray(tokens), np.cumsum(pieces)[:-1], axis=1):
        states, carry = states_of(model, params, piece, carry, prep=prep)
        parts.append(states)
    if backbone == "rilm":
        return np.testing.assert_allclose(jnp.concatenate(parts, 1), whole, atol=1e-5)
    nll = [model.nll(params, x, targets) for x in (whole, jnp.concatenate(parts, 1))]
    np.testing.assert_allclose(*nll, rtol=1e-5, atol=1e-5)
    for a, b in zip(jax.tree.leaves(carry), jax.tree.leaves(end), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_masked_positions_might_as_well_not_be_there(backbone):
    """Masks of any shape: what is left of a row, and its carry, are those of the shorter row."""
    model, params = made(backbone)
    tokens = ids()
    mask = jnp.array([[1] * T, [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1], [0] * 4 + [1] * 3 + [0] * 4])
    # From the middle of a stream, so that the carry holds something.
    _, carry = states_of(model, params, ids(5))
    states, end = states_of(model, params, tokens, carry, mask=mask)
    for row in range(B):
        kept = np.flatnonzero(mask[row])
        alone = jax.tree.map(lambda x, row=row: x[row : row + 1], carry)
        wanted, wanted_end = states_of(model, params, tokens[row : row + 1, kept], alone)
        np.testing.assert_allclose(states[row, kept], wanted[0], rtol=1e-5, atol=1e-5)
        for a, b in zip(jax.tree.leaves(end), jax.tree.leaves(wanted_end), strict=True):
            np.testing.assert_allclose(a[row], b[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_a_row_does_not_depend_on_its_neighbours(backbone):
    model, params = made(backbone)
    tokens = ids()
    states, _ = states_of(model, params, tokens)
    others, _ = states_of(model, params, tokens.at[1:].set(ids(7)[1:]))
    np.testing.assert_array_equal(states[0], others[0])


@pytest.mark.parametrize("backbone", BACKBONES)
def test_each_memorises_a_text_of_200_tokens(backbone):
    model, _ = made(backbone, dim=32, span=64, k=0 if backbone in ("rilm", "lstm") else None)
    text = np.random.default_rng(0).integers(0, V, 201)
    inputs, targets = (jnp.asarray(text[i : i + 200]).reshape(4, 50) for i in (0, 1))
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-2))

    def loss(params):
        states, _ = model.hidden(params, inputs, model.initial_carry(params, 4))
        return model.loss(params, states, targets, jnp.ones(inputs.shape))[0]

    @jax.jit
    def train(params):
        def step(state, _):
            params, opt_state = state
            value, grads = jax.value_and_grad(loss)(params)
            updates, opt_state = tx.update(grads, opt_state, params)
            return (optax.apply_updates(params, updates), opt_state), value

        return jax.lax.scan(step, (params, tx.init(params)), None, length=400)[1]

    losses = train(model.init(jax.random.key(0)))
    assert losses[0] > 2.5  # log 20 = 3.0
    assert losses[-1] < 0.3, losses[::50]


@pytest.mark.parametrize("dropout", ["dropout", "word_dropout", "input_dropout", "output_dropout"])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_dropout_is_drawn_from_the_key_and_absent_without_one(backbone, dropout):
    model, params = made(backbone, **{dropout: 0.5})
    tokens = ids()
    plain, _ = states_of(*made(backbone)[:1], params, tokens)
    off, _ = states_of(model, params, tokens)
    np.testing.assert_array_equal(off, plain)
    draws = [states_of(model, params, tokens, rng=jax.random.key(s))[0] for s in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert jnp.any(draws[0] != draws[2]) and jnp.any(draws[0] != off)
    prepared, _ = states_of(
        model, params, tokens, rng=jax.random.key(0), prep=model.prepare(params)
    )
    np.testing.assert_allclose(prepared, draws[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("backbone", "options", "expected"),
    [
        ("lstm", {}, 2 * (8 * D * D + 4 * D)),
        ("lstm", {"hidden_dim": 5, "num_layers": 3}, 4 * 5 * (D + 5 + 1) + 2 * 4 * 5 * 11),
        ("transformer", {}, 2 * (4 * D * D + 2 * D * 4 * D + 2 * D) + D),
        ("transformer", {"hidden_dim": 7}, 2 * (4 * D * D + 2 * D * 7 + 2 * D) + D),
        # in, conv and its bias, select, dt and its bias, log_a, skip, out, norm; E = 2D, rank 1
        (
            "ssm",
            {},
            2 * (4 * D * D + 5 * 2 * D + 2 * D * 33 + 4 * D + 32 * D + 2 * D + 2 * D * D + D) + D,
        ),
        ("rhn", {"num_layers": 3}, 2 * D * (D + 3 * D + 3)),
    ],
)
def test_parameters_are_counted_by_formula(backbone, options, expected):
    options = {"head": "linear", "hidden_dim": None} | options
    _, params = made(backbone, **options)
    assert sizes.count(params)["backbone"] == expected


@pytest.mark.parametrize("backbone", ["transformer", "ssm"])
def test_what_has_no_steps_to_cut_refuses_k(backbone):
    with pytest.raises(InputError, match=r"k=8 .*leave k out"):
        build(ModelConfig(backbone=backbone, k=8))


def test_a_width_without_even_heads_is_refused():
    with pytest.raises(InputError, match="dim=12 does not divide into num_heads=4"):
        build(ModelConfig(backbone="transformer", dim=12))


@pytest.mark.parametrize("backbone", ["lstm", "rhn"])
def test_k_cuts_the_gradient_and_not_the_values(backbone):
    """State 9 is reached from word 8 and not from word 7 when gradients stop every 8 steps."""
    tokens = jnp.arange(T)[None]
    (model, params), (full, _) = made(backbone, k=8), made(backbone)

    def state(model, table):
        moved = params | {"embed": {"table": table}}
        return model.hidden(moved, tokens, model.initial_carry(params, 1))[0][0, 9].sum()

    table = params["embed"]["table"]
    np.testing.assert_array_equal(state(model, table), state(full, table))
    moves = np.abs(jax.grad(state, argnums=1)(model, table)[:T]).max(-1) > 0
    np.testing.assert_array_equal(moves, (np.arange(T) >= 8) & (np.arange(T) <= 9))
