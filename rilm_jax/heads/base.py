"""What a head is: the features of states and of words whose products, linked, are scores."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from rilm_jax.config import ModelConfig
from rilm_jax.heads.blocked import Keys
from rilm_jax.manifolds import Manifold
from rilm_jax.manifolds.product import Link

Params = dict[str, Any]


class Context(NamedTuple):
    """What a head is built for.

    Attributes:
      config: the model's configuration.
      manifold: where the words lie.
      state_dim: dimension of the states.
      on_manifold: whether the states are points of the manifold, or vectors of R^state_dim.
    """

    config: ModelConfig
    manifold: Manifold
    state_dim: int
    on_manifold: bool


class Head(NamedTuple):
    """Pure functions; scores are `keys.scale * link(query . key_v) + keys.bias_v`.

    Attributes:
      link: elementwise function of the products.
      init: key -> params.
      queries: (params, table, states) -> [..., K].
      keys: (params, table) -> `Keys`.
      word_queries: (params, table, ids) -> [..., K'], the same for words in a state's place.
      word_keys: (params, table) -> `Keys` without bias; the scores of `word_queries` say how close
        every word is to the given ones.
      word_link: the link of those.
    """

    link: Link
    init: Callable[[jax.Array], Params]
    queries: Callable[..., jax.Array]
    keys: Callable[..., Keys]
    word_queries: Callable[..., jax.Array]
    word_keys: Callable[..., Keys]
    word_link: Link
