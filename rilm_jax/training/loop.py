"""A whole run: train, evaluate, keep, go on after an interruption, and sum up."""

import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax import data, ngram, sizes
from rilm_jax import model as models
from rilm_jax.checkpoint import Checkpoints
from rilm_jax.config import RunConfig
from rilm_jax.data import Corpus
from rilm_jax.metrics import UNK_ID
from rilm_jax.progress import bar
from rilm_jax.training import optimizer, summary, workdir
from rilm_jax.training import state as states
from rilm_jax.training.evaluation import Evaluator
from rilm_jax.training.state import TrainState
from rilm_jax.training.step import make_chunk, on_device

# 80 columns, with the loss and the best validation perplexity behind.
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} {elapsed}<{remaining}{postfix}"


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop; its last checkpoint says where it goes on."""


class Best(NamedTuple):
    """Every seed at its best validation epoch so far; leaves have a leading axis S.

    The scores lie on the host in float64, as they were computed. `nll` decides, for a perplexity
    can overflow; epoch 0 means that no evaluation was finite.
    """

    params: Any
    nll: np.ndarray
    ppl: np.ndarray
    ppl_non_unk: np.ndarray
    epoch: np.ndarray


class Progress(NamedTuple):
    """All of a run at one step: what a checkpoint holds.

    Attributes:
      state: the seeds' `TrainState`.
      best: the seeds at their best.
      nll: [S] float64, summed over the epoch so far.
      weight: [S] float64, the targets behind that sum.
      died: [S], the step at which a seed was frozen; -1 while it lives.
      died_norm: [S], its gradient's norm there.
      wall: seconds in all.
    """

    state: TrainState
    best: Best
    nll: np.ndarray
    weight: np.ndarray
    died: np.ndarray
    died_norm: np.ndarray
    wall: np.ndarray


def run(
    config: RunConfig,
    work_dir: str | Path,
    *,
    corpus: Corpus | None = None,
    data_dir: str | Path | None = None,
    download: bool = False,
    record: Mapping[str, Any] | None = None,
    listener: Callable[[Mapping[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Train all seeds of `config` and return the summary that is left in `work_dir`.

    The directory gets config.json, corpus.json (the vocabulary), metrics.jsonl (one object an
    evaluation), checkpoints/ (at every epoch and at the end) and summary.json. A run that was
    stopped, at any moment and however, goes on when it is started again, and ends with the
    parameters and metrics of an undisturbed one; a finished one is not run again.

    Args:
      config: what to run.
      work_dir: new, empty, or left by the same configuration on the same text.
      corpus: prepared ids in place of `config.corpus`.
      data_dir: where the corpora lie; `RILM_DATA_DIR` when absent.
      download: fetch a missing corpus.
      record: what else the summary is to say, JSON-ready, such as the command that was given.
      listener: called with each evaluation as it is written to metrics.jsonl.

    Returns:
      The summary.

    Raises:
      InputError: bad input, before any work.
      Interrupted: SIGINT or SIGTERM came; a checkpoint was written.
    """
    model = models.build(config.model)
    if corpus is None:
        corpus = data.load(
            config.corpus,
            config.model.vocab_size,
            data_dir=data_dir,
            part=config.part,
            download=download,
        )
    _check_corpus(corpus, config)
    work_dir = Path(work_dir)
    with workdir.claim(work_dir, config):
        workdir.keep_corpus(work_dir, corpus)
        finished = workdir.read_summary(work_dir)
        if finished is not None:
            return finished
        with Checkpoints(work_dir) as checkpoints, _Signals() as signals:
            return _Run(
                config,
                model,
                corpus,
                work_dir,
                checkpoints=checkpoints,
                signals=signals,
                record=record or {},
                listener=listener,
            ).go()


def _check_corpus(corpus: Corpus, config: RunConfig) -> None:
    for split in ("train", "valid", "test"):
        data.check_ids(getattr(corpus, split), config.model.vocab_size, f"{split} split")
    data.training_windows(corpus.train, config.window)
    for split in ("valid", "test"):
        data.windows(getattr(corpus, split), config.window)


