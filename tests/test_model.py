"""The model as a whole: sizes, options, dtypes, batching, streaming, and where gradients stop."""

import functools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.embedding import Points
from rilm_jax.errors import InputError
from rilm_jax.manifolds import poincare

pytestmark = pytest.mark.usefixtures("quick_compilation")

V, D = 30, 8

slow = pytest.mark.slow

OPTIONS = {
    "ball": {},
    "flat": {"manifold": "euclidean"},
    "ball-gated": {"composition": "gated"},
    "flat-gated": {"composition": "gated", "manifold": "euclidean"},
    "ball-spline": {"composition": "spline"},
    "flat-spline": {"composition": "spline", "manifold": "euclidean"},
    "fixed-tau": {"learn_tau": False, "bias": True},
    "unsquared": {"squared": False},
    "unsquared-flat": {"squared": False, "manifold": "euclidean", "bias": True},
    "tangent": {"chart": "tangent"},
    "learned-c": {"learn_c": True, "c": 0.7, "bias": True},
    "learned-c-tangent": {"learn_c": True, "c": 0.7, "chart": "tangent", "squared": False},
    "curved": {"c": 5.0},
    "plain-init": {"init": "plain"},
    "naive": {"recurrence": "naive"},
    "projected": {"recurrence": "projected", "projection_eps": 0.1},
    "clip-guard": {"guard": "clip"},
    "full-backprop": {"k": 0},
    "dropout": {"dropout": 0.4, "output_dropout": 0.3, "word_dropout": 0.2},
}


def options(fast, names=tuple(OPTIONS)):
    """Names as parameters of a test, those not in `fast` marked slow (each costs a compilation)."""
    return [pytest.param(n, marks=() if n in fast else slow) for n in names]


@pytest.fixture
def x64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@functools.cache
def make(name="ball", **more):
    """A small model and parameters whose words and states are well apart."""
    config = {"vocab_size": V, "dim": D, "tau": 2.0} | OPTIONS[name] | more
    model = build(ModelConfig(**config))
    params = model.init(jax.random.key(0))
    params["embed"]["table"] = 8 * params["embed"]["table"]
    params["backbone"]["root"] = 20 * params["backbone"]["root"]
    return model, model.project(params)


def tokens_of(*shape, seed=1, vocab_size=V):
    return jax.random.randint(jax.random.key(seed), shape, 0, vocab_size, jnp.int32)


def mean_nll(model, params, tokens, targets, *, carry=None, weights=None, rng=None):
    carry = model.initial_carry(params, len(tokens)) if carry is None else carry
    weights = jnp.ones(tokens.shape, jnp.float32) if weights is None else weights
    states, _ = model.hidden(params, tokens, carry, rng=rng)
    return model.loss(params, states, targets, weights)[0]


def assert_close_trees(got, wanted, tolerance):
    """Every leaf within `tolerance` of the wanted leaf's largest entry.

    A scalar's gradient sums terms of order 1 which may cancel: it is judged by 0.01 at least.
    """
    for (path, a), b in zip(
        jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(wanted), strict=True
    ):
        scale = max(float(jnp.max(jnp.abs(b))), 1e-2 if b.ndim == 0 else 1e-12)
        error = float(jnp.max(jnp.abs(a - b)))
        assert error <= tolerance * scale, (jax.tree_util.keystr(path), error / scale)


# ------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("manifold", ["poincare", "euclidean"])
@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"learn_tau": False, "tau": 0.1}, 289_024),
        ({}, 289_025),
        ({"composition": "gated"}, 321_921),
        ({"bias": True}, 291_025),
        ({"composition": "spline"}, 289_025 + 128 * 15),
    ],
)
def test_parameters_are_as_many_as_the_paper_counts(manifold, options, count):
    model = build(ModelConfig(vocab_size=2000, dim=128, manifold=manifold, **options))
    params = jax.eval_shape(model.init, jax.random.key(0))
    assert sum(x.size for x in jax.tree.leaves(params)) == count
    assert params["embed"]["table"].size == 256_000
    assert params["backbone"]["root"].size == 128


