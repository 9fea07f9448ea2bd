"""The configuration string, `MODEL[-HEAD][,key=value...]`, and the recipes behind its presets.

`recipe("wikitext2", "hyprilm,composition=gated,k=0")` is a flat mapping of every field that the
string, its preset and its model decide, ready for `rilm_jax.config.from_flat`. Keys are the fields
of `ModelConfig` and `RunConfig`, and `EXTRA_KEYS`. Values are typed by the field they set:

  ints, floats   `dim=32`, `learning_rate=4e-3`
  bools          `bias=True`, `bias=false`, `bias=1`
  seeds          `seeds=42+43+44`: a plus between them, as commas part the keys
  no value       `k=None`, where the field allows it

A key in the string takes part in the choice of the recipe (`composition=gated` brings the gated
map's learning rate); a field changed afterwards changes that field alone.
"""

import dataclasses
import functools
import hashlib
import os
import re
import textwrap
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rilm_jax import config, presets
from rilm_jax.errors import InputError, unknown_name

CORPORA = {
    "wikitext2": "WikiText-2, 2.1 million training words of Wikipedia articles",
    "ptb": "Penn Treebank, 0.9 million training words of newspaper text (licensed)",
    "pydoc": "Python's own documentation, part of every installation of Python",
    "text": "your own text, a file or a folder of train.txt, valid.txt, test.txt (key data=PATH)",
}

MODELS = {
    "flatrilm": "RiLM on R^d: h + phi(h, e_w)",
    "hyprilm": "RiLM on the Poincare ball: h (+) exp_0(phi(log_0 h, log_0 e_w))",
    "lstm": "LSTM baseline, two layers",
    "transformer": "causal Transformer baseline, two blocks with rotary positions, span 64",
    "ssm": "selective diagonal state-space baseline, two blocks in Mamba's S6 form",
    "rhn": "recurrent highway network, ten highway layers a step",
}

HEADS = {
    "linear": "W_out h + b, with an output matrix of its own (untied)",
    "tied": "E h, the output matrix being the embeddings (tied); + b with bias=True",
    "geodesic": "-d(h, e_w)^2 / tau, the distance on the manifold (default of the RiLMs)",
}

#: Keys beside the fields of `ModelConfig` and `RunConfig`.
EXTRA_KEYS = {
    "preset": "which recipe fills in what the string leaves open",
    "data": "text only: a file, or the folder of three files; no comma in its path",
    "matched": "baselines only: 1 asks for the width that gives them RiLM's size",
}

#: Fields that another part of the string decides, and how to say them there.
SAID_ELSEWHERE = {
    "corpus": "choose the configuration file, e.g. experiments/configs/ptb.py",
    "backbone": "name the model, e.g. lstm",
    "head": "name it after the model, e.g. lstm-linear",
}

# Who reads a field that not every run does, by a fact about the run: its model, or another field.
_BASELINES = presets.BASELINES
_READ_BY: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("composition",), ("model", presets.RILMS)),
    **dict.fromkeys(("recurrence", "guard", "projection_eps"), ("model", ("hyprilm",))),
    **dict.fromkeys(("c", "learn_c", "c_min", "c_max", "chart"), ("manifold", ("poincare",))),
    **dict.fromkeys(("squared",), ("head", ("geodesic",))),
    **dict.fromkeys(("tau", "learn_tau", "bias"), ("head", ("tied", "geodesic"))),
    **dict.fromkeys(("num_layers", "hidden_dim", "projection"), ("model", _BASELINES)),
    **dict.fromkeys(("variational",), ("model", ("lstm",))),
    **dict.fromkeys(("num_heads", "span"), ("model", ("transformer",))),
    "init_scale": ("init", ("uniform",)),
    "embed_std": ("init", ("plain", "contractive")),
    "warmup_steps": ("schedule", ("cosine",)),
    **dict.fromkeys(("decay", "decay_from"), ("schedule", ("epochs",))),
    "b2": ("optimizer", ("adam", "adamw")),
}
_READ_WITH_AUGMENT = ("augment_temperature", "target_grad")

