"""Draws the pictures: of the record, and of trained models.

Learning curves, perplexity against parameters and compute, |h| step by step,
and the distance of W and L, from what is on record:
  python experiments/plot.py

A context's way along a prefix, how far out words and contexts lie, and the
likeliest next words, of trained models side by side:
  python experiments/plot.py --workdir=runs/quickstart/hyprilm --workdir=runs/quickstart/flatrilm

Pictures go to experiments/results/figures, those of collapse.py and subspace.py
beside their record, or all of them to --out.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absl import flags

from rilm_jax import commandline, config, files, markdown, results
from rilm_jax.errors import InputError
from rilm_jax.progress import bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PROJECT = Path(__file__).resolve().parents[1]
_WORKDIR = flags.DEFINE_multi_string("workdir", [], "a trained run; to be repeated")
_SEED = flags.DEFINE_integer("seed", None, "of the runs (default: the first of each)")
_PROMPT = flags.DEFINE_string(
    "prompt", None, "the prefix (default: the first known words on end of the validation text)"
)
_LENGTH = flags.DEFINE_integer("length", 14, "words of the default prefix", lower_bound=2)
_DATA_DIR = flags.DEFINE_string("data_dir", None, "folder with the corpus (or RILM_DATA_DIR)")
_RESULTS = flags.DEFINE_string(
    "results", None, "folder of the summaries (default: the project's experiments/results)"
)
_OUT = flags.DEFINE_string("out", None, "folder of the pictures (default: RESULTS/figures)")
_FORMAT = flags.DEFINE_enum("format", "png", ["png", "svg", "pdf"], "of the pictures")

flags.declare_key_flag("register")


def main() -> None:
    folder = Path(_RESULTS.value or _PROJECT / "experiments" / "results")
    out = Path(_OUT.value or folder / "figures")
    for path in _of_models(out) if _WORKDIR.value else _of_record(folder, out):
        print(path)


def _of_record(folder: Path, out: Path) -> list[Path]:
    from rilm_jax.analysis import collapse, curves, figures, subspace

    written = []
    for name, plot in (("collapse", collapse.plot), ("subspace", subspace.plot)):
        for path in sorted((folder / name).glob("*.json")):
            beside = path if _OUT.value is None else out / f"{name}-{path.name}"
            made = _of_rows(path, plot)
            written.append(figures.save(made, beside.with_suffix(f".{_FORMAT.value}")))
    runs = {p: s for p, s in results.read_all(folder).items() if p.parent.parent == folder}
    for corpus, vocab_size in results.vocabularies(runs):
        if not (models := results.best_by_title(runs, corpus, vocab_size)):
            continue
        floor = next(iter(models.values()))[0][1]["floor"]["kn5"]
        title = f"{corpus}, {vocab_size} words"
        name = corpus if vocab_size == config.ModelConfig.vocab_size else f"{corpus}-{vocab_size}"
        if drawn := results.best_curves(models):
            made = curves.learning_curves(drawn, floor=floor, title=title)
            written.append(figures.save(made, out / f"curves-{name}.{_FORMAT.value}"))
        sizes = {model: [run for _, run in found] for model, found in models.items()}
        made = curves.frontier(sizes, floor=floor, title=title)
        written.append(figures.save(made, out / f"frontier-{name}.{_FORMAT.value}"))
    if not written:
        raise InputError(f"{folder} holds no finished run to draw; collect one with table.py.")
    return written


def _of_rows(path: Path, plot: Callable[[Sequence[Mapping[str, Any]]], "Figure"]) -> "Figure":
    """The picture of a record in the folder of the launcher that makes it."""
    advice = f"make it anew with {path.parent.name}.py"
    return files.show_record(path, lambda record: plot(record["rows"]), advice)


def _of_models(out: Path) -> list[Path]:
    from rilm_jax import trained
    from rilm_jax.analysis import figures, geometry, side_by_side, top_k_words

    found = trained.load_alike(_WORKDIR.value, seed=_SEED.value, data_dir=_DATA_DIR.value)
    runs = dict(zip(results.labels(list(found)), found.values(), strict=True))
    first = next(iter(runs.values()))
    assert first.corpus is not None  # which load_alike has read
    corpus, valid, vocab = first.corpus.name, first.corpus.valid, first.vocab
    if _PROMPT.value is None:
        ids = geometry.first_prefix(valid, vocab, _LENGTH.value)
    else:
        ids, _ = trained.encode(corpus, vocab, _PROMPT.value)
        if len(ids) < 2:
            raise InputError("--prompt holds fewer than two words; give a longer one.")
    models = {name: (run.model, run.params) for name, run in runs.items()}
    title = f"{corpus}, {len(vocab)} words"
    drawings = {
        "trajectories": lambda: geometry.draw_trajectories(models, vocab, ids, title=title),
        "radii": lambda: geometry.draw_radii(models, valid, title=title),
    }
    written = [
        figures.save(draw(), out / f"{name}-{corpus}.{_FORMAT.value}")
        for name, draw in bar(None, "drawing", "picture", iterable=drawings.items())
    ]
    likeliest = {name: top_k_words(*model, vocab, ids, 5) for name, model in models.items()}
    seed = "the first seed of each" if _SEED.value is None else f"seed {_SEED.value}"
    context = markdown.escaped(" ".join(vocab.decode(ids)))
    arguments = [f"--workdir={path}" for path in _WORKDIR.value]
    arguments += [f"--prompt={_PROMPT.value}" if _PROMPT.value else f"--length={_LENGTH.value}"]
    arguments += [] if _SEED.value is None else [f"--seed={_SEED.value}"]
    command = shlex.join(["python", "experiments/plot.py", *arguments])
    page = f"# Next words: {corpus}\n\nMade by `{command}`, {seed}: the likeliest words after "
    page += f"*{context}*, with their probability p and their geodesic distance d from the "
    page += f"context.\n\n{side_by_side(likeliest)}"
    path = out / f"decoding-{corpus}.md"
    files.write(path, page.encode())
    return [*written, path]


if __name__ == "__main__":
    commandline.run(main)
