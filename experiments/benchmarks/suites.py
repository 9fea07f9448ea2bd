"""The suites: which rows are measured side by side, and what their ratios are held to."""

import dataclasses
import datetime
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version
from typing import Any, NamedTuple

import jax
import numpy as np

from experiments.benchmarks import alternatives, gemms, measure, programs
from experiments.benchmarks.measure import Row, Samples, Target
from rilm_jax import config, data, recipes, training
from rilm_jax.config import RunConfig
from rilm_jax.errors import InputError
from rilm_jax.training import step
from rilm_jax.training.summary import circumstances

FLAT, HYP, LSTM, SSM = "flatrilm", "hyprilm", "lstm-tied", "ssm-tied"
FIVE = (42, 43, 44, 45, 46)
SECONDS_OF_A_GPU_RUN = 60.0
LOSSES_AGREE = 1e-4


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What a suite runs at; there is a set of bounds for each of `vocab_sizes`, in their order."""

    vocab_sizes: tuple[int, ...] = (2000, 10_000)
    batch_size: int = 128
    window: int = 64
    dim: int = 128
    repeats: tuple[int, ...] = (7, 5)
    peer_repeats: tuple[int, ...] = (5, 3)
    words: int = 1024
    chunk_elements: int = 8000
    windows: tuple[int, ...] = (16, 32, 64, 128, 256)
    dims: tuple[int, ...] = (16, 32, 64, 128, 256)
    vocabularies: tuple[int, ...] = (1000, 2000, 5000, 10_000, 33_278)
    seeds: tuple[int, ...] = (1, 2, 5)
    num_epochs: int = 10

    def run(self, model: str, vocab_size: int, **changed: Any) -> RunConfig:
        """The tuned recipe of a model at these sizes, as many steps a call as take a while."""
        sizes = {
            "vocab_size": vocab_size,
            "batch_size": self.batch_size,
            "eval_batch_size": self.batch_size,
            "window": self.window,
            "dim": self.dim,
            "chunk_steps": max(1, min(16, self.chunk_elements // vocab_size)),
        }
        return programs.run_config(model, **(sizes | changed))


FULL = Sizes()
QUICK = Sizes(
    vocab_sizes=(50,),
    batch_size=4,
    window=6,
    dim=8,
    repeats=(2,),
    peer_repeats=(2,),
    words=8,
    chunk_elements=100,
    windows=(6,),
    dims=(8,),
    vocabularies=(50, 80),
    seeds=(1, 2),
    num_epochs=1,
)


class Group(NamedTuple):
    """Rows measured side by side, and the ratios between them."""

    rows: list[Row]
    targets: list[Target]
    repeats: int


def run(
    suite: str, *, quick: bool = False, repeats: int = 0, data_dir: str | None = None
) -> dict[str, Any]:
    """Measure a suite.

    Args:
      suite: one of `SUITES`.
      quick: at tiny sizes, to see that it works; the numbers mean nothing.
      repeats: of every row, in place of the suite's own numbers.
      data_dir: where WikiText-2 lies, for `gpu`.

    Returns:
      A JSON-ready record: `rows` with median, min, max and n each, `targets` with the ratio of the
      repeats and whether it is met, and under which circumstances. `not_run` says why not.

    Raises:
      InputError: `peers` without its packages, `gpu` without its corpus.
    """
    sizes = QUICK if quick else FULL
    if repeats:
        each = (repeats,) * len(sizes.vocab_sizes)
        sizes = dataclasses.replace(sizes, repeats=each, peer_repeats=each)
    record = {"suite": suite, "quick": quick, **_header(), "rows": [], "targets": []}
    if suite == "gpu" and jax.default_backend() == "cpu" and not quick:
        return record | {"not_run": "there is no GPU here"}
    if suite == "gpu":
        _run_on_gpu(record, sizes, data_dir)
    elif suite == "peers":
        record["versions"] |= _peers_versions()
    for group in SUITES[suite](sizes):
        samples = measure.interleave(group.rows, group.repeats, suite)
        record["rows"] += [measure.row_record(row, samples) for row in group.rows]
        record["targets"] += [measure.target_record(target, samples) for target in group.targets]
    record["peak_memory_mib"] = _peak_memory()
    return record


def _header() -> dict[str, Any]:
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        **circumstances(),
    }


def _peak_memory() -> float | None:
    """Of the whole process on its device, where the device keeps account."""
    stats = jax.devices()[0].memory_stats() or {}
    peak = stats.get("peak_bytes_in_use")
    return None if peak is None else peak / programs.MIB


def cpu(sizes: Sizes) -> Iterator[Group]:
    """Steps, their roofline and parts, five seeds, generation, and every model and head."""
    bounds = zip(
        sizes.vocab_sizes,
        sizes.repeats,
        [(1.20, 1.15, 0.90, 1.25), (1.15, 1.15, 0.95, 1.15)],
        strict=False,
    )
    for vocab_size, repeats, (of_ball, of_roofline, of_seeds, of_word) in bounds:
        at = f"V={vocab_size}: "
        yield Group(
            _steps(at, sizes, vocab_size),
            [
                _ratio(f"{at}HypRiLM step / Flat step", f"{at}{HYP}", f"{at}{FLAT}", of_ball),
                Target(
                    f"{at}Flat step / its matrix products alone",
                    lambda t, at=at: t[f"{at}{FLAT}"] / _roofline(at, t),
                    of_roofline,
                ),
                *_seed_ratios(at, of_seeds),
            ],
            repeats,
        )
        yield Group(
            _generation(at, sizes, vocab_size),
            [
                _ratio(
                    f"{at}generation, HypRiLM / Flat a token",
                    f"{at}{HYP}, generate",
                    f"{at}{FLAT}, generate",
                    of_word,
                )
            ],
            repeats,
        )
    yield from _alternatives(sizes)
    yield from _models(sizes)


def scaling(sizes: Sizes) -> Iterator[Group]:
    """A step of both RiLMs as T, V, d and the number of seeds grow, one at a time."""
    base = {
        "window": sizes.window,
        "vocab_size": sizes.vocab_sizes[0],
        "dim": sizes.dim,
        "seeds": (42,),
    }
    axes = {
        "window": sizes.windows,
        "vocab_size": sizes.vocabularies,
        "dim": sizes.dims,
        "seeds": [FIVE[:n] for n in sizes.seeds],
    }
    settings: list[dict[str, Any]] = []
    for field, values in axes.items():
        settings += [base | {field: v} for v in values if base | {field: v} not in settings]
    rows = []
    for changed in settings:
        t, v, d, seeds = changed.values()
        for model in (FLAT, HYP):
            name = f"{model}, T={t}, V={v}, d={d}, {_seeds(len(seeds))}"
            rows.append(programs.steps(name, _sized(sizes, model, **changed)))
    yield Group(rows, [], min(sizes.repeats[-1], 5))


def peers(sizes: Sizes) -> Iterator[Group]:
    """RiLMs and LSTM beside themselves in PyTorch and geoopt, once their losses agree."""
    from experiments.benchmarks import peers as torch_peers

    bounds = zip(sizes.vocab_sizes, sizes.peer_repeats, [(12.0, 2.8), (10.0, 2.5)], strict=False)
    for vocab_size, repeats, (of_ball, of_flat) in bounds:
        at = f"V={vocab_size}: "
        rows = []
        for model in (FLAT, HYP):
            run = sizes.run(model, vocab_size, chunk_steps=1)
            rows.append(programs.steps(f"{at}{model}", run))
            rows += torch_peers.rows(f"{at}{model}", run, agree=LOSSES_AGREE)
        torch_ball = [row.name for row in rows if f"{HYP}, PyTorch + geoopt" in row.name]
        yield Group(
            rows,
            [
                Target(
                    f"{at}HypRiLM step, best of PyTorch + geoopt / ours",
                    lambda t, at=at, names=tuple(torch_ball): (
                        np.minimum.reduce([t[name] for name in names]) / t[f"{at}{HYP}"]
                    ),
                    of_ball,
                    least=True,
                ),
                _ratio(
                    f"{at}Flat step, compiled PyTorch / ours",
                    f"{at}{FLAT}, PyTorch compiled",
                    f"{at}{FLAT}",
                    of_flat,
                    least=True,
                ),
                _ratio(
                    f"{at}HypRiLM step, PyTorch without geoopt, compiled / ours",
                    f"{at}{HYP}, PyTorch alone compiled",
                    f"{at}{HYP}",
                ),
            ],
            repeats,
        )
        run = sizes.run(LSTM, vocab_size, chunk_steps=1)
        theirs = torch_peers.rows(f"{at}{LSTM}", run, agree=LOSSES_AGREE)
        yield Group(
            [programs.steps(f"{at}{LSTM}", run), *theirs],
            [
                Target(
                    f"{at}LSTM step, best of torch.nn.LSTM / ours",
                    lambda t, at=at, names=tuple(row.name for row in theirs): (
                        np.minimum.reduce([t[name] for name in names]) / t[f"{at}{LSTM}"]
                    ),
                    1.0,
                    least=True,
                )
            ],
            repeats,
        )


def gpu(sizes: Sizes) -> Iterator[Group]:
    """Steps, five seeds, evaluation and generation; what `run` adds is a whole run."""
    sizes = dataclasses.replace(sizes, chunk_elements=1 << 30)  # sixteen steps a call, as a run has
    for vocab_size, repeats in zip(sizes.vocab_sizes, sizes.repeats, strict=True):
        at = f"V={vocab_size}: "
        yield Group(
            [
                *_steps(at, sizes, vocab_size),
                *(
                    programs.evaluating(f"{at}{model}, evaluation", sizes.run(model, vocab_size), 8)
                    for model in (FLAT, HYP)
                ),
            ],
            [
                _ratio(f"{at}HypRiLM step / Flat step", f"{at}{HYP}", f"{at}{FLAT}"),
                Target(
                    f"{at}Flat step / its matrix products alone",
                    lambda t, at=at: t[f"{at}{FLAT}"] / _roofline(at, t),
                ),
                *_seed_ratios(at),
            ],
            repeats,
        )
        yield Group(_generation(at, sizes, vocab_size), [], repeats)


SUITES: dict[str, Callable[[Sizes], Iterable[Group]]] = {
    "cpu": cpu,
    "gpu": gpu,
    "scaling": scaling,
    "peers": peers,
}


def _steps(at: str, sizes: Sizes, vocab_size: int) -> list[Row]:
    """Steps of both RiLMs, of five seeds by either map, the products alone, and a step's parts."""
    runs = {model: sizes.run(model, vocab_size) for model in (FLAT, HYP)}
    rows = [programs.steps(f"{at}{model}", run) for model, run in runs.items()]
    rows += gemms.rows(at, vocab_size, sizes.dim, sizes.batch_size, sizes.window)
    for how in ("map", "vmap"):
        five = sizes.run(HYP, vocab_size, seeds=FIVE, seed_map=how)
        rows.append(programs.steps(f"{at}{HYP}, five seeds by {how}", five))
    for model, run in runs.items():
        rows += programs.parts(f"{at}{model}", run)
    return rows