def test_a_learned_curvature_is_one_parameter():
    fixed, learned = (
        jax.eval_shape(build(ModelConfig(learn_c=on)).init, jax.random.key(0))
        for on in (False, True)
    )
    assert len(jax.tree.leaves(learned)) == len(jax.tree.leaves(fixed)) + 1
    assert learned["embed"]["c"].shape == ()


@pytest.mark.parametrize("backbone", ["lstm", "rhn"])
def test_a_uniform_start_fills_its_range_in_every_matrix(backbone):
    plain = {"backbone": backbone, "head": "linear", "manifold": "euclidean", "vocab_size": 200}
    model = build(ModelConfig(**plain, dim=32, init="uniform", init_scale=0.05))
    params = model.init(jax.random.key(0))
    matrices = {
        path[-1].key: x for path, x in jax.tree_util.tree_leaves_with_path(params) if x.ndim > 1
    }
    recurrent = {"lstm": {"W_x", "W_h"}, "rhn": {"W", "R", "b"}}[backbone]
    assert matrices.keys() == {"table", "W", *recurrent}
    assert params["embed"]["table"].shape == params["head"]["W"].shape == (200, 32)
    for name, x in matrices.items():
        if name != "b":  # an RHN's has a row a layer
            assert 0.99 * 0.05 < jnp.max(jnp.abs(x)) <= 0.05
            np.testing.assert_allclose(jnp.std(x), 0.05 / np.sqrt(3), rtol=0.03)
    assert jnp.any(params["embed"]["table"] != params["head"]["W"])


# ----------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "name", options(("flat-gated", "ball-spline", "learned-c-tangent", "projected", "dropout"))
)
def test_every_option_trains(name):
    """Finite, nowhere vanishing gradients (G16), and a short step along them lowers the loss."""
    model, params = make(name)
    tokens = tokens_of(3, 20)
    rng = jax.random.key(5) if name == "dropout" else None

    @jax.jit
    @jax.value_and_grad
    def loss(params):
        return mean_nll(model, params, tokens, jnp.roll(tokens, -1, axis=1), rng=rng)

    before, grads = loss(params)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    moved = model.project(jax.tree.map(lambda p, g: p - 0.01 * g / norm, params, grads))
    assert np.isfinite(before) and loss(moved)[0] < before
    for path, g in jax.tree_util.tree_leaves_with_path(grads):
        where = jax.tree_util.keystr(path)
        assert jnp.all(jnp.isfinite(g)), where
        assert jnp.any(g != 0), where
    assert jnp.all(grads["backbone"]["root"] != 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backbone": "rlim"}, "did you mean 'rilm'"),
        ({"head": "geodesik"}, "did you mean 'geodesic'"),
        ({"manifold": "poincaré"}, "did you mean 'poincare'"),
        ({"dtype": "float64"}, "JAX_ENABLE_X64"),
        ({"manifold": "euclidean", "learn_c": True}, "no curvature"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_sentence(options, said):
    with pytest.raises(InputError, match=said) as error:
        build(ModelConfig(**options))
    assert "\n" not in str(error.value)


# ------------------------------------------------------------------------------------ dtypes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {"bias": True, "learn_c": True, "dropout": 0.2, "word_dropout": 0.1, "output_dropout": 0.2},
        {"manifold": "euclidean", "composition": "gated", "bias": True, "squared": False},
        {"composition": "spline", "recurrence": "projected", "chart": "tangent"},
    ],
    ids=["ball", "flat", "spline"],
)
def test_the_dtype_of_the_configuration_holds_everywhere(x64, dtype, options):
    model = build(ModelConfig(vocab_size=V, dim=D, dtype=dtype, **options))
    tokens, weights = tokens_of(2, 9), jnp.ones((2, 9), jnp.float32)

    def everything(key):
        params = model.init(key)

        def loss(params):
            carry = model.initial_carry(params, 2)
            states, after = model.hidden(params, tokens, carry, mask=weights, rng=key)
            value, sums = model.loss(params, states, tokens, weights)
            rest = (
                model.scores(params, states),
                model.nll(params, states, tokens),
                model.word_scores(params, tokens),
            )
            return value, (states, after, sums["nll"], rest)

        return params, model.project(params), jax.value_and_grad(loss, has_aux=True)(params)

    for path, leaf in jax.tree_util.tree_leaves_with_path(
        jax.eval_shape(everything, jax.random.key(0))
    ):
        assert leaf.dtype == dtype, jax.tree_util.keystr(path)


