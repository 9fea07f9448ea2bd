# pyright: reportMissingImports=false
"""Our models written with PyTorch and geoopt: what this library is measured against.

The same parameters, truncation, loss, clipping, Adam and projection as ours, written as a careful
user of both packages would: the words' half of phi is computed once a step, the ball's maps are
geoopt's, and distances come from one matrix product (Gram form) and one logarithm and root a score,
never from a broadcast difference.

What `torch.compile` is given decides what it is worth here:

- The step of the recurrence and the decoder are compiled, each once. As one graph with the loop
  unrolled, Flat RiLM took twice as long to compile and was no faster.
- The LSTM is `torch.nn.LSTM`, whose layers are one fused call; its decoder can be compiled.
- geoopt's maps branch on the value of their curvature, so Dynamo breaks the graph at each of them.
  Hence a row where the decoder alone is compiled, and one where the maps are written out in plain
  PyTorch, to tell what geoopt costs.

Only the benchmark imports this module; it needs the `bench` extra.
"""

import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from experiments.benchmarks import programs
from experiments.benchmarks.measure import Row
from rilm_jax import build
from rilm_jax.config import RunConfig
from rilm_jax.training import step

with warnings.catch_warnings():
    # geoopt compiles its functions with torch.jit.script, which newer releases of PyTorch deplore.
    warnings.simplefilter("ignore", DeprecationWarning)
    import geoopt
    import torch


class Way(NamedTuple):
    """How a peer is written.

    Attributes:
      name: behind the model's name, in the row's.
      geoopt: the ball's maps are geoopt's; otherwise written out below.
      recurrence: the step of the recurrence is compiled.
      decoder: the decoder with the loss is compiled.
    """

    name: str
    geoopt: bool = False
    recurrence: bool = False
    decoder: bool = False


FLAT_WAYS = (
    Way("PyTorch"),
    Way("PyTorch compiled", recurrence=True, decoder=True),
)
BALL_WAYS = (
    Way("PyTorch + geoopt", geoopt=True),
    Way("PyTorch + geoopt, decoder compiled", geoopt=True, decoder=True),
    Way("PyTorch + geoopt, all compiled", geoopt=True, recurrence=True, decoder=True),
    Way("PyTorch alone compiled", recurrence=True, decoder=True),
)
LSTM_WAYS = (
    Way("PyTorch"),
    Way("PyTorch, decoder compiled", decoder=True),
)


class Rilm(torch.nn.Module):
    """`tokens [B, T], targets [B, T] -> mean NLL`, with the parameters of one of our models.

    Args:
      params: of one seed, `composition="mlp"`, a learned tau and no bias.
      ball: whether words and contexts lie on the Poincare ball of curvature -1, or in R^d.
      k: gradients stop every k steps; 0 = never.
      way: how it is written.
    """

    def __init__(self, params: Any, *, ball: bool, k: int, way: Way):
        super().__init__()
        phi = params["backbone"]["phi"]
        self.table = _parameter(params["embed"]["table"])
        self.root = _parameter(params["backbone"]["root"])
        self.w_h, self.w_e, self.b = (_parameter(phi[name]) for name in ("W_h", "W_e", "b"))
        self.log_tau = _parameter(params["head"]["log_tau"])
        self.k, self.ball, self.maps = k, ball, None
        if ball:
            self.maps = geoopt.PoincareBall(c=1.0) if way.geoopt else WrittenOut
        move = _ball_step(self.maps) if ball else _flat_step
        decode = _ball_loss if ball else _flat_loss
        self.move = torch.compile(move) if way.recurrence else move
        self.decode = torch.compile(decode) if way.decoder else decode

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        tangents = self.maps.logmap0(self.table) if self.maps else self.table
        if len(self.table) <= tokens.numel():
            inputs = (tangents @ self.w_e + self.b)[tokens.T]
        else:
            inputs = tangents[tokens.T] @ self.w_e + self.b
        h = self.root.expand(tokens.shape[0], -1)
        states = []
        for t, of_words in enumerate(inputs):
            if self.k and t and t % self.k == 0:
                h = h.detach()
            h = self.move(h, of_words, self.w_h)
            states.append(h)
        rows = torch.stack(states).flatten(0, 1)
        return self.decode(rows, self.table, self.log_tau, targets.T.flatten())

    @torch.no_grad()
    def project(self) -> None:
        """Words and root back inside the ball, as after each of our updates."""
        if self.ball:
            for points in (self.table, self.root):
                points.copy_(geoopt.PoincareBall(c=1.0).projx(points))


class Lstm(torch.nn.Module):
    """`tokens [B, T], targets [B, T] -> mean NLL` by `torch.nn.LSTM` and the tied head with bias.

    Args:
      params: of one seed of our `lstm-tied`, as wide as its words.
      way: how it is written.
    """

    def __init__(self, params: Any, *, way: Way):
        super().__init__()
        layers = params["backbone"]["params"]
        self.table = _parameter(params["embed"]["table"])
        self.bias = _parameter(params["head"]["bias"])
        dim = self.table.shape[1]
        self.lstm = torch.nn.LSTM(dim, dim, num_layers=len(layers), batch_first=True)
        for i in range(len(layers)):
            ours, theirs = layers[f"layers_{i}"], dict(self.lstm.named_parameters())
            for name, value in (("weight_ih", "W_x"), ("weight_hh", "W_h"), ("bias_ih", "b")):
                theirs[f"{name}_l{i}"].data = _parameter(
                    np.ascontiguousarray(np.transpose(ours[value]))
                ).data
            # The second of its two biases says nothing that the first cannot.
            theirs[f"bias_hh_l{i}"].data.zero_()
            theirs[f"bias_hh_l{i}"].requires_grad_(False)
        self.decode = torch.compile(_tied_loss) if way.decoder else _tied_loss

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.table[tokens])
        return self.decode(states.flatten(0, 1), self.table, self.bias, targets.flatten())

    def project(self) -> None:
        """Every vector is a point."""


