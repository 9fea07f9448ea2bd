# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The ball, its boundary, and the gap
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/rilm-jax/rilm_jax/blob/main/notebooks/geometry.ipynb)
#
# A context is a point of the Poincare ball that every word moves. Here you see it move, see it run into the boundary when the
# recurrence is the textbook's, and see what carrying the gap $1 - c |x|^2$ along does about it.

# %% tags=["install"]
# Installs the package where it is missing, as on Colab.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("rilm_jax") is None:
    source = "git+https://github.com/rilm-jax/rilm_jax"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", source], check=True)

# %%
# @title Settings
STEPS = 16  # @param {type: "integer"}
DIM = 128  # @param {type: "integer"}
TRAINING_STEPS = 150  # @param {type: "integer"}
LENGTH = 10  # @param {type: "integer"}

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax import build, config, data, recipes, trained, training
from rilm_jax.analysis import collapse, figures, geometry
from rilm_jax.manifolds import poincare
from rilm_jax.training.summary import circumstances

setting = circumstances()
print(", ".join(f"{name} {version}" for name, version in setting["versions"].items()))
print("on", setting["device"])

# %% [markdown]
# ## What the gap does
#
# All of the ball's formulas divide by the gap $1 - c |x|^2$. Near the boundary that is a difference of nearly equal numbers, and
# float32 loses it digit by digit. The recurrence therefore carries the gap beside the coordinates and updates it by a formula of
# its own, which has no cancellation.

# %%
step = jnp.asarray([0.5] + [0.0] * (DIM - 1), jnp.float32)  # |log_0| = 1/2 is a distance of 1
h, gap = jnp.zeros(DIM), jnp.ones(1)
distances = np.arange(1, 15)
errors = {"1 - |x|^2 from the coordinates": [], "the carried gap": []}
for distance in distances:
    h, gap = poincare.translate0(h, gap, step, 1.0)
    exact = 1 / np.cosh(distance / 2) ** 2
    errors["1 - |x|^2 from the coordinates"].append(abs(float(1 - jnp.sum(h * h)) / exact - 1))
    errors["the carried gap"].append(abs(float(gap[0]) / exact - 1))

figure = figures.new()
(axis,) = figures.axes(figure)
for (label, values), colour in zip(errors.items(), figures.CYCLE, strict=False):
    axis.semilogy(distances, np.maximum(values, 1e-8), "o-", color=colour, label=label)
axis.set(xlabel="distance from 0", ylabel="relative error of the gap")
axis.legend(frameon=False)
figure

# %% [markdown]
# ## The boundary, live
#
# Three ways to move a context, before any training: `mobius`, the library's; `projected`, which is pulled back inside at every
# step; and `naive`, the exponential map at h with the textbook's clipped artanh. From the plain initialisation all of them are at
# the boundary after four words. From the contractive one `mobius` comes to rest halfway, and `naive` still runs out: moving by
# exp_h lets steps grow with the metric, moving by exp_0 does not.

# %%
corpus = data.load("pydoc", 2000)
windows = data.windows(corpus.valid, STEPS).inputs[:64]
rows = []
for init in ("plain", "contractive"):
    for recurrence in ("mobius", "projected", "naive"):
        guard = "clip" if recurrence == "naive" else "gap"
        string = f"hyprilm,dim={DIM},recurrence={recurrence},init={init},guard={guard}"
        model = build(config.from_flat(recipes.recipe("pydoc", string)).model)
        norms = collapse.norms_by_step(model, model.init(jax.random.key(0)), windows)
        rows.append({"recurrence": recurrence, "init": init, "norms": norms["mean"]})

figure = figures.new(9, 3.4)
for axis, init in zip(figures.axes(figure, 2, sharey=True), ("plain", "contractive"), strict=True):
    for row in rows:
        if row["init"] == init:
            colour = collapse.COLOURS[row["recurrence"]]
            style = {"mobius": "o-", "projected": "--", "naive": "s-"}[row["recurrence"]]
            at = range(1, STEPS + 1)
            axis.plot(at, row["norms"], style, color=colour, label=row["recurrence"])
    axis.axhline(1, color=figures.GREY, linewidth=0.8)
    axis.set(xlabel="words read", ylabel="mean |h|", title=f"init={init}", ylim=(0, 1.05))
    axis.legend(frameon=False)
figure

# %% [markdown]
# ## A trained context on its way
#
# A short training, and then the context after each word of a prefix: on the ball in a geodesic disk, its boundary the circle
# at infinity and its legs geodesics; in flat space in the principal plane.

# %%
folder = Path(tempfile.mkdtemp())
models = {}
for name in ("hyprilm", "flatrilm"):
    string = f"{name},dim={DIM},num_steps={TRAINING_STEPS},seeds=42"
    training.run(config.from_flat(recipes.recipe("pydoc", string)), folder / name)
    opened = trained.load_seed(folder / name)
    models[name] = (opened.model, opened.params)
vocab = opened.vocab
prefix = geometry.first_prefix(opened.corpus.valid, vocab, LENGTH)
geometry.draw_trajectories(models, vocab, prefix)

# %%
geometry.draw_radii(models, opened.corpus.valid)

# %%
from rilm_jax.generation import generate

model, params = models["hyprilm"]
drawn = generate(model, params, prefix, 20, jax.random.key(0), top_k=10)
print(*vocab.decode(prefix), "|", *vocab.decode(drawn))
