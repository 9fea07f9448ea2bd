"""A manifold, a backbone and a head from outside the package, each in under thirty lines."""

import re
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from rilm_jax import ModelConfig, RunConfig, backbones, build, heads, manifolds
from rilm_jax.backbones import linen
from rilm_jax.errors import InputError
from rilm_jax.heads import tied
from rilm_jax.manifolds.product import BALL, DOT, Link, ProductForm
from rilm_jax.training import make_step, optimizer
from rilm_jax.training.step import Batch

pytestmark = pytest.mark.usefixtures("quick_compilation")
README = Path(__file__).resolve().parents[1] / "README.md"


# --8<-- [start:manifold]
def sphere() -> SimpleNamespace:
    """The sphere of curvature c in stereographic coordinates."""

    def square(x):
        return jnp.sum(x * x, -1, keepdims=True)

    def along(v, c, f):
        length = jnp.sqrt(c * square(v) + 1e-12)
        return f(length) / length * v

    def add(x, y, c):
        xy, x2, y2 = c * jnp.sum(x * y, -1, keepdims=True), c * square(x), c * square(y)
        return ((1 - 2 * xy - y2) * x + (1 + x2) * y) / (1 - 2 * xy + x2 * y2)

    m = SimpleNamespace(gap=lambda x, c: 1 + c * square(x), project=lambda x, c: x)
    m.expmap0 = lambda v, c: along(v, c, jnp.tan)
    m.logmap0 = lambda y, c: along(y, c, jnp.arctan)
    m.expmap = lambda x, v, c: add(x, m.expmap0(v / m.gap(x, c), c), c)
    m.logmap = lambda x, y, c: m.gap(x, c) * m.logmap0(add(-x, y, c), c)
    m.ptransp0 = lambda y, v, c: m.gap(y, c) * v
    m.ptransp = lambda x, y, v, c: m.ptransp0(y, v / m.gap(x, c), c)  # along circles through 0
    m.dist = lambda x, y, c: 2 * jnp.linalg.norm(m.logmap0(add(-x, y, c), c), axis=-1)
    m.sqdist = lambda x, y, c: m.dist(x, y, c) ** 2
    m.pairwise_sqdist = lambda xs, ys, c, *, exact=False: m.sqdist(xs[..., None, :], ys, c)
    # p = sin^2(sqrt(c) d / 2) is an inner product as on the ball, with 1 + c |x|^2 for the gap.
    angle = lambda p: jnp.arcsin(jnp.sqrt(jnp.clip(p, 1e-12, 1 - 1e-6)))  # noqa: E731
    slope = lambda p, a: 2 * a / jnp.sqrt(jnp.clip(p * (1 - p), 1e-12))  # noqa: E731
    half = Link(angle, lambda a: 2 * a * a, slope, "highest", jnp.min)
    m.product_form = ProductForm(BALL.queries, BALL.keys, lambda c: 2 / c, half, half)
    return m


# --8<-- [end:manifold]
# --8<-- [start:backbone]
class Average(nn.Module):
    """h' = a h + (1 - a) W e, a learned for each unit."""

    dim: int

    def initial_carry(self, batch_size):
        return jnp.zeros((batch_size, self.dim))

    @nn.compact
    def __call__(self, inputs, carry, mask, deterministic):
        keep = nn.sigmoid(self.param("keep", nn.initializers.ones, (self.dim,)))
        rows = nn.Dense(self.dim)(inputs)
        mask = jnp.ones(rows.shape[:2], bool) if mask is None else mask

        def step(h, at_t):
            row, counts = at_t
            h = jnp.where(counts[:, None], keep * h + (1 - keep) * row, h)
            return h, h

        carry, states = jax.lax.scan(step, carry, (rows.swapaxes(0, 1), mask.T))
        return states.swapaxes(0, 1), carry


# --8<-- [end:backbone]
# --8<-- [start:head]
def cosine(context: heads.Context) -> heads.Head:
    """Cosines over a learned temperature."""

    def unit(x):
        return x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6)

    def queries(params, table, states):
        return unit(tied.vectors(context, table, states))

    def keys(params, table):
        return heads.Keys(unit(table.tangents), jnp.exp(params["log_scale"]), None)

    return heads.Head(
        DOT,
        lambda key: {"log_scale": jnp.array(2.0)},
        queries,
        keys,
        tied.word_queries,
        tied.word_keys,
        DOT,
    )


