"""Training: one optimiser step, chunks of them for all seeds, evaluation, and whole runs."""

from rilm_jax.training.evaluation import Evaluator
from rilm_jax.training.loop import Interrupted, run
from rilm_jax.training.state import TrainState
from rilm_jax.training.step import StepInfo, make_chunk, make_step

__all__ = ["Evaluator", "Interrupted", "StepInfo", "TrainState", "make_chunk", "make_step", "run"]
