"""Penn Treebank as preprocessed by Mikolov et al. (2010), word level, the 2000 most frequent words.

Command:  python experiments/train.py --config=experiments/configs/ptb.py:hyprilm
          python experiments/train.py --config=experiments/configs/ptb.py:hyprilm,preset=paper
          (init=contractive beside preset=paper is that preset's second row)
Score:    experiments/results/RESULTS.md, made from the summaries in experiments/results/ptb.
Time:     10 epochs of 227 steps, five seeds in one program (preset=paper: of 114); RESULTS.md says
          at how many tokens a second each run went and on what.
Hardware: any; on a CPU the seeds run one after the other, on an accelerator side by side.

The text is licensed: --data_dir names the folder that holds your copy.
"""

from ml_collections import ConfigDict

from rilm_jax import commandline, recipes


def get_config(string: str = recipes.DEFAULT) -> ConfigDict:
    """The run of a string `MODEL[-HEAD][,key=value...]` on this corpus."""
    return commandline.get_config("ptb", string)
