"""How many parameters a model has, and the width at which a baseline has RiLM's number of them."""

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax

from rilm_jax.config import ModelConfig
from rilm_jax.errors import InputError
from rilm_jax.model import build

REFERENCE_DIM = 128
TOLERANCE = 0.01


def count(params: Any) -> dict[str, int]:
    """Parameters of one seed, in total and by part, from leaves with or without a seed axis."""

    def size(tree):
        return sum(math.prod(x.shape) for x in jax.tree.leaves(tree))

    parts = {
        "embedding": size(params["embed"]),
        "backbone": size(params["backbone"]),
        "head": size(params["head"]),
    }
    return {"total": sum(parts.values()), **parts}


def multiplications(config: ModelConfig) -> int:
    """Weights that a token is multiplied with: all but a table that is only looked up.

    An estimate of a forward pass: attention and an SSM's recurrence are left out. Training takes
    about three times as many.
    """
    parts = _parts(config)
    return parts["total"] - (parts["embedding"] if config.head == "linear" else 0)


def total(config: ModelConfig) -> int:
    """Parameters of a configuration; none is made."""
    return _parts(config)["total"]


def _parts(config: ModelConfig) -> dict[str, int]:
    return count(jax.eval_shape(build(config).init, jax.random.key(0)))


def reference(vocab_size: int) -> int:
    """RiLM's parameters at d = 128, no temperature: V d + 2 d^2 + d + d (289,024 at 2000)."""
    d = REFERENCE_DIM
    return vocab_size * d + 2 * d * d + d + d


def matched(config: ModelConfig) -> ModelConfig:
    """The configuration at the width that gives it `reference` parameters, to 1 %.

    The dimension is solved for; where its steps are too coarse (a transformer's heads allow few
    dimensions), hidden_dim is solved for as well, at the nearest dimension for which that succeeds.

    Raises:
      InputError: no width comes within 1 %.
    """
    wanted = reference(config.vocab_size)
    unit = 2 * config.num_heads if config.backbone == "transformer" else 1

    def with_dim(n: int) -> ModelConfig:
        return dataclasses.replace(config, dim=unit * n)

    def with_both(n: int) -> ModelConfig:
        # What an lstm or rhn returns has hidden_dim entries, and words have dim.
        project = config.backbone in ("lstm", "rhn") and config.head != "linear"
        made = dataclasses.replace(with_dim(n), projection=project or config.projection)
        hidden = _nearest(lambda h: total(dataclasses.replace(made, hidden_dim=h)), wanted)
        return dataclasses.replace(made, hidden_dim=hidden)

    n = _nearest(lambda n: total(with_dim(n)), wanted)
    nearby = sorted(range(max(1, n - 4), n + 5), key=lambda m: abs(m - n))
    for candidate in itertools.chain([with_dim(n)], map(with_both, nearby)):
        if abs(total(candidate) - wanted) <= TOLERANCE * wanted:
            return candidate
    raise InputError(
        f"no width gives a {config.backbone} of {config.vocab_size} words within 1 % of "
        f"{wanted:,} parameters; give dim and hidden_dim instead of matched=1."
    )


def _nearest(size: Callable[[int], int], wanted: int) -> int:
    """The n >= 1 whose size, smooth and growing with n, is nearest to `wanted`: secant steps."""
    known = {n: size(n) for n in (1, 64)}
    before, last = known
    while True:
        slope = (known[last] - known[before]) / (last - before)
        guess = max(1, round(last + (wanted - known[last]) / slope))
        if guess in known:
            break
        known[guess] = size(guess)
        before, last = last, guess
    known |= {n: size(n) for n in (guess - 1, guess + 1) if n and n not in known}
    return min(known, key=lambda n: abs(known[n] - wanted))
