"""RiLM in PyTorch is our RiLM: the same losses, gradients and parameters, step after step."""

import functools

import jax
import numpy as np
import optax
import pytest

from experiments.benchmarks import programs, suites
from rilm_jax import build
from rilm_jax.training import optimizer
from rilm_jax.training.step import make_step

pytestmark = [pytest.mark.bench, pytest.mark.usefixtures("quick_compilation")]
STEPS = 4


@pytest.fixture(scope="module")
def peers():
    from experiments.benchmarks import peers  # here, as only `pytest -m bench` has its packages

    return peers


def make_run(model: str, **changed):
    sizes = {
        "batch_size": 8,
        "window": 20,
        "dim": 16,
        "schedule": "constant",
        "learning_rate": 1e-2,
    }
    return programs.run_config(model, **(sizes | {"vocab_size": 60} | changed))


def module(peers, params, run, way):
    return peers._module(params, run, way)


@functools.cache
def our_steps(model: str, vocab_size: int):
    """Parameters before and after, and what each step reported."""
    run = make_run(model, vocab_size=vocab_size)
    ours = build(run.model)
    tx = optimizer.build(run, 100)
    take = jax.jit(make_step(ours, tx, run))
    params, batch = ours.init(jax.random.key(0)), programs.batches(run, 1)
    before, infos = (params, tx.init(params), None, np.array(True)), []
    for t in range(STEPS):
        before, info = take(42, t, before, batch)
        infos.append((float(info.nll / info.weight), float(info.grad_norm)))
    return params, before[0], infos


@pytest.mark.parametrize(
    ("model", "with_geoopt", "vocab_size"),
    [
        ("flatrilm", False, 60),
        ("hyprilm", True, 60),
        ("hyprilm", False, 60),
        ("hyprilm", True, 300),  # more words than tokens
        ("lstm-tied", False, 60),
    ],
)
def test_steps_agree(peers, model, with_geoopt, vocab_size):
    params, moved, infos = our_steps(model, vocab_size)
    run = make_run(model, vocab_size=vocab_size)
    theirs = module(peers, params, run, peers.Way("eager", geoopt=with_geoopt))
    step = peers.Training(theirs, programs.batches(run, 1), run)
    for our_loss, our_norm in infos:
        loss, norm = step()
        assert loss == pytest.approx(our_loss, abs=1e-4)
        assert norm == pytest.approx(our_norm, rel=1e-3)
    pairs = [(theirs.table, moved["embed"]["table"])]
    if model == "lstm-tied":
        last = moved["backbone"]["params"]["layers_1"]
        pairs += [(theirs.lstm.weight_hh_l1.T, last["W_h"]), (theirs.lstm.bias_ih_l1, last["b"])]
    else:
        pairs += [
            (theirs.root, moved["backbone"]["root"]),
            (theirs.w_h, moved["backbone"]["phi"]["W_h"]),
            (theirs.log_tau, moved["head"]["log_tau"]),
        ]
    for a, b in pairs:
        np.testing.assert_allclose(a.detach().numpy(), b, atol=2e-4)
    assert float(optax.tree.norm(jax.tree.map(lambda a, b: a - b, moved, params))) > 0.1


@pytest.mark.parametrize("model", ["flatrilm", "hyprilm"])
def test_losses_agree_at_the_benchmark_s_size(peers, model, monkeypatch):
    eager = [
        way for way in peers.BALL_WAYS + peers.FLAT_WAYS if not (way.recurrence or way.decoder)
    ]
    assert len(eager) == 2
    monkeypatch.setattr(peers, "BALL_WAYS", eager[:1])
    monkeypatch.setattr(peers, "FLAT_WAYS", eager[1:])
    run = suites.FULL.run(model, 2000)
    (row,) = peers.rows(model, run, agree=1e-4)
    assert row.facts["loss"] == pytest.approx(row.facts["loss_of_ours"], abs=1e-4)
    assert row.tokens == 128 * 64


def test_another_model_is_refused(peers, monkeypatch):
    run = make_run("flatrilm")
    monkeypatch.setattr(peers, "ours", lambda *_: (1.0, 1.0))
    with pytest.raises(RuntimeError, match="not the same model"):
        peers.rows("flatrilm", run, agree=1e-4)


def test_the_gradient_stops_every_k_steps(peers):
    losses = {}
    for k in (0, 8, 20):
        run = make_run("hyprilm", k=k)
        params = build(run.model).init(jax.random.key(0))
        theirs = module(peers, params, run, peers.Way("eager"))
        losses[k] = peers.Training(theirs, programs.batches(run, 1), run)()
    assert losses[0] == losses[20]
    assert losses[0][0] == losses[8][0]
    assert losses[0][1] != losses[8][1]