#: What a configuration file gives without a string.
DEFAULT = "hyprilm"


_BOOLS = {"true": True, "1": True, "false": False, "0": False}
_PARSERS = {
    bool: (lambda text: _BOOLS[text.lower()], "True or False"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "a word"),
}
_NUMBERS = {int: "whole numbers as 42+43+44", float: "numbers as 0.5+1+2"}


def recipe(corpus: str, string: str = DEFAULT) -> dict[str, Any]:
    """Every field that a configuration string decides, by name.

    >>> recipe("wikitext2", "hyprilm,composition=gated,k=0")["learning_rate"]
    0.006

    Args:
      corpus: one of `CORPORA`.
      string: `MODEL[-HEAD][,key=value...]`.

    Returns:
      A mapping for `rilm_jax.config.from_flat`, checked: that call will not fail.

    Raises:
      InputError: an unknown corpus, model, head, key or value, with the nearest known one.
    """
    if corpus not in CORPORA:
        raise InputError(unknown_name("corpus", corpus, CORPORA))
    model, head, given = split(string)
    preset = given.pop("preset", "tuned")
    if preset not in presets.PRESETS:
        raise InputError(unknown_name("preset", preset, presets.PRESETS))
    if preset == "tying" and model not in ("lstm", "rhn"):
        raise InputError(f"preset=tying is for lstm and rhn; choose tuned or paper for {model}.")
    fixed = {"corpus": _corpus(corpus, given), "preset": preset} | _architecture(model, head, given)
    wants_match = _wants_match(model, given)
    defaults = {name: field.default for name, field in config.flat_fields().items()}
    named = {"model": model, "head": head, "corpus": corpus, "manifold": fixed["manifold"]}
    facts = defaults | given | named
    values = presets.values(preset, facts)
    if corpus == "text":
        values |= _of_size(fixed["corpus"], preset, defaults | values | given)
    values |= given | fixed
    check_read(given, defaults | values)
    run = config.from_flat(values)
    if wants_match:
        from rilm_jax import sizes  # here, so that all other strings are read without JAX

        solved = sizes.matched(run.model)
        values |= {name: getattr(solved, name) for name in ("dim", "hidden_dim", "projection")}
    return values


def register(model: str, line: str) -> None:
    """Make the name of a registered backbone a model that configuration strings know.

    Args:
      model: what it is registered as in `rilm_jax.backbones`.
      line: what `--list` says of it.

    Raises:
      InputError: the name is that of one of the package's own models, or holds other characters
        than letters, digits and underscores.
    """
    if model in ("rilm", *presets.RILMS, *presets.BASELINES):
        raise InputError(f"The model name {model!r} is taken; choose another.")
    if not re.fullmatch(r"\w+", model):
        raise InputError(f"The model name {model!r} cannot stand in a string; use letters alone.")
    MODELS[model] = line


def split(string: str) -> tuple[str, str, dict[str, Any]]:
    """`MODEL[-HEAD][,key=value...]` as the model, the head and the typed keys.

    Raises:
      InputError: what `recipe` raises about the string alone.
    """
    first, *items = (item.strip() for item in string.split(","))
    model, dash, head = first.partition("-")
    if model not in MODELS:
        raise InputError(unknown_name("model", model, MODELS))
    if not dash:
        head = "geodesic" if model in presets.RILMS else "tied"
    if head not in HEADS:
        raise InputError(unknown_name("head", head, HEADS))
    given: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals and given and re.fullmatch(r"[\d.]+", item):
            raise InputError(
                f"{item!r} in {string!r} is not key=value; several numbers have a plus between "
                f"them, {list(given)[-1]}=A+{item}."
            )
        if not equals or not text:
            raise InputError(
                f"{item!r} in {string!r} is not key=value; write e.g. {first},composition=gated."
            )
        if key in given:
            raise InputError(f"{key} stands twice in {string!r}; keep one.")
        given[key] = parse(key, text)
    return model, head, given


