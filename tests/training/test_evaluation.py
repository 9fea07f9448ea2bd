"""Evaluation by the protocol: every target once, whatever the batch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import build
from rilm_jax.training import Evaluator


@pytest.fixture(scope="module")
def trained(tiny):
    """Two seeds' parameters, not near uniform."""
    model = build(tiny().model)
    one, two = (model.init(jax.random.key(s)) for s in (0, 1))
    params = jax.tree.map(lambda a, b: jnp.stack([a, b]), one, two)
    params["embed"]["table"] = 2 * params["embed"]["table"]
    return model, params


def sequential_nll(model, params, ids, window):
    """NLL of every target, window after window, each from the root."""
    result = []
    read = jax.jit(model.hidden)
    for start in range(0, len(ids) - 1, window):
        piece = ids[start : start + window + 1]
        tokens = np.zeros((1, window), np.int32)
        tokens[0, : len(piece) - 1] = piece[:-1]
        states, _ = read(params, tokens, model.initial_carry(params, 1))
        logs = jax.nn.log_softmax(model.scores(params, states))[0]
        result.extend(-logs[t, word] for t, word in enumerate(piece[1:]))
    return np.array(result)


def test_every_batch_size_gives_the_same_perplexity(trained, corpus, tiny):
    """P1 and P3: 60 targets in windows of 8; the last is short, and so is the last batch."""
    model, params = trained
    reports = {
        size: Evaluator(model, corpus.valid, tiny(eval_batch_size=size)).report(params)
        for size in (1, 3, 8, 128)
    }
    nll = sequential_nll(model, jax.tree.map(lambda x: x[0], params), corpus.valid, 8)
    for report in reports.values():
        assert report["n_targets"] == 60 == len(nll)
        np.testing.assert_allclose(report["ppl"], reports[1]["ppl"], rtol=1e-6)
        np.testing.assert_allclose(report["ppl_non_unk"], reports[1]["ppl_non_unk"], rtol=1e-6)
        np.testing.assert_allclose(report["ppl"][0], np.exp(nll.mean()), rtol=1e-5)
        known = corpus.valid[1:] != 0
        np.testing.assert_allclose(report["ppl_non_unk"][0], np.exp(nll[known].mean()), rtol=1e-5)
    assert reports[1]["ppl"][0] != reports[1]["ppl"][1]


def test_evaluating_twice_gives_the_same_numbers(trained, corpus, tiny):
    """P5, bitwise; and what is evaluated stays as it was."""
    model, params = trained
    before = jax.tree.map(np.array, params)
    evaluator = Evaluator(model, corpus.valid, tiny())
    assert evaluator.report(params) == evaluator.report(params)
    for a, b in zip(jax.tree.leaves(params), jax.tree.leaves(before), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_split_smaller_than_a_batch_or_a_window_is_evaluated_in_full(trained, corpus, tiny, n):
    """P4."""
    model, params = trained
    evaluator = Evaluator(model, corpus.valid[:n], tiny(eval_batch_size=128))
    nll = evaluator.nll(params)
    assert nll.shape == (2, n - 1)
    np.testing.assert_array_equal(evaluator.targets, corpus.valid[1:n])
    wanted = sequential_nll(model, jax.tree.map(lambda x: x[0], params), corpus.valid[:n], 8)
    np.testing.assert_allclose(nll[0], wanted, rtol=1e-5)


def test_one_stream_carries_its_state_through_the_whole_split(trained, corpus, tiny):
    """Equal to one pass over the split as a single window; windows from the root are not."""
    model, params = trained
    nll = Evaluator(model, corpus.valid, tiny(eval_streams=1)).nll(params)
    first = jax.tree.map(lambda x: x[0], params)
    wanted = sequential_nll(model, first, corpus.valid, 60)
    np.testing.assert_allclose(nll[0], wanted, rtol=1e-5)
    assert not np.allclose(nll[0], sequential_nll(model, first, corpus.valid, 8), rtol=1e-3)
