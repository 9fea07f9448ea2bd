"""WikiText-2 (Merity et al., 1609.07843), word level, the 2000 most frequent words.

Command:  python experiments/train.py --config=experiments/configs/wikitext2.py:hyprilm
          python experiments/train.py --config=experiments/configs/wikitext2.py:hyprilm,preset=paper
          (init=contractive beside preset=paper is that preset's second row)
Score:    no five-seed summary is committed yet; none is claimed here. Summaries belong in
          experiments/results/wikitext2/NAME.json, five seeds at the best-validation epoch.
Time:     not measured yet; 255 steps an epoch, 10 epochs, five seeds.
Hardware: any; the five seeds are meant for one accelerator.
"""

from ml_collections import ConfigDict

from rilm_jax import commandline, recipes


def get_config(string: str = recipes.DEFAULT) -> ConfigDict:
    """The run of a string `MODEL[-HEAD][,key=value...]` on this corpus."""
    return commandline.get_config("wikitext2", string)
