"""Suites of runs, and how one is worked through: what `experiments/sweep.py` calls."""
