"""A language model: embedding + backbone + head, as a tuple of pure functions.

Dimension letters: B batch, T time, V words, d dimension, K features of a head.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from rilm_jax import backbones, embedding, heads, manifolds
from rilm_jax.backbones.base import is_matrix
from rilm_jax.config import ModelConfig
from rilm_jax.errors import InputError, unknown_name
from rilm_jax.heads import Augmentation, Keys, augmented, blocked

Params = dict[str, Any]
Reduction = Literal["mean_tokens", "sum_time_mean_batch"]


class Prepared(NamedTuple):
    """What depends on parameters alone: computed once a call, a step or a generation.

    Attributes:
      table: the words as points and tangent vectors, with the curvature.
      backbone: what the backbone reads at every step (for `rilm`, the words' half of phi), or None:
        then it computes what a batch needs, which is less where the vocabulary outnumbers it.
      keys: the head's view of the vocabulary.
    """

    table: embedding.Table
    backbone: Any
    keys: Keys


class LanguageModel(NamedTuple):
    """Pure functions of `params = {'embed', 'backbone', 'head'}`.

    All but `init`, `project` and `prepare` take `prep=None`, the result of `prepare(params)`.

    Attributes:
      config: what was built.
      init: key -> params.
      project: params -> params with every point back in the safe part of its manifold; to be
        applied after each update.
      prepare: params -> `Prepared`.
      initial_carry: (params, batch_size) -> carry, a pytree of fixed shapes.
      hidden: (params, tokens [B, T], carry, mask=None, rng=None) -> (states [B, T, ...], carry).
        Masked positions leave the carry unchanged; `rng=None` means evaluation, without dropout.
      scores: (params, states [..., *]) -> logits [..., V].
      word_scores: (params, ids [...]) -> [..., V], how close every word is to the given ones.
      nll: (params, states, targets [...]) -> [...] in nats, chunked, any cotangent.
      loss: (params, states [B, T, ...], targets [B, T], weights [B, T], reduction='mean_tokens',
        augmentation=None) -> (scalar, {'nll', 'weight'}), chunked, its gradient made in the forward
        pass. mean_tokens: sum w NLL / sum w; sum_time_mean_batch: sum w NLL / B; with an
        `Augmentation`, the augmented loss in NLL's place. `sums` are constants to differentiation:
        the NLL of the targets with w > 0, and sum w.
    """

    config: ModelConfig
    init: Callable[[jax.Array], Params]
    project: Callable[[Params], Params]
    prepare: Callable[[Params], Prepared]
    initial_carry: Callable[..., Any]
    hidden: Callable[..., tuple[Any, Any]]
    scores: Callable[..., jax.Array]
    word_scores: Callable[..., jax.Array]
    nll: Callable[..., jax.Array]
    loss: Callable[..., tuple[jax.Array, dict[str, jax.Array]]]


def build(config: ModelConfig) -> LanguageModel:
    """The model of a configuration.

    Raises:
      InputError: an unknown backbone, head or manifold, or parts that do not fit together; a
        curvature to learn where there is none;
        `dtype='float64'` while JAX has 64-bit types disabled.
    """
    if config.dtype == "float64" and jnp.ones(()).dtype != jnp.float64:
        raise InputError(
            "dtype='float64' needs JAX's 64-bit types; set JAX_ENABLE_X64=1 before starting."
        )
    if config.learn_c and config.manifold == "euclidean":
        raise InputError(
            "learn_c=True has nothing to learn on manifold='euclidean', which has no curvature; "
            "choose learn_c=False or manifold='poincare'."
        )
    if config.init == "uniform" and config.backbone == "rilm":
        raise InputError(
            "init='uniform' is for the other backbones; for rilm choose 'contractive' or 'plain'."
        )
    if config.unit_words and config.manifold != "euclidean":
        raise InputError(
            f"unit_words=True is for words of R^d; leave it out with manifold={config.manifold!r}."
        )
    manifold = manifolds.get(config.manifold)
    backbone = backbones.get(config.backbone)(config, manifold)
    head = heads.get(config.head)(
        heads.Context(config, manifold, backbone.state_dim, backbone.on_manifold)
    )

    def init(key: jax.Array) -> Params:
        key_embed, key_backbone, key_head = jax.random.split(key, 3)
        params = {
            "embed": embedding.init(key_embed, config, manifold),
            "backbone": backbone.init(key_backbone),
            "head": head.init(key_head),
        }
        return project(
            _uniform(key, params, config.init_scale) if config.init == "uniform" else params
        )

    def project(params: Params) -> Params:
        return params | {
            "embed": embedding.project(params["embed"], config, manifold),
            "backbone": backbone.project(
                params["backbone"], embedding.curvature(params["embed"], config)
            ),
        }

    def prepare(params: Params) -> Prepared:
        table = embedding.table(params["embed"], config, manifold)
        return Prepared(
            table, backbone.prepare(params["backbone"], table), head.keys(params["head"], table)
        )

    def initial_carry(params: Params, batch_size: int, *, prep: Prepared | None = None) -> Any:
        prep = prepare(params) if prep is None else prep
        return backbone.initial_carry(params["backbone"], prep.table, batch_size)

    def hidden(
        params: Params,
        tokens: jax.Array,
        carry: Any,
        *,
        mask: jax.Array | None = None,
        rng: jax.Array | None = None,
        prep: Prepared | None = None,
    ) -> tuple[Any, Any]:
        if prep is None:
            prep = prepare(params)._replace(backbone=None)
        return backbone.states(
            params["backbone"], prep.table, prep.backbone, tokens, carry, mask, rng
        )

    def queries(params: Params, states: Any, prep: Prepared) -> jax.Array:
        return head.queries(params["head"], prep.table, states)

    def scores(params: Params, states: Any, *, prep: Prepared | None = None) -> jax.Array:
        prep = prepare(params) if prep is None else prep
        return blocked.scores(head.link, queries(params, states, prep), prep.keys)

    def word_scores(params: Params, ids: jax.Array, *, prep: Prepared | None = None) -> jax.Array:
        prep = prepare(params) if prep is None else prep
        of_words = head.word_queries(params["head"], prep.table, ids)
        keys = head.word_keys(params["head"], prep.table)
        return blocked.scores(head.word_link, of_words, keys)

    def nll(
        params: Params, states: Any, targets: jax.Array, *, prep: Prepared | None = None
    ) -> jax.Array:
        prep = prepare(params) if prep is None else prep
        rows = queries(params, states, prep)
        flat = rows.reshape(-1, rows.shape[-1])
        result = blocked.nll(head.link, flat, prep.keys, targets.reshape(-1))
        return result.reshape(targets.shape)

    def loss(
        params: Params,
        states: Any,
        targets: jax.Array,
        weights: jax.Array,
        *,
        reduction: Reduction = "mean_tokens",
        augmentation: Augmentation | None = None,
        prep: Prepared | None = None,
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        prep = prepare(params) if prep is None else prep
        rows = queries(params, states, prep)
        rows = rows.reshape(-1, rows.shape[-1])
        total = jnp.sum(weights)
        if reduction == "mean_tokens":
            divisor = jnp.where(total > 0, total, 1)
        elif reduction == "sum_time_mean_batch":
            divisor = targets.shape[0]
        else:
            known = ("mean_tokens", "sum_time_mean_batch")
            raise InputError(unknown_name("reduction", reduction, known))
        ids, shares = targets.reshape(-1), (weights / divisor).reshape(-1)
        if augmentation is None:
            scalar, nll_sum = blocked.loss(head.link, rows, prep.keys, ids, shares)
        else:
            of_words = augmented.Side(
                head.word_queries(params["head"], prep.table, ids),
                head.word_keys(params["head"], prep.table),
            )
            scalar, nll_sum = augmented.loss(
                (head.link, head.word_link),
                augmented.Side(rows, prep.keys),
                of_words,
                ids,
                shares,
                augmentation,
            )
        return scalar, {"nll": nll_sum, "weight": total}

    return LanguageModel(
        config,
        init,
        project,
        prepare,
        initial_carry,
        hidden,
        scores,
        word_scores,
        nll,
        loss,
    )


def _uniform(key: jax.Array, params: Params, scale: float) -> Params:
    """Every matrix drawn anew from [-scale, scale]; all else keeps its start (a gate's bias)."""
    leaves, tree = jax.tree.flatten_with_path(params)
    keys = jax.random.split(key, len(leaves))
    drawn = [
        jax.random.uniform(k, x.shape, x.dtype, -scale, scale) if is_matrix(path, x) else x
        for k, (path, x) in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, drawn)
