"""WikiText-2 (Merity et al., 1609.07843), word level, the 2000 most frequent words.

Command:  python experiments/train.py --config=experiments/configs/wikitext2.py:hyprilm
          python experiments/train.py --config=experiments/configs/wikitext2.py:hyprilm,preset=paper
          (init=contractive beside preset=paper is that preset's second row)
Score:    experiments/results/RESULTS.md, made from the summaries in experiments/results/wikitext2.
Time:     10 epochs of 510 steps, or of 255 where batches are of 128 (lstm, rhn, preset=paper), five
          seeds in one program; RESULTS.md says how many tokens a second each run went through.
Hardware: any; on a CPU the seeds run one after the other, on an accelerator side by side.
"""

from ml_collections import ConfigDict

from rilm_jax import commandline, recipes


def get_config(string: str = recipes.DEFAULT) -> ConfigDict:
    """The run of a string `MODEL[-HEAD][,key=value...]` on this corpus."""
    return commandline.get_config("wikitext2", string)
