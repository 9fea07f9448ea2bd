"""Penn Treebank as preprocessed by Mikolov et al. (2010), word level, the 2000 most frequent words.

Command:  python experiments/train.py --config=experiments/configs/ptb.py:hyprilm
          python experiments/train.py --config=experiments/configs/ptb.py:hyprilm,preset=paper
          (init=contractive beside preset=paper is that preset's second row)
Score:    no five-seed summary is committed yet; none is claimed here. Summaries belong in
          experiments/results/ptb/NAME.json, five seeds at the best-validation epoch.
Time:     not measured yet; 114 steps an epoch, 10 epochs, five seeds.
Hardware: any; the five seeds are meant for one accelerator.

The text is licensed: --data_dir names the folder that holds your copy.
"""

from ml_collections import ConfigDict

from rilm_jax import commandline, recipes


def get_config(string: str = recipes.DEFAULT) -> ConfigDict:
    """The run of a string `MODEL[-HEAD][,key=value...]` on this corpus."""
    return commandline.get_config("ptb", string)
