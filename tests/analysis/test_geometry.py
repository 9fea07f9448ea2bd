"""Pictures of a model's space: what stands in them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build, config
from rilm_jax.analysis import curves, geometry
from rilm_jax.data import Vocabulary
from rilm_jax.errors import InputError

V = 30
VOCAB = Vocabulary(("<unk>", "<eos>", *(f"w{i}" for i in range(V - 2))))


@pytest.fixture(scope="module")
def models():
    made = {}
    for manifold in ("poincare", "euclidean"):
        model = build(ModelConfig(manifold=manifold, vocab_size=V, dim=5))
        params = model.init(jax.random.key(0))
        params["embed"]["table"] = 5 * params["embed"]["table"]
        made[manifold] = (model, model.project(params))
    return made


def test_the_first_prefix_is_the_first_of_known_words_in_one_line():
    ids = np.array([3, 4, 0, 5, 6, 1, 7, 8, 9, 10])
    assert geometry.first_prefix(ids, VOCAB, 3).tolist() == [7, 8, 9]
    assert geometry.first_prefix(ids, VOCAB, 2).tolist() == [3, 4]
    with pytest.raises(InputError, match="no 5 words on end"):
        geometry.first_prefix(ids, VOCAB, 5)


def test_a_trajectory_names_its_words_and_stays_in_the_disk(models):
    ids = np.array([3, 4, 5, 6])
    ball, flat = geometry.draw_trajectories(models, VOCAB, ids, title="a text").axes
    for axis in (ball, flat):
        assert [t.get_text() for t in axis.texts] == ["(start)", *VOCAB.decode(ids)]
        assert "% of variance" in axis.get_xlabel()
    places = np.concatenate([line.get_xydata() for line in ball.lines])
    assert np.linalg.norm(places, axis=1).max() < 1
    assert len(ball.lines[0].get_xydata()) > 2 == len(flat.lines[0].get_xydata())


def test_states_that_are_no_points_have_no_start(models):
    lstm = build(ModelConfig(backbone="lstm", head="tied", vocab_size=V, dim=5))
    params = lstm.init(jax.random.key(0))
    (axis,) = geometry.draw_trajectories({"lstm": (lstm, params)}, VOCAB, np.array([3, 4])).axes
    assert [t.get_text() for t in axis.texts] == VOCAB.decode([3, 4])


def test_radii_are_those_of_all_words_but_unk(models):
    model, params = models["poincare"]
    table = model.prepare(params).table
    found = np.concatenate(geometry.radii_by_frequency(model, params))
    np.testing.assert_allclose(found, jnp.linalg.norm(table.tangents, axis=1)[1:], rtol=1e-6)
    panels = geometry.draw_radii(models, np.arange(2, 20)).axes
    assert [len(panel.lines) for panel in panels] == [1, 0, 1, 0]
    assert [len(panel.patches) for panel in panels] == [0, 1, 0, 1]


def test_curves_show_the_mean_the_band_and_the_floor():
    run = [{"epoch": e, "ppl": [50.0 / e, 70.0 / e, None]} for e in (1, 2, 3)]
    (axis,) = curves.learning_curves({"a": run, "b": []}, floor=30.0).axes
    line, floor = axis.lines
    np.testing.assert_allclose(line.get_ydata(), [60, 30, 20])
    assert set(floor.get_ydata()) == {30.0}
    low, high = axis.collections[0].get_paths()[0].vertices[:, 1].min(), 70
    assert low == pytest.approx(50 / 3) and axis.get_ylim()[1] > high
    with pytest.raises(InputError, match="no run has an evaluation"):
        curves.learning_curves({"b": []})


def test_a_frontier_joins_the_sizes_of_a_model_on_both_sides():
    flat = config.to_flat(config.from_flat({"dim": 4, "vocab_size": 50, "head": "tied"}))
    runs = [
        {
            "config": flat,
            "steps": i,
            "best_valid_ppl": {"mean": 30.0 + i},
            "params": {"total": 10**i},
        }
        for i in (7, 6, 5)
    ]
    left, right = curves.frontier({"a": runs[:2], "b": runs[2:]}, floor=36.0).axes
    assert [list(line.get_xdata()) for line in left.lines[:2]] == [[1e6, 1e7], [1e5]]
    assert [list(line.get_ydata()) for line in right.lines[:2]] == [[36.0, 37.0], [35.0]]
    # 50 x 4 words, two 4 x 4 halves, bias and root; three times, for 128 windows of 64 a step.
    assert right.lines[1].get_xdata()[0] == 3 * (200 + 32 + 4 + 4) * 5 * 128 * 64
    with pytest.raises(InputError, match="collect one first"):
        curves.frontier({"a": []}, floor=None)
