"""Your own text: one file, or a folder with train.txt, valid.txt and test.txt.

Command:  python experiments/train.py --config=experiments/configs/text.py:hyprilm,data=NAME.txt
Score:    yours; each run prints the validation perplexity of its n-gram floors beside its own.
Time:     in proportion to the text; WikiText-2's configuration is the yardstick.
Hardware: any.

One file is cut in the order of its lines: 80 % to train on, 10 % to validate, 10 % to test. Words
are what white space separates, so set punctuation apart if it is to count as words of its own;
`vocab_size` of them are kept (2000, or all where there are fewer), the rest is <unk>. One seed,
unless `seeds` says more. The recipe is that of a small text, with dropout, small batches, and as
many epochs as make 200 steps (25 at most); docs/index.md says what to try with millions of words.
"""

from ml_collections import ConfigDict

from rilm_jax import commandline, recipes


def get_config(string: str = recipes.DEFAULT) -> ConfigDict:
    """The run of a string `MODEL[-HEAD][,key=value...]`, `data=PATH` among its keys."""
    return commandline.get_config("text", string)