# --8<-- [end:head]
@pytest.fixture
def registered(monkeypatch):
    """The three under their names, for one test."""
    for module in (manifolds, backbones, heads):
        monkeypatch.setattr(module._REGISTRY, "_added", {})
    # --8<-- [start:register]
    manifolds.register("sphere", sphere())
    backbones.register("average", linen.adapt(lambda config: Average(config.dim)))
    heads.register("cosine", cosine)
    # --8<-- [end:register]


def test_names_of_the_package_stay_its_own_and_others_may_be_given_again(registered):
    for module, own, added in (
        (manifolds, "poincare", "sphere"),
        (backbones, "lstm", "average"),
        (heads, "tied", "cosine"),
    ):
        theirs = module.get(added)
        with pytest.raises(InputError, match=f"name '{own}' is taken"):
            module.register(own, theirs)
        module.register(added, theirs)
        assert {own, added} < set(module.names())


def train_two_steps(config: ModelConfig) -> tuple[float, float]:
    run = RunConfig(model=config, batch_size=3, window=7, schedule="constant", learning_rate=1e-2)
    model, tx = build(config), optimizer.build(run, 10)
    params = model.init(jax.random.key(0))
    ids = jax.random.randint(jax.random.key(1), (3, 8), 0, config.vocab_size)
    batch = Batch(ids[:, :-1], ids[:, 1:], jnp.ones((3, 7)))
    step = jax.jit(make_step(model, tx, run))
    state = (params, tx.init(params), None, True)
    state, first = step(jnp.asarray(1), jnp.asarray(0), state, batch)
    assert all(
        jnp.any(a != b) for a, b in zip(*map(jax.tree.leaves, (state[0], params)), strict=True)
    )
    return float(first.nll), float(step(jnp.asarray(1), jnp.asarray(1), state, batch)[1].nll)


@pytest.mark.parametrize(
    "options",
    [
        {"manifold": "sphere"},
        {"backbone": "average"},
        {"head": "cosine"},
        {"manifold": "sphere", "backbone": "average", "head": "geodesic"},
        {"manifold": "sphere", "head": "cosine"},
    ],
    ids=str,
)
def test_a_part_from_outside_trains(registered, options):
    first, second = train_two_steps(ModelConfig(vocab_size=20, dim=8, **options))
    assert second < first


def test_the_sphere_is_one(registered):
    """A quarter of a circle is pi / (2 sqrt(c)) long, and the product form gives distances."""
    m, c = manifolds.get("sphere"), 2.0
    x, y = 0.4 * jax.random.normal(jax.random.key(0), (2, 5, 3))
    np.testing.assert_allclose(m.expmap(x, m.logmap(x, y, c), c), y, atol=1e-5)
    far = m.expmap0(jnp.array([np.pi / 8 / np.sqrt(c), 0.0]), c)
    np.testing.assert_allclose(m.dist(-far, far, c), np.pi / 2 / np.sqrt(c), rtol=1e-5)
    form = m.product_form
    p = form.queries(x, m.gap(x, c), c) @ form.keys(y, m.gap(y, c), c).T
    np.testing.assert_allclose(
        form.scale(c) * form.squared(p), m.pairwise_sqdist(x, y, c), rtol=1e-4, atol=1e-5
    )


def test_states_of_another_shape_are_refused():
    class Pooled(nn.Module):
        @nn.compact
        def __call__(self, inputs, carry, mask, deterministic):
            return inputs.mean(1), carry

    with pytest.raises(InputError, match=r"Pooled turns inputs \[1, 1, 8\] into .* \[1, 8\]"):
        linen.adapt(lambda config: Pooled())(ModelConfig(dim=8), manifolds.euclidean)


def test_the_readmes_own_module(registered):
    section = README.read_text("utf-8").partition("## Your own Flax module")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found, "the README shows a module"
    code = found[1]
    lines = [line for line in code.splitlines() if line.strip()]
    assert len([line for line in lines if "import " not in line]) <= 10
    scope = {}
    exec(compile(code, str(README), "exec"), scope)
    model = scope["model"]
    params = model.init(jax.random.key(0))
    assert model.config.head == "geodesic" and model.config.backbone == "gru"
    tokens = jnp.ones((2, 5), jnp.int32)
    states, _ = model.hidden(params, tokens, model.initial_carry(params, 2))
    assert model.scores(params, states).shape == (2, 5, model.config.vocab_size)
    first, second = train_two_steps(model.config)
    assert second < first