class _Signals:
    """SIGINT and SIGTERM as a request that the loop reads; a second one acts at once.

    A request that came too late for the loop, with the last step done, is raised again at the end.
    """

    def __init__(self):
        self.requested: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "_Signals":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._request)
        return self

    def __exit__(self, *exception: object) -> None:
        self._restore()
        if self.requested and exception[0] is None:
            signal.raise_signal(self.requested)

    def _request(self, number: int, frame: object) -> None:
        del frame
        self.requested = number
        self._restore()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())


class _Speed:
    """Tokens a second, all seeds together, in the fastest epoch of this process.

    The first chunk compiles and is left out. Of a shared machine the fastest epoch says most, and
    of a run that was stopped only what this process has seen, on the device that it names.
    """

    def __init__(self) -> None:
        self.fastest: float | None = None  # stays so where compilation cannot be told apart
        self._tokens = self._seconds = 0.0
        self._compiled = False

    def add(self, tokens: float, seconds: float) -> None:
        if self._compiled:
            self._tokens, self._seconds = self._tokens + tokens, self._seconds + seconds
        self._compiled = True

    def end_epoch(self) -> None:
        if self._seconds:
            self.fastest = max(self.fastest or 0.0, float(self._tokens / self._seconds))
        self._tokens = self._seconds = 0.0