def parse(key: str, text: str) -> Any:
    """The value of a key, typed by the field that it sets.

    Raises:
      InputError: an unknown key, or a text that is no value of its type.
    """
    fields = config.flat_fields()
    if key in SAID_ELSEWHERE:
        raise InputError(f"{key} is not a key of the string; {SAID_ELSEWHERE[key]}.")
    if key not in fields and key not in EXTRA_KEYS:
        raise InputError(unknown_name("key", key, keys()))
    if key in EXTRA_KEYS:
        kind, optional = (bool if key == "matched" else str), False
    else:
        kind, optional = kind_of(fields[key])
    if optional and text.lower() == "none":
        return None
    if kind is tuple:
        item, _ = typing.get_args(fields[key].type)
        parser, words = functools.partial(_numbers, item), _NUMBERS[item]
    else:
        parser, words = _PARSERS[kind]
    try:
        return parser(text)
    except (KeyError, ValueError):
        raise InputError(f"{key}={text} has the wrong type; it must be {words}.") from None


def _numbers(item: Callable[[str], Any], text: str) -> tuple[Any, ...]:
    return tuple(item(part) for part in text.split("+"))


def kind_of(field: dataclasses.Field) -> tuple[type, bool]:
    """The type of a field's values (`tuple` for `tuple[int, ...]`) and whether it may be None."""
    hint: Any = field.type
    optional = isinstance(hint, types.UnionType)
    if optional:
        (hint,) = (kind for kind in typing.get_args(hint) if kind is not types.NoneType)
    kind: Any = typing.get_origin(hint) or hint
    return kind, optional


def keys() -> dict[str, str]:
    """Every key of the string with its line of help."""
    fields = config.flat_fields()
    reserved = EXTRA_KEYS.keys() | SAID_ELSEWHERE.keys()
    return EXTRA_KEYS | {n: f.metadata["help"] for n, f in fields.items() if n not in reserved}


def name(string: str = DEFAULT) -> str:
    """The string as a file name: what runs and results of this configuration are called.

    Letters, digits and `._+=,-` stay; anything else becomes `_`, and eight digits of the string's
    SHA-256 are then appended, so that different strings keep different names.
    """
    safe = re.sub(r"[^A-Za-z0-9._+=,-]+", "_", string)
    if safe == string:
        return string
    return f"{safe}-{hashlib.sha256(string.encode()).hexdigest()[:8]}"


def model_name(config: Mapping[str, Any]) -> str:
    """What a configuration string calls the model of a flat configuration."""
    if config["backbone"] != "rilm":
        return config["backbone"]
    return "hyprilm" if config["manifold"] == "poincare" else "flatrilm"


def listing(width: int = 80) -> str:
    """All that a configuration can say: corpora, models, heads, presets and keys, a line each."""
    sections = {
        "Corpora: --config=experiments/configs/CORPUS.py:MODEL[-HEAD][,key=value...]": CORPORA,
        "Models": MODELS,
        "Heads (default: geodesic for the RiLMs, tied for the others)": HEADS,
        "Presets: preset=NAME": presets.PRESETS,
        "Keys, in the string or, to change one field alone, as --config.KEY=VALUE; [default], "
        "or [preset] where that is a recipe's": {
            key: f"{line}{_possible(key)}" for key, line in keys().items()
        },
    }
    lines = []
    for title, entries in sections.items():
        lines += textwrap.wrap(title, width)
        for entry, line in entries.items():
            start = f"  {entry:<16} "
            lines += textwrap.wrap(start + line, width, subsequent_indent=" " * 19)
        lines.append("")
    return "\n".join(lines[:-1])


