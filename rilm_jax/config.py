"""What a model is and what a run is: two frozen, hashable records.

Every field carries its meaning and its range in its metadata; `check` enforces them when a record
is made, and the launchers' `--list` prints them. Names that belong to an open registry (backbone,
head, manifold) are checked by `rilm_jax.build`, which knows what has been registered.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from rilm_jax.errors import InputError, unknown_name


def _field(default: Any, help: str, **rule: Any) -> Any:
    """A dataclass field with its help line and its rule: `choices`, `least`, `most`, `above`."""
    return dataclasses.field(default=default, metadata={"help": help, **rule})


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """A language model: embedding, backbone and head.

    Raises:
      InputError: a field of the wrong type, out of range, or not a number.
    """

    backbone: str = _field("rilm", "what turns tokens into states")
    head: str = _field("geodesic", "what turns states into a distribution over words")
    manifold: str = _field("poincare", "where words and states lie")
    vocab_size: int = _field(2000, "number of words, <unk> and <eos> among them", least=2)
    dim: int = _field(128, "dimension of the manifold and of the word vectors", least=1)
    k: int | None = _field(
        None, "gradients stop every k steps; 0 = never; None = 8 for rilm, else 0", least=0
    )
    c: float = _field(1.0, "curvature's magnitude (its start when learned)", least=1e-12, most=1e2)
    learn_c: bool = _field(False, "learn c between c_min and c_max")
    c_min: float = _field(1e-2, "lower bound of a learned c", least=1e-12, most=1e2)
    c_max: float = _field(1e1, "upper bound of a learned c", least=1e-12, most=1e2)
    tau: float | None = _field(
        None,
        "temperature (its start when learned); None = geodesic head: by init, tied head: none",
        above=0.0,
    )
    learn_tau: bool = _field(True, "learn tau")
    bias: bool = _field(False, "a bias for every word in the head (the linear head always has one)")
    squared: bool = _field(True, "geodesic head: -d^2/tau (True) or -d/tau (False)")
    chart: str = _field(
        "ball",
        "words are stored as points of the manifold, or as tangent vectors at 0",
        choices=("ball", "tangent"),
    )
    init: str = _field(
        "contractive",
        "rilm: Glorot uniform (plain), or a recurrence that contracts from the first step; the "
        "other backbones: uniform makes every matrix uniform in +- init_scale",
        choices=("plain", "contractive", "uniform"),
    )
    init_scale: float = _field(0.1, "of init=uniform", above=0.0)
    embed_std: float = _field(0.05, "spread of the words' coordinates at the start", above=0.0)
    recurrence: str = _field(
        "mobius",
        "rilm: h (+) exp_0(phi); exp_h(phi); or mobius with a hard projection every step",
        choices=("mobius", "naive", "projected"),
    )
    composition: str = _field(
        "mlp",
        "rilm: phi is tanh of an affine map, a learned spline of it, or gated",
        choices=("mlp", "spline", "gated"),
    )
    guard: str = _field(
        "gap",
        "rilm: artanh from the carried gap, or the textbook's clip of its argument at 1 - 1e-5",
        choices=("gap", "clip"),
    )
    projection_eps: float = _field(
        4e-3,
        "rilm, projected: states stay inside |h| <= (1 - eps)/sqrt(c)",
        above=0.0,
        most=0.5,
    )
    unit_words: bool = _field(False, "word vectors of R^d are read divided by their length")
    num_layers: int = _field(2, "baselines: layers or blocks (rhn: highway layers a step)", least=1)
    hidden_dim: int | None = _field(
        None,
        "units of an lstm or rhn layer (None = dim), of a transformer's feed-forward layer (None = "
        "4 dim), channels inside an ssm block (None = 2 dim)",
        least=1,
    )
    num_heads: int = _field(4, "transformer: attention heads, each of even dimension", least=1)
    span: int = _field(64, "transformer: how many words a word sees, itself included", least=1)
    projection: bool = _field(
        False, "a matrix from states to the words' dimension (baselines with a wider state)"
    )
    dropout: float = _field(
        0.0,
        "inside the backbone: one mask a window on what rilm's and rhn's matrices read of the "
        "state and on what an lstm layer returns; fresh masks on what a transformer or ssm block "
        "adds and on a transformer's word vectors",
        least=0.0,
        most=0.95,
    )
    variational: bool = _field(
        True,
        "lstm: dropout by one mask a window on a layer's output, which the layer reads back, "
        "too; False: fresh masks on its way up alone",
    )
    word_dropout: float = _field(
        0.0, "whole words read as the origin, one mask a window", least=0.0, most=0.95
    )
    input_dropout: float = _field(
        0.0, "on the word vectors, one mask a window", least=0.0, most=0.95
    )
    output_dropout: float = _field(
        0.0, "on the tangent state on its way to the head, one mask a window", least=0.0, most=0.95
    )
    dtype: str = _field("float32", "of parameters and computation", choices=("float32", "float64"))

    def __post_init__(self):
        check(self)
        if self.c_min >= self.c_max:
            raise InputError(
                f"c_min={self.c_min:g} is not below c_max={self.c_max:g}; choose c_min < c_max."
            )
        if self.learn_c and not self.c_min < self.c < self.c_max:
            raise InputError(
                f"c={self.c:g} starts outside its bounds ({self.c_min:g}, {self.c_max:g}); "
                "move c or the bounds."
            )

    @property
    def drops(self) -> bool:
        """Whether training draws dropout masks."""
        rates = (self.dropout, self.word_dropout, self.input_dropout, self.output_dropout)
        return any(rates)


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """A training run: a model, a corpus, a protocol and an optimiser.

    Raises:
      InputError: a field of the wrong type, out of range, or not a number.
    """

    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    corpus: str = _field("pydoc", "wikitext2, ptb, pydoc, or a folder of three text files")
    part: str = _field(
        "all",
        "of the training text: all, or its first or second half",
        choices=("all", "first", "second"),
    )
    preset: str = _field("custom", "the recipe this run follows, for the record")
    seeds: tuple[int, ...] = _field((42, 43, 44, 45, 46), "one model is trained for each")
    rate_factors: tuple[float, ...] = _field(
        (), "a factor of the learning rate for each seed, which may then repeat (for tuning)"
    )
    seed_map: str = _field(
        "auto",
        "how the seeds share one program: vmap, map, or auto (map on CPU, else vmap)",
        choices=("auto", "vmap", "map"),
    )
    num_epochs: int = _field(10, "passes over the training text", least=1, most=1e6)
    num_steps: int = _field(0, "optimiser steps in all; 0 = whole epochs", least=0)
    batch_size: int = _field(128, "windows a step", least=1, most=1e6)
    window: int = _field(64, "tokens a window", least=1, most=1e6)
    mode: str = _field(
        "windows",
        "windows: shuffled, each from the root; stream: contiguous, the state is carried",
        choices=("windows", "stream"),
    )
    reduction: str = _field(
        "mean_tokens",
        "what the loss averages over",
        choices=("mean_tokens", "sum_time_mean_batch"),
    )
    augment: float = _field(
        0.0, "gamma: the augmented loss J_aug is added gamma * augment_temperature times", least=0.0
    )
    augment_temperature: float = _field(20.0, "T of the augmented loss", above=0.0)
    target_grad: bool = _field(False, "the augmented loss's targets carry a gradient, too")
    cross_entropy: float = _field(
        1.0, "factor of the cross-entropy beside an augmented loss", least=0.0
    )
    optimizer: str = _field("adamw", "update rule", choices=("adam", "adamw", "sgd"))
    learning_rate: float = _field(3e-3, "peak learning rate", above=0.0)
    schedule: str = _field(
        "cosine",
        "constant; linear warm-up then cosine to zero; or by epochs, see decay",
        choices=("constant", "cosine", "epochs"),
    )
    decay: float = _field(
        1.0, "schedule=epochs: the rate's factor at every epoch from decay_from on", above=0.0
    )
    decay_from: int = _field(
        1, "schedule=epochs: the first epoch that is decayed, from 1", least=1, most=1e6
    )
    patience: int = _field(
        0, "stop once no seed has improved on validation for so many epochs; 0 = never", least=0
    )
    warmup_steps: int = _field(200, "of the cosine schedule, a tenth of the run at most", least=0)
    b2: float = _field(0.999, "Adam's second-moment decay", least=0.0, most=0.9999999)
    weight_decay: float = _field(
        0.0, "adamw: decoupled, on matrices only; sgd: in the gradient, before clipping", least=0.0
    )
    clip_norm: float = _field(1.0, "global gradient norm; 0 = no clipping", least=0.0)
    eval_batch_size: int = _field(128, "windows a batch in evaluation", least=1, most=1e6)
    eval_streams: int = _field(
        0, "evaluation with this many contiguous streams; 0 = windows", least=0
    )
    chunk_steps: int = _field(16, "steps in one compiled call", least=1)
    test: bool = _field(True, "evaluate the test split once, at the end; tuning never does")

    def __post_init__(self):
        check(self)
        if not self.seeds:
            raise InputError("seeds is empty; give at least one, e.g. seeds=(42,).")
        if not all(0 <= seed < 2**31 for seed in self.seeds):
            raise InputError(f"seeds={self.seeds} has one outside 0 .. 2^31 - 1; choose others.")
        if not self.augment and self.cross_entropy != 1:
            raise InputError(
                f"cross_entropy={self.cross_entropy:g} is a share beside the augmented loss; set "
                "augment above 0, too, or leave it out."
            )
        if self.weight_decay and self.optimizer == "adam":
            raise InputError(
                f"weight_decay={self.weight_decay:g} does nothing with optimizer='adam'; choose "
                "optimizer='adamw' or weight_decay=0."
            )
        if self.schedule == "epochs" and self.num_steps:
            raise InputError(
                f"num_steps={self.num_steps} cuts epochs short, by which schedule='epochs' counts; "
                "leave num_steps out or choose another schedule."
            )
        if self.model.learn_c and self.mode == "stream":
            raise InputError(
                "learn_c=True would change the ball under a carried state; choose mode='windows' "
                "or a fixed c."
            )
        if not self.rate_factors and len(set(self.seeds)) != len(self.seeds):
            raise InputError(f"seeds={self.seeds} repeats a seed; each must appear once.")
        if self.rate_factors and len(self.rate_factors) != len(self.seeds):
            raise InputError(
                f"rate_factors={self.rate_factors} has {len(self.rate_factors)} factors for "
                f"{len(self.seeds)} seeds; give one for each."
            )
        if not all(0 < factor < math.inf for factor in self.rate_factors):
            raise InputError(
                f"rate_factors={self.rate_factors} has one that is not above 0; choose others."
            )


def check(record: Any) -> None:
    """Check every field of a record against its annotation and its rule.

    Raises:
      InputError: naming the field, its value, and what is allowed.
    """
    hints = typing.get_type_hints(type(record))
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        value = _coerce(field.name, value, hints[field.name])
        object.__setattr__(record, field.name, value)
        if value is not None:
            _check_range(field.name, value, field.metadata)


def _coerce(name: str, value: Any, hint: Any) -> Any:
    """`value` as its annotated type: ints pass for floats, lists for tuples, nothing else."""
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        (hint,) = (t for t in typing.get_args(hint) if t is not type(None))
    if typing.get_origin(hint) is tuple:
        listed = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
        items = value if listed else (value,)
        return tuple(_coerce(name, item, typing.get_args(hint)[0]) for item in items)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) is not (hint is bool) or not isinstance(value, hint):
        raise InputError(
            f"{name}={value!r} is of type {type(value).__name__}; {hint.__name__} is wanted."
        )
    return value


def _check_range(name: str, value: Any, rule: typing.Mapping[str, Any]) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name}={value} is not a finite number; give one.")
    if "choices" in rule and value not in rule["choices"]:
        raise InputError(unknown_name(name, value, rule["choices"]))
    if "least" in rule and value < rule["least"]:
        raise InputError(f"{name}={value!r} is too small; it must be at least {rule['least']:.9g}.")
    if "above" in rule and value <= rule["above"]:
        raise InputError(f"{name}={value!r} is too small; it must be above {rule['above']:.9g}.")
    if "most" in rule and value > rule["most"]:
        raise InputError(f"{name}={value!r} is too large; it must be at most {rule['most']:.9g}.")


def flat_fields() -> dict[str, dataclasses.Field]:
    """The fields of a run and of its model by name: the launchers' flat view (names are unique)."""
    run = {f.name: f for f in dataclasses.fields(RunConfig) if f.name != "model"}
    return {f.name: f for f in dataclasses.fields(ModelConfig)} | run


def from_flat(values: typing.Mapping[str, Any]) -> RunConfig:
    """A `RunConfig` from field names of the run and of the model in one mapping.

    Raises:
      InputError: an unknown field (the nearest one is suggested) or a refused value.
    """
    known = flat_fields()
    for name in values:
        if name not in known:
            raise InputError(unknown_name("field", name, known))
    of_model = {f.name for f in dataclasses.fields(ModelConfig)}
    model = ModelConfig(**{n: v for n, v in values.items() if n in of_model})
    return RunConfig(model=model, **{n: v for n, v in values.items() if n not in of_model})


def to_flat(config: RunConfig) -> dict[str, Any]:
    """The inverse of `from_flat`, JSON-ready (tuples become lists)."""
    run = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name != "model"}
    run = {name: list(v) if isinstance(v, tuple) else v for name, v in run.items()}
    return dataclasses.asdict(config.model) | run
