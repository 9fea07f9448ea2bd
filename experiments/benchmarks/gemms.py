"""The matrix products of one training step alone: what no arrangement of the step can undercut.

    head         scores [N, d] x [d, V], and the gradients of both sides; N = B T
    recurrence   T times [B, d] x [d, d], and the gradients of both sides
    inputs       [min(V, N), d] x [d, d] for the words' half of phi, and both gradients

Each is run at the best of several block sizes, whole included, found beforehand, so that a head
that works block by block in cache is held against products that may do so too.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from experiments.benchmarks.measure import Row
from rilm_jax.heads import blocked

REPEATS_OF_CHOICE = 3


def rows(prefix: str, vocab_size: int, dim: int, batch_size: int, window: int) -> list[Row]:
    """The three rows of a model of these sizes, named `prefix` and the part."""
    n = batch_size * window
    q, e, w, x = (
        jax.random.normal(jax.random.key(i), shape, jnp.float32)
        for i, shape in enumerate(
            [(n, dim), (vocab_size, dim), (dim, dim), (min(vocab_size, n), dim)]
        )
    )
    w = jnp.linalg.qr(w)[0]  # keeps the length of what it is applied to again and again
    h = q[:batch_size]
    # Scaled so that products of products stay in range.
    parts = {
        "head": _best(_head, _blocks(vocab_size, n), q / dim, e / vocab_size**0.5),
        "recurrence": _best(_recurrence, [True, False], h, w, jnp.zeros(window)),
        "inputs": _best(lambda _: _inputs, [None], x, w),
    }
    work = flops(vocab_size, dim, batch_size, window)
    return [
        Row(
            f"{prefix}GEMMs, {part}",
            lambda program=program, args=args: jax.block_until_ready(program(*args)),
            "step",
            facts={"gflop": work[part] / 1e9, "arrangement": choice},
        )
        for part, (program, args, choice) in parts.items()
    ]


def flops(vocab_size: int, dim: int, batch_size: int, window: int) -> dict[str, int]:
    """Multiplications and additions of each part: three products of 2 m n k."""
    n = batch_size * window
    return {
        "head": 6 * n * vocab_size * dim,
        "recurrence": 6 * n * dim * dim,
        "inputs": 6 * min(vocab_size, n) * dim * dim,
    }


def _blocks(vocab_size: int, n: int) -> list[int]:
    """Sizes that divide n: the head's own, larger ones, and n itself."""
    own = min(blocked.block_size(vocab_size), n)
    sizes = {own * 4**i for i in range(4)} | {n}
    return sorted(size for size in sizes if n % size == 0)


def _best(
    make: Callable[[Any], Callable], choices: list[Any], *args: Any
) -> tuple[Callable, tuple, Any]:
    """The fastest of `make(choice)` for `args`: (compiled, args, choice)."""
    timed = []
    for choice in choices:
        program = jax.jit(make(choice)).lower(*args).compile()
        jax.block_until_ready(program(*args))
        for _ in range(REPEATS_OF_CHOICE):
            start = time.perf_counter()
            jax.block_until_ready(program(*args))
            timed.append((time.perf_counter() - start, len(timed), program, choice))
    _, _, program, choice = min(timed)
    return program, args, choice


def _head(block: int) -> Callable:
    def products(q, e):
        def one_block(d_e, q):
            scores = _dot(q, e.T)
            return d_e + _dot(scores.T, q), _dot(scores, e)

        return jax.lax.scan(one_block, jnp.zeros_like(e), q.reshape(-1, block, q.shape[-1]))

    return products


def _recurrence(gradient_at_once: bool) -> Callable:
    """The weight's gradient as one product over all steps, or summed up step by step."""

    def products(h, w, times):
        h, states = jax.lax.scan(lambda h, _: (_dot(h, w), h), h, times)

        if gradient_at_once:
            d_h, all_d_h = jax.lax.scan(
                lambda d_h, _: (_dot(d_h, w.T), d_h), h, times, reverse=True
            )
            flat = (-1, w.shape[0])
            return d_h, _dot(states.reshape(flat).T, all_d_h.reshape(flat))

        def back(carry, h):
            d_h, d_w = carry
            return (_dot(d_h, w.T), d_w + _dot(h.T, d_h)), None

        return jax.lax.scan(back, (h, jnp.zeros_like(w)), states, reverse=True)[0]

    return products


def _inputs(x, w):
    y = _dot(x, w)
    return y, _dot(y, w.T), _dot(x.T, y)


def _dot(a, b):
    return jnp.matmul(a, b, precision="highest")
