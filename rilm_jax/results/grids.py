"""Two views of the record in which one thing varies: the head of a model, and its dimension.

What is compared has the recipe of its model and no other option. A head brings its recipe along:
a baseline's geodesic head lies on the ball, and its tied one has a bias and larger words. Few
seeds, so these tables show and do not claim.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rilm_jax import markdown as md
from rilm_jax import recipes
from rilm_jax.results.record import by_seed, differences, seeds, spread, text, text_name
from rilm_jax.results.table import shown_options

_SCORE = "best_valid_ppl"
_HEADS = ("geodesic", "tied", "linear")
# The paper's question first: what the ball gains over products as d shrinks.
_OF_DIMS = ("hyprilm-geodesic", "flatrilm-geodesic", "flatrilm-tied")

Run = Mapping[str, Any]


def markdown(runs: Mapping[Path, Run]) -> str:
    """Both tables for every text and vocabulary that has something to compare; "" if none has.

    Args:
      runs: summaries by their file, CORPUS/NAME.json.
    """
    corpora = list(recipes.CORPORA)
    groups: dict[Any, dict[Path, Run]] = {}
    for path, run in sorted(runs.items(), key=lambda item: corpora.index(item[0].parent.name)):
        groups.setdefault(text(run), {})[path] = run
    return "\n".join(
        section
        for of, group in groups.items()
        for made in (_by_head, _by_dim)
        if (section := made(text_name(of), group))
    )


def _by_head(name: str, runs: Mapping[Path, Run]) -> str:
    """A row for every model that stands under two heads at least."""
    found: dict[str, dict[str, Run]] = {}
    for path, run in runs.items():
        if _is_plain(run, path.stem):
            of_model = found.setdefault(recipes.model_name(run["config"]), {})
            _keep_most_seeds(of_model, run["config"]["head"], run)
    rows = []
    for model, heads in found.items():
        if len(heads) > 1:
            cells = [_cell(heads.get(head)) for head in _HEADS]
            rows.append([model, *cells, _difference(heads.get("geodesic"), heads.get("tied"))])
    if not rows:
        return ""
    header = ["model", *_HEADS, "geodesic - tied, seed by seed"]
    title = f"The same recurrence under other heads, {name}, validation:"
    return f"{title}\n\n{md.table(header, rows, right=header[1:])}\n"


def _by_dim(name: str, runs: Mapping[Path, Run]) -> str:
    """A row for every dimension at which two models stand at least; two rows make a table."""
    found: dict[int, dict[str, Run]] = {}
    for path, run in runs.items():
        config = run["config"]
        model = f"{recipes.model_name(config)}-{config['head']}"
        if model in _OF_DIMS and _is_plain(run, path.stem, but="dim="):
            _keep_most_seeds(found.setdefault(config["dim"], {}), model, run)
    compared = {dim: models for dim, models in sorted(found.items()) if len(models) > 1}
    if len(compared) < 2:
        return ""
    rows = []
    for dim, models in compared.items():
        ball, *others = (models.get(model) for model in _OF_DIMS)
        cells = [_cell(run) for run in (ball, *others)]
        rows.append([str(dim), *cells, *(_ratio(other, ball) for other in others)])
    header = ["d", *_OF_DIMS, *(f"{model} / ball" for model in _OF_DIMS[1:])]
    title = f"The dimension of words and states, {name}, validation (ratios by the seeds shared):"
    return f"{title}\n\n{md.table(header, rows, right=header)}\n"


def _is_plain(run: Run, name: str, but: str | None = None) -> bool:
    """Whether a finished run has its model's tuned recipe and no option, but perhaps that one."""
    others = [o for o in shown_options(run, name) if but is None or not o.startswith(but)]
    return bool(by_seed(run)) and run["config"]["preset"] == "tuned" and not others


def _keep_most_seeds(found: dict[Any, Run], key: Any, run: Run) -> None:
    if key not in found or len(by_seed(run)) > len(by_seed(found[key])):
        found[key] = run


def _cell(run: Run | None) -> str:
    if run is None:
        return "-"
    return f"{spread(run[_SCORE], '±')} ({seeds(run)})"


def _shared(a: Run | None, b: Run | None) -> list[tuple[float, float]]:
    """The scores of both on every seed that both have."""
    if a is None or b is None:
        return []
    of_a, of_b = by_seed(a), by_seed(b)
    return [(of_a[seed], of_b[seed]) for seed in of_a if seed in of_b]


def _difference(a: Run | None, b: Run | None) -> str:
    return differences(by_seed(a), by_seed(b)) if a and b else "-"


def _ratio(a: Run | None, b: Run | None) -> str:
    pairs = _shared(a, b)
    return f"{sum(x for x, _ in pairs) / sum(y for _, y in pairs):.3f}" if pairs else "-"
