"""Your own text: a folder with train.txt, valid.txt and test.txt, one sentence or paragraph a line.

Command:  python experiments/train.py --config=experiments/configs/text.py:hyprilm,data=FOLDER
Score:    yours; each run prints the validation perplexity of its n-gram floors beside its own.
Time:     in proportion to the text; WikiText-2's configuration is the yardstick.
Hardware: any.

Words are what white space separates; `vocab_size` of them are kept (2000), the rest is <unk>.
"""

from ml_collections import ConfigDict

from rilm_jax import commandline, recipes


def get_config(string: str = recipes.DEFAULT) -> ConfigDict:
    """The run of a string `MODEL[-HEAD][,key=value...]`, `data=FOLDER` among its keys."""
    return commandline.get_config("text", string)