def _generation(at: str, sizes: Sizes, vocab_size: int) -> list[Row]:
    rows = []
    for model in (FLAT, HYP):
        run = sizes.run(model, vocab_size)
        rows.append(programs.generating(f"{at}{model}, generate", run, sizes.words))
        rows.append(programs.streaming(f"{at}{model}, stream", run, max(1, sizes.words // 8)))
    return rows


def _alternatives(sizes: Sizes) -> Iterator[Group]:
    """What was chosen against what was not."""
    for model in (FLAT, HYP):
        run, name = sizes.run(model, sizes.vocab_sizes[0]), f"{model}, recurrence"
        by_eight = f"{name} unrolled by 8"
        rows = [programs.recurrence(name, run), alternatives.unrolled(by_eight, run, 8)]
        yield Group(rows, [_ratio(f"{by_eight} / as it is", by_eight, name)], sizes.repeats[0])
    run, name = sizes.run(SSM, sizes.vocab_sizes[0]), f"{SSM}, recurrence"
    by_rounds = f"{name} by an associative scan"
    rows = [programs.recurrence(name, run), alternatives.associative(by_rounds, run)]
    target = _ratio(f"{by_rounds} / as it is", by_rounds, name)
    yield Group(rows, [target], min(sizes.repeats[0], 3))


def _models(sizes: Sizes) -> Iterator[Group]:
    """Training and evaluation of every model with every head."""
    strings = [f"{model}-{head}" for model in recipes.MODELS for head in recipes.HEADS]
    strings += [f"{model}-geodesic,composition=gated" for model in (FLAT, HYP)]
    for string in strings:
        run = sizes.run(string, sizes.vocab_sizes[0])
        yield Group(
            [
                programs.steps(f"{string}, training", run),
                programs.evaluating(f"{string}, evaluation", run, run.chunk_steps),
            ],
            [],
            min(sizes.repeats[0], 3),
        )


def _ratio(
    name: str, above: str, below: str, bound: float | None = None, *, least: bool = False
) -> Target:
    return Target(name, lambda t: t[above] / t[below], bound, least)


def _roofline(at: str, samples: Samples) -> np.ndarray:
    return sum(
        (v for name, v in samples.items() if name.startswith(f"{at}GEMMs")), start=np.zeros(())
    )


def _seed_ratios(at: str, bound: float | None = None) -> Sequence[Target]:
    """Five seeds in one program over five times one; the bound is for what "auto" chooses."""
    auto = step.seed_map("auto")
    return [
        Target(
            f"{at}five seeds by {how}{' (auto)' * (how == auto)} / five times one",
            lambda t, how=how: t[f"{at}{HYP}, five seeds by {how}"] / (5 * t[f"{at}{HYP}"]),
            bound if how == auto else None,
        )
        for how in ("map", "vmap")
    ]


def _sized(sizes: Sizes, model: str, vocab_size: int, **changed: Any) -> RunConfig:
    return sizes.run(model, vocab_size, **changed)


def _seeds(n: int) -> str:
    return f"{n} seed" + "s" * (n > 1)


def _run_on_gpu(record: dict[str, Any], sizes: Sizes, data_dir: str | None) -> None:
    """A whole run of five seeds on WikiText-2 against its minute, and the decoder's precision."""
    run = config.from_flat(recipes.recipe("wikitext2", HYP) | {"num_epochs": sizes.num_epochs})
    corpus = None
    if record["quick"]:
        run = sizes.run(HYP, sizes.vocab_sizes[0], seeds=FIVE, num_epochs=sizes.num_epochs)
        corpus = _made_up(run)
    with tempfile.TemporaryDirectory() as folder:
        summary = training.run(run, folder, corpus=corpus, data_dir=data_dir)
    wanted = ("config", "steps", "best_valid_ppl", "tokens_per_second", "wall_seconds")
    record["run"] = {name: summary[name] for name in wanted}
    seconds = summary["wall_seconds"]
    record["targets"].append(
        {
            "name": "WikiText-2, five seeds, ten epochs of HypRiLM, seconds with compilation",
            **measure.spread(np.array([seconds])),
            "target": f"<= {SECONDS_OF_A_GPU_RUN:.0f}",
            "met": seconds <= SECONDS_OF_A_GPU_RUN,
        }
    )
    record["decoder_error"] = {
        f"radius {radius:g}": programs.decoder_precision(sizes.vocab_sizes[0], sizes.dim, radius)
        for radius in (0.5, 1.0, 2.0)
    }


def _made_up(run: RunConfig) -> data.Corpus:
    words = ("<unk>", "<eos>", *(f"w{i}" for i in range(run.model.vocab_size - 2)))
    n = 4 * run.batch_size * run.window
    splits = (programs.zipf((size,), run.model.vocab_size, size) for size in (n, n // 2, n // 3))
    return data.Corpus(data.Vocabulary(words), *splits, name="made up", info={})


def _peers_versions() -> dict[str, str]:
    """Of PyTorch and geoopt.

    Raises:
      InputError: they are not installed.
    """
    try:
        return {name: _version(name) for name in ("torch", "geoopt")}
    except PackageNotFoundError as error:
        raise InputError(
            f"--suite=peers needs {error.name}, which is not installed; "
            "pip install -e '.[bench]' brings it."
        ) from error