class _Run:
    """The loop over epochs and chunks of one run."""

    def __init__(self, config, model, corpus, work_dir, *, checkpoints, signals, record, listener):
        self.config, self.model, self.corpus = config, model, corpus
        self.record, self.listener = record, listener
        self.work_dir, self.checkpoints, self.signals = work_dir, checkpoints, signals
        self.seeds = jnp.asarray(config.seeds)
        if config.mode == "stream":
            cut = data.streams(corpus.train, config.batch_size, config.window)
            self.steps_per_epoch = len(cut.inputs)
        else:
            cut = data.training_windows(corpus.train, config.window)
            self.steps_per_epoch = -(-len(cut.inputs) // config.batch_size)
        self.windows = len(cut.inputs)
        self.train = on_device(cut)
        self.total = config.num_steps or config.num_epochs * self.steps_per_epoch
        tx = optimizer.build(config, self.total)
        self.fresh = lambda: self._start(states.init(model, tx, config))
        self.chunk, self.speed = make_chunk(model, tx, config), _Speed()
        self.valid = Evaluator(model, corpus.valid, config)

        def order(seed, epoch):
            return tuple(data.epoch_order(seed, epoch, self.windows, config.batch_size))

        self.order = jax.jit(jax.vmap(order, in_axes=(0, None), out_axes=(0, None)))

    def _start(self, state: TrainState) -> Progress:
        n = len(self.config.seeds)
        own = jax.tree.map(jnp.copy, state.params)  # the state is donated to its first chunk
        worst = np.full(n, np.inf)
        best = Best(own, worst, worst, worst, np.zeros(n, int))
        zeros = np.zeros(n)
        return Progress(
            state,
            best,
            nll=zeros,
            weight=zeros,
            died=np.full(n, -1),
            died_norm=zeros,
            wall=np.zeros((), np.float64),
        )

    def go(self) -> dict[str, Any]:
        progress = self.fresh()
        step = self.checkpoints.latest()
        if step is not None:
            progress = self.checkpoints.restore(step, progress)
        workdir.forget_metrics_after(self.work_dir, step or 0)
        began = time.perf_counter() - float(progress.wall)
        # XLA compiles without looking at signals, for up to half a minute.
        told = "compiling (Ctrl-C waits for it)"
        with bar(self.total, told, "step", initial=step or 0, bar_format=_BAR) as shown:
            while (step := int(progress.state.step)) < self.total and not self._stale(progress):
                progress = self._epoch(progress, step // self.steps_per_epoch, shown, began)
            shown.set_description("evaluating")
            return self._sum_up(progress, began)

    def _stale(self, progress: Progress) -> bool:
        """Whether the run ends early: no seed lives, or `patience` epochs brought none forward."""
        epochs = int(progress.state.step) / self.steps_per_epoch
        waited = epochs - progress.best.epoch.max()
        return bool((progress.died >= 0).all()) or 0 < self.config.patience <= waited

    def _epoch(self, progress: Progress, epoch: int, shown: Any, began: float) -> Progress:
        """From the current step to the end of its epoch, with the evaluation there."""
        first_step = epoch * self.steps_per_epoch
        last_step = min(first_step + self.steps_per_epoch, self.total)
        last = jnp.asarray(last_step - first_step)
        if self.config.mode == "stream":
            order, row_weight = None, None
        else:
            order, row_weight = self.order(self.seeds, epoch)
        epochs = -(-self.total // self.steps_per_epoch)
        while (step := int(progress.state.step)) < last_step:
            if self.signals.requested:
                self._stop(progress, step, began)
            progress = self._chunk(
                progress, order, row_weight, jnp.asarray(step - first_step), last, shown
            )
            shown.set_description(f"epoch {epoch + 1}/{epochs}", refresh=False)
        shown.set_description(f"epoch {epoch + 1}/{epochs}, evaluating")
        report = self.valid.report(progress.state.params)
        for split, scores in (("train", self._train_report(progress)), ("valid", report)):
            self._record(last_step, epoch + 1, split, scores)
        progress = self._keep_best(progress, report, epoch + 1)
        self.speed.end_epoch()
        zeros = np.zeros(len(self.config.seeds))
        progress = progress._replace(nll=zeros, weight=zeros)
        self._save(progress, last_step, began)
        return progress

    def _chunk(self, progress, order, row_weight, first, last, shown) -> Progress:
        start = time.perf_counter()
        step = int(progress.state.step)
        state, info = self.chunk(
            self.seeds, progress.state, self.train, order, row_weight, first, last
        )
        info = jax.device_get(info)
        spent = time.perf_counter() - start
        nll = progress.nll + info.nll.astype(np.float64).sum(axis=1)
        weight = progress.weight + info.weight.astype(np.float64).sum(axis=1)
        self.speed.add(info.weight.sum(dtype=np.float64), spent)
        taken = int(state.step) - step
        shown.update(taken)
        mean = np.mean(info.nll.sum(axis=1) / np.maximum(info.weight.sum(axis=1), 1))
        best = np.mean(progress.best.ppl)
        valid = f", valid {best:.2f}" if np.isfinite(best) else ""
        shown.set_postfix_str(f"loss {mean:.3f}{valid}")
        died, norm = _first_deaths(info, progress.died, step)
        for seed, at, size in zip(self.config.seeds, died, norm, strict=True):
            if at >= 0 and at not in progress.died:
                others = "the run ends" if (died >= 0).all() else "the other seeds go on"
                shown.write(
                    f"Seed {seed} is frozen at step {at}: its loss or gradient is not finite "
                    f"(gradient norm {size:g}); {others}."
                )
        norm = np.where(progress.died >= 0, progress.died_norm, norm)
        return progress._replace(state=state, nll=nll, weight=weight, died=died, died_norm=norm)

    def _train_report(self, progress: Progress) -> dict[str, Any]:
        """The epoch's running loss, with dropout and while the parameters moved."""
        mean = progress.nll / np.maximum(progress.weight, 1)
        return {
            "n_targets": int(progress.weight.max()),
            "nll": mean.tolist(),
            "ppl": np.exp(mean).tolist(),
            "ppl_non_unk": [None] * len(mean),
        }

    def _keep_best(self, progress: Progress, report: Mapping[str, Any], epoch: int) -> Progress:
        nll, before = np.asarray(report["nll"]), progress.best
        better = np.asarray(progress.state.alive) & (nll < before.nll)

        def chosen(new, old):
            return jnp.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        best = Best(
            jax.tree.map(chosen, progress.state.params, before.params),
            np.where(better, nll, before.nll),
            np.where(better, report["ppl"], before.ppl),
            np.where(better, report["ppl_non_unk"], before.ppl_non_unk),
            np.where(better, epoch, before.epoch),
        )
        return progress._replace(best=best)

    def _record(self, step: int, epoch: int, split: str, scores: Mapping[str, Any]) -> None:
        record = {"step": step, "epoch": epoch, "split": split, "seeds": list(self.config.seeds)}
        finite = {
            name: [v if v is not None and np.isfinite(v) else None for v in value]
            if isinstance(value, list)
            else value
            for name, value in scores.items()
        }
        workdir.append_metrics(self.work_dir, record | finite)
        if self.listener:
            self.listener(record | finite)

    def _save(self, progress: Progress, step: int, began: float) -> None:
        wall = np.asarray(time.perf_counter() - began)
        self.checkpoints.save(step, progress._replace(wall=wall))

    def _stop(self, progress: Progress, step: int, began: float) -> None:
        self._save(progress, step, began)
        raise Interrupted(
            f"Stopped at step {step} of {self.total}; the same command goes on from there "
            f"({self.work_dir})."
        )

    def _sum_up(self, progress: Progress, began: float) -> dict[str, Any]:
        config, best = self.config, progress.best
        usable = np.asarray(progress.state.alive) & (best.epoch > 0)
        steps = int(progress.state.step)
        test = {name: [None] * len(config.seeds) for name in ("ppl", "ppl_non_unk")}
        if config.test:
            test = Evaluator(self.model, self.corpus.test, config).report(best.params)
            self._record(steps, -(-steps // self.steps_per_epoch), "test", test)
        final = self.valid.report(progress.state.params)

        def over_seeds(values):
            return summary.statistics(
                [v if use else None for v, use in zip(values, usable, strict=True)]
            )

        splits = {"valid": self.corpus.valid} | ({"test": self.corpus.test} if config.test else {})
        floors = {
            split: {name: v if np.isfinite(v) else None for name, v in of_split.items()}
            for split, of_split in ngram.floors(
                self.corpus.train, splits, config.model.vocab_size
            ).items()
        }
        results = {
            "params": sizes.count(jax.tree.map(lambda x: x[0], progress.state.params)),
            "steps": steps,
            "epochs": steps / self.steps_per_epoch,
            "final_valid_ppl": over_seeds(final["ppl"]),
            "best_valid_ppl": over_seeds(best.ppl),
            "best_valid_ppl_non_unk": over_seeds(best.ppl_non_unk),
            "best_epoch": over_seeds(best.epoch),
            "final_state_norm_max": over_seeds(final["state_norm_max"]),
            "test_ppl": over_seeds(test["ppl"]),
            "test_ppl_non_unk": over_seeds(test["ppl_non_unk"]),
            "floor": floors["valid"],
            "test_floor": floors.get("test"),
            "frozen": [
                {"seed": seed, "step": int(step), "grad_norm": repr(float(norm))}
                for seed, step, norm in zip(
                    config.seeds, progress.died, progress.died_norm, strict=True
                )
                if step >= 0
            ],
            "corpus": dict(self.corpus.info)
            | {"unk_share": float(np.mean(self.corpus.valid[1:] == UNK_ID))},  # of its targets
            "tokens_per_second": self.speed.fastest,
            "wall_seconds": time.perf_counter() - began,
        }
        result = dict(self.record) | summary.build(config, results)
        workdir.write_json(self.work_dir / "summary.json", result)
        return result


def _first_deaths(info: Any, died: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """The step and gradient norm at which each seed first was not finite; -1 and 0 if never."""
    bad = ~info.finite
    first = bad.argmax(axis=1)
    norm = np.take_along_axis(info.grad_norm, first[:, None], axis=1)[:, 0].astype(np.float64)
    now = bad.any(axis=1) & (died < 0)
    return np.where(now, step + first, died), np.where(now, norm, 0.0)