# ------------------------------------------------------------------------- gradients in time

RECURRENCES = ("ball", "flat", "ball-gated", "flat-gated", "ball-spline", "flat-spline")
FAST_CUTS = {("ball", 8), ("flat", 3), ("flat-gated", 0), ("ball-spline", 3)}


@pytest.mark.parametrize("name", options(("ball", "flat-gated"), RECURRENCES))
def test_truncation_equals_unrolled_pieces_with_constant_entry_states(name):
    """G16, over 64 steps with k = 8, the default; the root is reached from the first piece."""
    model, params = make(name)
    full, _ = make(name, k=0)
    tokens, targets = tokens_of(2, 64), tokens_of(2, 64, seed=2)

    @jax.jit
    @functools.partial(jax.grad, argnums=(0, 1), has_aux=True)
    def piece(params, carry, tokens, targets):
        states, carry = full.hidden(params, tokens, carry)
        return jnp.sum(full.nll(params, states, targets)) / 128, carry

    carry, enter = jax.vjp(lambda p: full.initial_carry(p, 2), params)
    wanted = jax.tree.map(jnp.zeros_like, params)
    for start in range(0, 64, 8):
        here = slice(start, start + 8)
        (own, into_entry), carry = piece(params, carry, tokens[:, here], targets[:, here])
        wanted = jax.tree.map(jnp.add, wanted, own)
        if start == 0:
            wanted = jax.tree.map(jnp.add, wanted, enter(into_entry)[0])

    got = jax.jit(jax.grad(lambda p: mean_nll(model, p, tokens, targets)))(params)
    assert jnp.all(got["backbone"]["root"] != 0)
    assert_close_trees(got, wanted, 1e-5)


@pytest.mark.parametrize("name", options(("ball",), ("ball", "flat")))
def test_k_as_long_as_the_window_is_full_backpropagation(name):
    tokens, targets = tokens_of(2, 12), tokens_of(2, 12, seed=2)

    def gradient(k):
        model, params = make(name, k=k)
        return jax.jit(jax.grad(lambda p: mean_nll(model, p, tokens, targets)))(params)

    full, at_length, shorter = (gradient(k) for k in (0, 12, 6))
    assert_close_trees(at_length, full, 1e-6)
    with pytest.raises(AssertionError):
        assert_close_trees(shorter, full, 1e-3)


