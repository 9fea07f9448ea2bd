"""|h| word by word, its table and its picture."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.analysis import collapse, figures


@pytest.fixture(scope="module")
def rows():
    def row(recurrence):
        config = ModelConfig(vocab_size=20, dim=4, c=0.5, init="plain", recurrence=recurrence)
        model = build(config)
        params = model.init(jax.random.key(0))
        windows = np.arange(24).reshape(6, 4) % 20
        states, _ = model.hidden(params, jnp.asarray(windows), model.initial_carry(params, 6))
        norms = collapse.norms_by_step(model, params, windows)
        wanted = np.sqrt(0.5) * np.linalg.norm(states.coords, axis=-1)
        np.testing.assert_allclose(norms["mean"], wanted.mean(0), rtol=1e-5)
        np.testing.assert_allclose(norms["max"], wanted.max(0), rtol=1e-5)
        record = {"recurrence": recurrence, "init": "plain", "guard": "gap"}
        return record | {"untrained": norms, "trained": norms, "valid_ppl": 12.5}

    return [row("mobius"), row("naive")]


def test_the_table_has_a_row_a_recurrence(rows):
    lines = collapse.table([rows[0], rows[1] | {"valid_ppl": None}]).splitlines()
    assert len(lines) == 4 and len({line.count(" | ") for line in lines if "---" not in line}) == 1
    assert "mobius" in lines[2] and "12.50" in lines[2]
    assert f"{rows[0]['untrained']['mean'][0]:.4f}" in lines[2]
    assert "naive" in lines[3] and "not finite" in lines[3]


def test_the_picture_is_drawn(rows, tmp_path):
    path = figures.save(collapse.plot(rows), tmp_path / "norms.png")
    assert path.read_bytes().startswith(b"\x89PNG")