class Training:
    """One optimiser step a call: clipping, Adam at a constant rate and projection, as ours."""

    def __init__(self, module: Rilm | Lstm, batch: step.Batch, run: RunConfig):
        self.module, self.clip_norm = module, run.clip_norm
        self.tokens, self.targets = (
            torch.from_numpy(np.asarray(x, np.int64)) for x in (batch.inputs, batch.targets)
        )
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.adam = torch.optim.Adam(
            self.parameters, lr=run.learning_rate, betas=(0.9, run.b2), fused=True
        )

    def __call__(self) -> tuple[float, float]:
        """The loss before the update and the gradient's norm before clipping."""
        self.adam.zero_grad(set_to_none=True)
        loss = self.module(self.tokens, self.targets)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.clip_norm)
        self.adam.step()
        self.module.project()
        return loss.item(), norm.item()


def rows(name: str, run: RunConfig, agree: float) -> list[Row]:
    """A model in each of its ways, its first loss and gradient seen to be ours.

    Raises:
      RuntimeError: a loss differs by more than `agree`, or the gradient's norm by a thousandth.
    """
    torch.set_num_threads(_cores())
    model = build(run.model)
    params = model.init(jax.random.key(0))
    batch = programs.batches(run, 1)
    loss, norm = ours(run, params, batch)
    made = []
    for way in _ways(run):
        call = Training(_module(params, run, way), batch, run)
        start = time.perf_counter()
        their_loss, their_norm = call()
        first = time.perf_counter() - start
        if abs(their_loss - loss) > agree or abs(their_norm / norm - 1) > 1e-3:
            raise RuntimeError(
                f"{name}, {way.name}: loss {their_loss:.6f} and gradient norm {their_norm:.6f}, "
                f"but ours are {loss:.6f} and {norm:.6f}; the two are not the same model."
            )
        facts = {"loss": their_loss, "loss_of_ours": loss}
        if way.recurrence or way.decoder:
            facts["compile_seconds"] = first
        tokens = run.batch_size * run.window
        made.append(Row(f"{name}, {way.name}", call, "step", 1, tokens, facts))
    return made


def _ways(run: RunConfig) -> tuple[Way, ...]:
    if run.model.backbone == "lstm":
        return LSTM_WAYS
    return BALL_WAYS if run.model.manifold == "poincare" else FLAT_WAYS


def _module(params: Any, run: RunConfig, way: Way) -> Rilm | Lstm:
    if run.model.backbone == "lstm":
        return Lstm(params, way=way)
    ball = run.model.manifold == "poincare"
    return Rilm(params, ball=ball, k=run.model.k or 0, way=way)


def ours(run: RunConfig, params: Any, batch: step.Batch) -> tuple[float, float]:
    """Our loss of a batch and the norm of its gradient."""
    model = build(run.model)

    def loss(params):
        return step.objective(model, params, batch, None, run, None)[0]

    value, grads = jax.jit(jax.value_and_grad(loss))(params)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    return float(value), float(norm)


class WrittenOut:
    """The ball's maps at c = 1 as one would write them without geoopt."""

    @staticmethod
    def logmap0(y):
        length = y.norm(dim=-1, keepdim=True).clamp_min(1e-15)
        return torch.atanh(length.clamp_max(1 - 1e-6)) / length * y

    @staticmethod
    def expmap0(v):
        length = v.norm(dim=-1, keepdim=True).clamp_min(1e-15)
        return torch.tanh(length) / length * v

    @staticmethod
    def mobius_add(x, y):
        xx = x.square().sum(-1, keepdim=True)
        yy = y.square().sum(-1, keepdim=True)
        xy = (x * y).sum(-1, keepdim=True)
        return ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy).clamp_min(1e-15)


def _ball_step(maps: Any) -> Callable:
    def move(h, of_words, w_h):
        phi = torch.tanh(torch.addmm(of_words, maps.logmap0(h), w_h))
        return maps.mobius_add(h, maps.expmap0(phi))

    return move


def _flat_step(h, of_words, w_h):
    return h + torch.tanh(torch.addmm(of_words, h, w_h))


def _ball_loss(x, y, log_tau, targets):
    gap_x = 1 - x.square().sum(-1, keepdim=True)
    gap_y = 1 - y.square().sum(-1)
    delta = (_square_distance(x, y) / (gap_x * gap_y)).clamp_min(1e-8)
    distance = torch.log(1 + 2 * (delta + torch.sqrt(delta * (1 + delta))))
    return torch.nn.functional.cross_entropy(-distance.square() / log_tau.exp(), targets)


def _flat_loss(x, y, log_tau, targets):
    return torch.nn.functional.cross_entropy(-_square_distance(x, y) / log_tau.exp(), targets)


def _tied_loss(x, y, bias, targets):
    return torch.nn.functional.cross_entropy(torch.addmm(bias, x, y.T), targets)


def _square_distance(x, y):
    return x.square().sum(-1, keepdim=True) + y.square().sum(-1) - 2 * (x @ y.T)


def _parameter(x: Any) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.from_numpy(np.array(x)))


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