@pytest.mark.parametrize(
    ("name", "k"),
    [
        pytest.param(name, k, marks=() if (name, k) in FAST_CUTS else slow)
        for name in RECURRENCES
        for k in (0, 3, 8)
    ],
)
def test_gradients_stop_at_the_boundaries_and_nowhere_else(name, k):
    """d state_t / d word_s differs from 0 exactly where s <= t in the same piece of k steps.

    Every position reads a word of its own, so that a row of the table is an input at one time.
    """
    steps = 20
    model, params = make(name, k=k)
    tokens = jnp.arange(steps)[None]
    direction = jax.random.normal(jax.random.key(3), (D,))

    def outputs(table):
        own = params | {"embed": {"table": table}}
        states, _ = model.hidden(own, tokens, model.initial_carry(own, 1))
        return states.coords[0] @ direction

    jacobian = jax.jit(jax.jacrev(outputs))(params["embed"]["table"])[:, :steps]
    reaches = np.asarray(jnp.any(jacobian != 0, axis=-1))
    t, s = np.mgrid[:steps, :steps]
    wanted = (s <= t) & (s // k == t // k if k else True)
    np.testing.assert_array_equal(reaches, wanted)


# ------------------------------------------------------------- carry, masks, batches, streams


@pytest.mark.parametrize(
    "name",
    options(("flat", "ball-gated"), (*RECURRENCES, "naive", "projected", "learned-c-tangent")),
)
def test_streaming_batching_and_padding_change_nothing(name):
    """One pass, pieces, and token by token; alone, among others (P6), and padded: one NLL."""
    model, params = make(name)
    tokens, targets = tokens_of(3, 24), tokens_of(3, 24, seed=2)
    prep = model.prepare(params)

    @jax.jit
    def read(tokens, targets, mask, carry):
        states, carry = model.hidden(params, tokens, carry, mask=mask, prep=prep)
        return model.nll(params, states, targets, prep=prep), carry

    root, ones = model.initial_carry(params, 3), jnp.ones((3, 24))
    wanted, end = read(tokens, targets, ones, root)

    for size in (1, 8):
        carry, pieces = root, []
        for start in range(0, 24, size):
            piece = slice(start, start + size)
            nll, carry = read(tokens[:, piece], targets[:, piece], ones[:, piece], carry)
            pieces.append(nll)
        np.testing.assert_allclose(jnp.concatenate(pieces, 1), wanted, rtol=1e-5, atol=1e-5)
        assert_close_trees(carry, end, 1e-5)

    others = tokens.at[1:].set(tokens_of(2, 24, seed=9))
    among_others, _ = read(others, targets, ones, root)
    np.testing.assert_array_equal(among_others[0], wanted[0])
    assert jnp.any(among_others[1] != wanted[1])

    # The row that ends early: padded in the batch, and alone at its own length.
    padded, after = read(tokens.at[1, 17:].set(0), targets, ones.at[1, 17:].set(0), root)
    np.testing.assert_array_equal(padded[0], wanted[0])
    np.testing.assert_array_equal(padded[1, :17], wanted[1, :17])
    short = tokens[1:2, :17], targets[1:2, :17], ones[1:2, :17]
    alone, alone_end = read(*short, jax.tree.map(lambda x: x[1:2], root))
    np.testing.assert_allclose(alone[0], wanted[1, :17], rtol=1e-5, atol=1e-5)
    assert_close_trees(jax.tree.map(lambda x: x[1:2], after), alone_end, 1e-5)


def test_masked_positions_anywhere_leave_the_carry_bitwise_unchanged():
    model, params = make("ball")
    tokens = tokens_of(2, 10)
    carry = model.initial_carry(params, 2)
    mask = jnp.ones((2, 10)).at[0, 3:6].set(0).at[1].set(0)
    states, after = jax.jit(model.hidden)(params, tokens, carry, mask=mask)
    for visited, start, end in zip(states, carry, after, strict=True):
        for t in (3, 4, 5):
            np.testing.assert_array_equal(visited[0, t], visited[0, 2])
        assert jnp.any(visited[0, 6] != visited[0, 5])
        np.testing.assert_array_equal(end[1], start[1])


@pytest.mark.parametrize("shape", [(2, 3), (4, 10)], ids=["few-tokens", "many-tokens"])
def test_a_prepared_model_gives_what_an_unprepared_one_gives(shape):
    """With more tokens than words, and with fewer, where the words' half of phi is gathered."""
    model, params = make("flat")
    tokens = tokens_of(*shape)

    @jax.jit
    def scores(params, prep):
        carry = model.initial_carry(params, shape[0], prep=prep)
        return model.scores(params, model.hidden(params, tokens, carry, prep=prep)[0], prep=prep)

    plain, prepared = scores(params, None), scores(params, model.prepare(params))
    np.testing.assert_allclose(plain, prepared, rtol=1e-5, atol=1e-5)


# -------------------------------------------------------------------------------------- loss


@pytest.mark.parametrize(
    "name",
    options(("flat", "learned-c"), ("ball", "flat", "unsquared", "unsquared-flat", "learned-c")),
)
def test_loss_and_nll_are_the_softmax_of_the_scores_with_every_gradient(name):
    """Values and gradients of all parameters against jax.nn.log_softmax, to 1e-5."""
    model, params = make(name)
    tokens, targets = tokens_of(3, 21), tokens_of(3, 21, seed=2)
    weights = (tokens_of(3, 21, seed=3) % 3).astype(jnp.float32)  # zeros among them
    cotangent = jax.random.normal(jax.random.key(4), (3, 21))

    def states_of(params):
        return model.hidden(params, tokens, model.initial_carry(params, 3))[0]

    def plain_nll(params):
        logs = jax.nn.log_softmax(model.scores(params, states_of(params)))
        return -jnp.take_along_axis(logs, targets[..., None], -1)[..., 0]

    def loss(params):
        return model.loss(params, states_of(params), targets, weights)

    def plain_loss(params):
        return jnp.sum(weights * plain_nll(params)) / jnp.sum(weights)

    @jax.jit
    def compare(params):
        nll, pull = jax.vjp(lambda p: model.nll(p, states_of(p), targets), params)
        plain, plain_pull = jax.vjp(plain_nll, params)
        return (
            (jax.value_and_grad(loss, has_aux=True)(params), nll, pull(cotangent)),
            (jax.value_and_grad(plain_loss)(params), plain, plain_pull(cotangent)),
        )

    (((value, sums), grads), nll, pulled), ((plain, plain_grads), plain_nll_, plain_pulled) = (
        compare(params)
    )
    np.testing.assert_allclose(value, plain, rtol=1e-5)
    np.testing.assert_allclose(nll, plain_nll_, rtol=1e-5, atol=1e-5)
    assert_close_trees(grads, plain_grads, 1e-5)
    assert_close_trees(pulled, plain_pulled, 2e-5)
    assert sums["weight"] == jnp.sum(weights)
    np.testing.assert_allclose(sums["nll"], jnp.sum(plain_nll_[weights > 0]), rtol=1e-5)


def test_weights_and_reductions():
    """P2: what the weights leave out changes nothing; reductions divide; nothing costs nothing."""
    model, params = make("flat")
    tokens, weights = tokens_of(4, 6), jnp.ones((4, 6)).at[0, 2:].set(0)
    root = model.initial_carry(params, 4)

    @jax.jit
    @functools.partial(jax.value_and_grad, has_aux=True)
    def loss(params, tokens, targets, weights):
        states, _ = model.hidden(params, tokens, root)
        mean, sums = model.loss(params, states, targets, weights)
        how = "sum_time_mean_batch"
        return mean, (sums, model.loss(params, states, targets, weights, reduction=how)[0])

    (mean, (sums, summed)), grads = loss(params, tokens, tokens, weights)
    assert sums["weight"] == 20
    np.testing.assert_allclose(mean, sums["nll"] / 20, rtol=1e-6)
    np.testing.assert_allclose(summed, sums["nll"] / 4, rtol=1e-6)

    # The first row's tokens 0 and 1 are read to predict its two targets; the rest is padding.
    other = loss(params, tokens.at[0, 2:].set(7), tokens.at[0, 2:].set(11), weights)
    np.testing.assert_allclose(other[0][0], mean, rtol=1e-6)
    assert_close_trees(other[1], grads, 1e-6)

    (nothing, (sums, _)), grads = loss(params, tokens, tokens, 0 * weights)
    assert nothing == 0 and sums["nll"] == 0 and sums["weight"] == 0
    assert all(jnp.all(g == 0) for g in jax.tree.leaves(grads))


# -------------------------------------------------------------------------------- projection


@pytest.mark.parametrize("name", ["ball", "tangent"])
def test_projection_brings_words_and_root_back_into_the_ball(name):
    model, params = make(name)
    grown = jax.tree.map(lambda x: 50 * x, params)
    back = model.project(grown)
    assert jnp.all(jnp.linalg.norm(back["backbone"]["root"]) < 1)
    points = model.prepare(back).table.points
    assert isinstance(points, Points)
    assert jnp.all(jnp.linalg.norm(points.coords, axis=-1) < 0.9961)
    np.testing.assert_allclose(points.gap, poincare.gap(points.coords, 1.0), rtol=1e-5)
    np.testing.assert_array_equal(model.project(params)["embed"]["table"], params["embed"]["table"])


def test_an_unknown_reduction_is_refused():
    model = build(ModelConfig(vocab_size=5, dim=2))
    params = model.init(jax.random.key(0))
    tokens = jnp.zeros((1, 2), int)
    states, _ = model.hidden(params, tokens, model.initial_carry(params, 1))
    with pytest.raises(InputError, match="did you mean 'mean_tokens'"):
        model.loss(params, states, tokens, jnp.ones((1, 2)), reduction="mean_token")
