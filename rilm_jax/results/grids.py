"""Two views of the record in which one thing varies: the head of a model, and its dimension.

What is compared has the recipe of its model and no other option. Few seeds, so these tables show
and do not claim.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rilm_jax import markdown as md
from rilm_jax import recipes
from rilm_jax.results.record import number, spread
from rilm_jax.results.table import shown_options

_SCORE = "best_valid_ppl"
_DIM = "dim="
_HEADS = ("geodesic", "tied", "linear")
# The paper's question first: what the ball gains over products as d shrinks.
_OF_DIMS = ("hyprilm-geodesic", "flatrilm-geodesic", "flatrilm-tied")

Run = Mapping[str, Any]


def markdown(runs: Mapping[Path, Run]) -> str:
    """Both tables for every corpus and vocabulary that has something to compare; "" if none has.

    Args:
      runs: summaries by their file, CORPUS/NAME.json.
    """
    texts = sorted({_text(run) for run in runs.values()})
    sections = [
        section
        for text in texts
        for made in (_by_head, _by_dim)
        if (section := made(text, {p: r for p, r in runs.items() if _text(r) == text}))
    ]
    return "\n".join(sections)


def _by_head(text: tuple[str, int], runs: Mapping[Path, Run]) -> str:
    """A row for every model that stands under two heads at least, on the seeds that they share."""
    found: dict[str, dict[str, Run]] = {}
    for path, run in runs.items():
        if _is_plain(run, path.stem, without=()):
            of_model = found.setdefault(recipes.model_name(run["config"]), {})
            _keep_most_seeds(of_model, run["config"]["head"], run)
    rows = []
    for model in recipes.MODELS:
        heads = found.get(model, {})
        if len(heads) > 1:
            scores = [spread(heads[h][_SCORE], "±") if h in heads else "-" for h in _HEADS]
            rows.append([model, *scores, _difference(heads.get("geodesic"), heads.get("tied"))])
    if not rows:
        return ""
    header = ["model", *_HEADS, "geodesic - tied, seed by seed"]
    title = f"The same recurrence under other heads, {_named(text)}, validation:"
    return f"{title}\n\n{md.table(header, rows, right=header[1:])}\n"


def _by_dim(text: tuple[str, int], runs: Mapping[Path, Run]) -> str:
    """A row for every dimension at which two models stand at least."""
    found: dict[int, dict[str, Run]] = {}
    for path, run in runs.items():
        config = run["config"]
        name = f"{recipes.model_name(config)}-{config['head']}"
        if name in _OF_DIMS and _is_plain(run, path.stem, without=(_DIM,)):
            _keep_most_seeds(found.setdefault(config["dim"], {}), name, run)
    compared = {dim: models for dim, models in sorted(found.items()) if len(models) > 1}
    if len(compared) < 2:
        return ""
    rows = []
    for dim, models in compared.items():
        scores = {name: models[name][_SCORE]["mean"] for name in _OF_DIMS if name in models}
        ball = scores.get(_OF_DIMS[0])
        cells = [number(scores.get(name)) for name in _OF_DIMS]
        ratios = [
            f"{scores[name] / ball:.3f}" if ball and name in scores else "-"
            for name in _OF_DIMS[1:]
        ]
        rows.append([str(dim), *cells, *ratios])
    header = ["d", *_OF_DIMS, *(f"{name} / ball" for name in _OF_DIMS[1:])]
    title = f"The dimension of words and states, {_named(text)}, validation:"
    return f"{title}\n\n{md.table(header, rows, right=header)}\n"


def _text(run: Run) -> tuple[str, int]:
    return Path(run["config"]["corpus"]).name, run["config"]["vocab_size"]


def _named(text: tuple[str, int]) -> str:
    return f"{text[0]}, {text[1]:,} words"


def _is_plain(run: Run, name: str, without: tuple[str, ...]) -> bool:
    """Whether a run has its model's tuned recipe and no option but those."""
    others = [option for option in shown_options(run, name) if not option.startswith(without)]
    finished = run[_SCORE]["mean"] is not None
    return finished and run["config"]["preset"] == "tuned" and not others


def _keep_most_seeds(found: dict[Any, Run], key: Any, run: Run) -> None:
    if key not in found or len(run["seeds"]) > len(found[key]["seeds"]):
        found[key] = run


def _difference(a: Run | None, b: Run | None) -> str:
    if a is None or b is None:
        return "-"
    of_a, of_b = (dict(zip(r["seeds"], r[_SCORE]["per_seed"], strict=True)) for r in (a, b))
    shared = [s for s in of_a if of_a[s] is not None and of_b.get(s) is not None]
    return ", ".join(f"{of_a[s] - of_b[s]:+.2f}" for s in shared) or "-"
