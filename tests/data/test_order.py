import jax
import numpy as np
import pytest

from rilm_jax import rng
from rilm_jax.data import epoch_order


@pytest.mark.parametrize(("n", "batch_size", "steps"), [(10, 4, 3), (8, 4, 2), (3, 128, 1)])
def test_every_window_once_and_the_last_batch_filled_up_at_weight_zero(n, batch_size, steps):
    order, weight = epoch_order(42, 0, n, batch_size)
    assert order.shape == weight.shape == (steps, batch_size)
    assert order.dtype == np.int32
    assert weight.dtype == np.float32
    flat, keep = np.ravel(order), np.ravel(weight).astype(bool)
    assert sorted(flat[keep].tolist()) == list(range(n))
    assert not flat[~keep].any()
    assert keep[:n].all()


def test_the_order_is_a_function_of_seed_and_epoch():
    def order(seed, epoch):
        return np.asarray(epoch_order(seed, epoch, 100, 10).order)

    np.testing.assert_array_equal(order(42, 2), order(42, 2))
    assert (order(42, 2) != order(42, 0)).any()
    assert (order(42, 2) != order(43, 2)).any()


def test_it_can_be_jitted_and_mapped_over_seeds():
    jitted = jax.jit(epoch_order, static_argnums=(2, 3))
    seeds = np.array([42, 43])
    mapped = jax.vmap(lambda seed: epoch_order(seed, 1, 100, 16))(seeds)
    for i, seed in enumerate(seeds):
        alone = epoch_order(int(seed), 1, 100, 16)
        np.testing.assert_array_equal(jitted(seed, 1, 100, 16).order, alone.order)
        np.testing.assert_array_equal(mapped.order[i], alone.order)


def test_purposes_have_keys_of_their_own():
    keys = [rng.key(42, purpose) for purpose in (rng.INIT, rng.DATA, rng.DROPOUT)]
    keys += [rng.key(43, rng.INIT)]
    data = {tuple(jax.random.key_data(key).tolist()) for key in keys}
    assert len(data) == len(keys)
    assert (rng.INIT, rng.DATA, rng.DROPOUT) == (0, 1, 2)
