"""The embedded corpus: the help topics that every CPython carries, 2000 words.

Command:  python experiments/train.py                                  (both RiLMs, the main job)
          python experiments/train.py --config=experiments/configs/pydoc.py:hyprilm
Score:    each run prints the validation perplexity of its n-gram floors beside its own. The text
          differs between versions of Python, so scores compare on one version only.
Time:     sized so that the main job takes a few minutes on two CPU cores.
Hardware: any; written for a laptop's CPU.
"""

from ml_collections import ConfigDict

from rilm_jax import commandline, recipes


def get_config(string: str = recipes.DEFAULT) -> ConfigDict:
    """The run of a string `MODEL[-HEAD][,key=value...]` on this corpus."""
    return commandline.get_config("pydoc", string)
