"""Words as points: charts, learned curvature, projection."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, embedding, manifolds
from rilm_jax.manifolds import poincare


def made(**options):
    config = ModelConfig(**{"vocab_size": 50, "dim": 8} | options)
    manifold = manifolds.get(config.manifold)
    return config, manifold, embedding.init(jax.random.key(0), config, manifold)


@pytest.mark.parametrize("chart", ["ball", "tangent"])
@pytest.mark.parametrize("c", [10.0, 100.0])
def test_words_start_well_inside_a_small_ball(c, chart):
    config, manifold, params = made(c=c, chart=chart, dim=128)
    radii = jnp.sqrt(c) * jnp.linalg.norm(
        embedding.table(params, config, manifold).tangents, axis=1
    )
    assert radii.min() > 0.3 and radii.max() < 1.0


@pytest.mark.parametrize("manifold", ["poincare", "euclidean"])
@pytest.mark.parametrize(("given", "std"), [({}, 0.05), ({"embed_std": 0.1}, 0.1)])
def test_words_start_from_a_normal_of_that_spread(manifold, given, std):
    _, _, params = made(vocab_size=2000, dim=64, manifold=manifold, **given)
    table = np.asarray(params["table"])
    assert abs(table.std() - std) < 1e-3 and abs(table.mean()) < 1e-3


def test_both_charts_hold_the_same_words():
    """The same draw, as points or as the tangent vectors that reach them."""
    tables = []
    for chart in ("ball", "tangent"):
        config, manifold, params = made(chart=chart, c=2.0)
        tables.append(embedding.table(params, config, manifold))
    for a, b in zip(jax.tree.leaves(tables[0]), jax.tree.leaves(tables[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("chart", ["ball", "tangent"])
def test_a_table_holds_points_gaps_and_tangents_that_agree(chart):
    config, manifold, params = made(chart=chart, c=0.5)
    params["table"] = 6 * params["table"]
    table = embedding.table(params, config, manifold)
    np.testing.assert_allclose(table.points.gap, poincare.gap(table.points.coords, 0.5), rtol=1e-6)
    np.testing.assert_allclose(
        table.tangents, poincare.logmap0(table.points.coords, 0.5), rtol=1e-5, atol=1e-6
    )
    assert table.c == 0.5


def test_flat_words_have_no_gap_and_are_their_own_tangents():
    config, manifold, params = made(manifold="euclidean")
    table = embedding.table(params, config, manifold)
    assert table.points.gap is None
    np.testing.assert_array_equal(table.points.coords, params["table"])
    np.testing.assert_array_equal(table.tangents, params["table"])


def test_projection_moves_only_what_has_left_the_safe_ball():
    config, manifold, params = made()
    params["table"] = params["table"].at[3].multiply(1e3)
    table = embedding.project(params, config, manifold)["table"]
    assert jnp.linalg.norm(table[3]) < 1
    np.testing.assert_allclose(
        table[3] / jnp.linalg.norm(table[3]),
        params["table"][3] / jnp.linalg.norm(params["table"][3]),
        rtol=1e-5,
    )
    others = jnp.arange(50) != 3
    np.testing.assert_array_equal(table[others], params["table"][others])


def test_tangents_that_reach_too_far_are_shortened_and_others_are_not_touched():
    """So that in the tangent chart, too, tangents are log_0 of the points that heads read."""
    config, manifold, params = made(chart="tangent")
    stored = params["table"].at[3].multiply(100.0)
    assert jnp.linalg.norm(stored[3]) > 10
    after = embedding.project({"table": stored}, config, manifold)["table"]
    found = embedding.table({"table": after}, config, manifold)
    assert found.points.gap.min() > 0
    np.testing.assert_allclose(
        manifold.logmap0(found.points.coords, found.c), found.tangents, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(np.delete(after, 3, axis=0), np.delete(stored, 3, axis=0))
    again = embedding.project({"table": after}, config, manifold)["table"]
    np.testing.assert_allclose(again, after, rtol=1e-5)


def test_unit_words_are_read_at_length_one():
    config, manifold, params = made(manifold="euclidean", unit_words=True)
    found = embedding.table(params, config, manifold)
    np.testing.assert_allclose(jnp.linalg.norm(found.tangents, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(found.points.coords, found.tangents)


@pytest.mark.parametrize("c", [0.02, 1.0, 9.0])
def test_a_learned_curvature_starts_where_it_is_told_and_stays_between_its_bounds(c):
    config, _, params = made(c=c, learn_c=True)
    np.testing.assert_allclose(embedding.curvature(params, config), c, rtol=1e-5)
    for far in (-1e3, 1e3):
        value = embedding.curvature({"c": jnp.float32(far)}, config)
        assert config.c_min * 0.999 <= value <= config.c_max * 1.001
    slope = jax.grad(lambda p: embedding.curvature(p, config))(params)["c"]
    assert jnp.isfinite(slope) and slope > 0