def _possible(key: str) -> str:
    """` (a|b) [a]`: what a key can be, and its default."""
    field = config.flat_fields().get(key)
    if key == "preset":
        return " [tuned]"
    if field is None:
        return ""
    choices = field.metadata.get("choices")
    listed = f" ({'|'.join(choices)})" if choices else ""
    default = field.default
    if any(key in then for rules in presets.RULES.values() for _, then in rules):
        default = "preset"
    if isinstance(default, tuple):
        default = "+".join(map(str, default)) or "none"
    return f"{listed} [{default:g}]" if isinstance(default, float) else f"{listed} [{default}]"


def _corpus(corpus: str, given: dict[str, Any]) -> str:
    """The corpus of the run: its name, or for `text` the folder (absolute: a run can move)."""
    folder = given.pop("data", None)
    if corpus != "text":
        if folder is not None:
            raise InputError(f"data={folder} is for the corpus 'text' only; {corpus} needs none.")
        return corpus
    if folder is None:
        raise InputError(
            "the corpus 'text' needs a text file, or a folder with train.txt, valid.txt and "
            "test.txt; append ,data=PATH to the model."
        )
    return os.path.abspath(os.path.expanduser(folder))


def _of_size(path: str, preset: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the size of one's own text decides, if it is there: its words, and steps enough.

    A step reads at most an eighth of the text, and there are 200 steps unless that takes more than
    25 epochs. `values` is what holds so far.
    """
    if not os.path.exists(path):
        return {}
    from rilm_jax import data  # here, so that all other strings are read without JAX

    tokens, types = data.measure(Path(path))
    sized: dict[str, Any] = {"vocab_size": max(2, min(values["vocab_size"], types))}
    if preset in ("tuned", "start"):
        windows = max(1, tokens // values["window"])
        batch = min(values["batch_size"], max(4, windows // 8))
        epochs = -(-200 // -(-windows // batch))
        sized |= {"batch_size": batch, "num_epochs": min(25, max(values["num_epochs"], epochs))}
    return sized


def _architecture(model: str, head: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Backbone, head and manifold; a baseline lies on R^d unless its head is geodesic."""
    if model in presets.RILMS:
        if "manifold" in given:
            raise InputError(
                f"manifold={given['manifold']} contradicts the model's name; "
                "flatrilm is euclidean and hyprilm is poincare."
            )
        manifold = "poincare" if model == "hyprilm" else "euclidean"
        return {"backbone": "rilm", "head": head, "manifold": manifold}
    manifold = given.get("manifold", "poincare" if head == "geodesic" else "euclidean")
    return {"backbone": model, "head": head, "manifold": manifold}


def check_read(given: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """That a run reads every field that was asked for.

    Args:
      given: fields by name, of a string or changed after it.
      run: its flat configuration, in which they stand.

    Raises:
      InputError: a field that it would ignore.
    """
    facts = {**run, "model": model_name(run)}
    own = facts["model"] not in (*presets.RILMS, *presets.BASELINES)  # which may read any field
    for key, value in given.items():
        if key in _READ_WITH_AUGMENT and not facts["augment"]:
            raise InputError(
                f"{key}={value} changes nothing without the augmented loss; give augment, e.g. "
                "augment=0.65, or leave it out."
            )
        fact, readers = _READ_BY.get(key, ("model", (facts["model"],)))
        if facts[fact] not in readers and not (own and fact == "model"):
            raise InputError(
                f"{key}={value} changes nothing with {fact} {facts[fact]}; only "
                f"{' or '.join(readers)} reads it, so leave it out."
            )


def _wants_match(model: str, given: dict[str, Any]) -> bool:
    """Takes `matched` out of the string's keys."""
    if not given.pop("matched", False):
        return False
    if model not in presets.BASELINES:
        raise InputError(f"matched=1 solves for the width of a baseline; {model} is none.")
    for name in ("dim", "hidden_dim"):
        if name in given:
            raise InputError(f"matched=1 solves for the width; leave out {name}={given[name]}.")
    return True
