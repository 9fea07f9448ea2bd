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
# # Tables and figures from the record
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/rilm-jax/rilm_jax/blob/main/notebooks/reproduce.ipynb)
#
# Every number of the README comes from a summary in `experiments/results/`, each written by the command that stands in it.
# This notebook makes the tables and figures from those files, and trains one row again.

# %% tags=["install"]
# Fetches the project where its record is missing, as on Colab, and installs it.
import importlib.util
import subprocess
import sys
from pathlib import Path

here = Path.cwd()
roots = [p for p in (here, here.parent, here / "rilm_jax") if (p / "experiments/results").is_dir()]
if not roots:
    address = "https://github.com/rilm-jax/rilm_jax"
    subprocess.run(["git", "clone", "-q", "--depth=1", address, "rilm_jax"], check=True)
    roots = [here / "rilm_jax"]
ROOT = roots[0]
if importlib.util.find_spec("rilm_jax") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "-e", str(ROOT)], check=True)

# %%
# @title Settings
CORPUS = "wikitext2"  # @param ["wikitext2", "ptb"]
ROW = "hyprilm,seeds=42+43"  # @param {type: "string"}
EPOCHS = 1  # @param {type: "integer"}
DATA_DIR = ""  # @param {type: "string"}

# %%
import os

# %matplotlib inline
import tempfile

import jax
from IPython.display import Markdown, display

from rilm_jax import config, files, recipes, results, terminal, training
from rilm_jax.analysis import collapse, curves, subspace
from rilm_jax.errors import InputError
from rilm_jax.results import findings, grids, hyperparameters, tying
from rilm_jax.training.summary import circumstances

setting = circumstances()
print(", ".join(f"{name} {version}" for name, version in setting["versions"].items()))
print("on", setting["device"])

# %% [markdown]
# ## The table

# %%
folder = ROOT / "experiments" / "results"
record = results.read_all(folder)
finished = {path: run for path, run in record.items() if path.parent.parent == folder}
display(Markdown(results.markdown(finished)))

# %% [markdown]
# What five seeds show, the same models under other heads and at other dimensions, what each was trained with, and the variants
# of "Tying Word Vectors and Word Classifiers":

# %%
main = results.main_models(finished)
for view in (findings.five_seeds, grids.markdown, hyperparameters.markdown):
    display(Markdown(view(main)))
display(Markdown(tying.markdown(finished)))

# %% [markdown]
# ## Learning curves, and perplexity against size and compute

# %%
models = results.best_by_title(finished, CORPUS)
floor = next(iter(models.values()))[0][1]["floor"]["kn5"]
curves.learning_curves(results.best_curves(models), floor=floor, title=CORPUS)

# %%
sizes = {model: [run for _, run in found] for model, found in models.items()}
curves.frontier(sizes, floor=floor, title=CORPUS)

# %% [markdown]
# ## How far contexts run to the boundary, and the spaces of W and L

# %%
norms = files.read_json(folder / "collapse" / "wikitext2.json", "clone the repository again")[
    "rows"
]
display(Markdown(collapse.table(norms)))
collapse.plot(norms)

# %%
distances = files.read_json(folder / "subspace" / "ptb.json", "clone the repository again")["rows"]
display(Markdown(subspace.table(distances)))
subspace.plot(distances)

# %% [markdown]
# ## One row again
#
# One seed, and as many epochs as the settings say, where the corpus is at hand (`DATA_DIR`, or `RILM_DATA_DIR`); otherwise the
# same model on Python's help text. Ten epochs and the row's own seeds give the row of the table.

# %%
workdir = Path(tempfile.mkdtemp()) / "row"
data_dir = DATA_DIR or os.environ.get("RILM_DATA_DIR")
try:
    row = recipes.recipe(CORPUS, ROW) | {"seeds": (42,), "num_epochs": EPOCHS}
    summary = training.run(config.from_flat(row), workdir, data_dir=data_dir)
except InputError as error:
    print(error, "\nOn Python's help text instead:")
    row = recipes.recipe("pydoc", ROW) | {"seeds": (42,), "num_epochs": EPOCHS}
    summary = training.run(config.from_flat(row), workdir)
print(terminal.summary_table({ROW: summary}))

# %%
from rilm_jax import trained
from rilm_jax.generation import generate

opened = trained.load_seed(workdir, data_dir=data_dir)
vocab = opened.vocab
drawn = generate(
    opened.model, opened.params, opened.corpus.valid[:8], 30, jax.random.key(0), top_k=10
)
print(*vocab.decode(opened.corpus.valid[:8]), "|", *vocab.decode(drawn))
