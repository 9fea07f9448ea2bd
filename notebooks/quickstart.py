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
# # Quickstart
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/rilm-jax/rilm_jax/blob/main/notebooks/quickstart.ipynb)
#
# Two language models whose output layer is geometry, one in flat space and one on the Poincare ball, learn Python's own help
# text with five seeds each. Their perplexity is put beside the n-gram floors, and the ball's model writes a few words.

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
EPOCHS = 6  # @param {type: "integer"}
SEEDS = (42, 43, 44, 45, 46)  # @param
VOCAB_SIZE = 2000  # @param {type: "integer"}
DIM = 128  # @param {type: "integer"}
PROMPT = "the value of"  # @param {type: "string"}

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import jax
from IPython.display import Markdown, display

from rilm_jax import config, recipes, results, terminal, trained, training
from rilm_jax.analysis import curves, side_by_side, top_k_words
from rilm_jax.generation import generate
from rilm_jax.training.summary import circumstances

setting = circumstances()
print(", ".join(f"{name} {version}" for name, version in setting["versions"].items()))
print("on", setting["device"])

# %% [markdown]
# ## Train
#
# A configuration string names the model; what it leaves open comes from the tuned recipe. All seeds of a model train in one
# compiled program.

# %%
folder = Path(tempfile.mkdtemp())
changes = f"num_epochs={EPOCHS},vocab_size={VOCAB_SIZE},dim={DIM},seeds={'+'.join(map(str, SEEDS))}"
summaries = {}
for model in ("hyprilm", "flatrilm"):
    run = config.from_flat(recipes.recipe("pydoc", f"{model},{changes}"))
    summaries[model] = training.run(run, folder / model)

# %%
print(terminal.summary_table(summaries))

# %% [markdown]
# The floors are a unigram model and a modified Kneser-Ney 5-gram on the same text and vocabulary: a model that does not come
# near them has learned little. *non-`<unk>`* counts the targets that are words of the vocabulary only.

# %%
evaluations = {model: results.curve(folder / model) for model in summaries}
floor = summaries["hyprilm"]["floor"]["kn5"]
curves.learning_curves(evaluations, floor=floor, title="Python's help text")

# %% [markdown]
# ## What comes next
#
# The next word is a softmax over negative squared distances, so the likeliest words are the closest ones.

# %%
likeliest = {}
for model in summaries:
    opened = trained.load_seed(folder / model, with_corpus=False)
    ids, _ = trained.encode("pydoc", opened.vocab, PROMPT)
    likeliest[model] = top_k_words(opened.model, opened.params, opened.vocab, ids, 5)
display(
    Markdown(f"After *{PROMPT}*, with probability p and distance d:\n\n{side_by_side(likeliest)}")
)

# %% [markdown]
# ## A sample

# %%
opened = trained.load_seed(folder / "hyprilm", with_corpus=False)
vocab = opened.vocab
ids, _ = trained.encode("pydoc", vocab, PROMPT)
drawn = generate(opened.model, opened.params, ids, 40, jax.random.key(0), top_k=10)
print(PROMPT, *vocab.decode(drawn))
