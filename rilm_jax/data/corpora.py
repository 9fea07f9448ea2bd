"""What the known corpora are: file names, hashes, counts and public mirrors.

The sha256 of its text files is what a corpus is; a mirror, an archive or a folder only says where
to look. Counts are in tokens after splitting on white space with one `<eos>` a line.

References: Merity et al., "Pointer Sentinel Mixture Models" (1609.07843), for WikiText-2; Mikolov
et al., "Recurrent neural network based language model" (Interspeech 2010), for the preprocessed
Penn Treebank (licensed text, which this library neither holds nor redistributes).
"""

from collections.abc import Mapping
from dataclasses import dataclass

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class CorpusSpec:
    """A corpus that is recognised by its content."""

    name: str
    folders: tuple[str, ...]  # names of the unpacked folder, the first is what we write
    archives: tuple[str, ...]  # names of the archive
    files: Mapping[str, tuple[str, ...]]  # split -> names of its file, the first is what we write
    sha256: Mapping[str, str]
    tokens: Mapping[str, int]
    types: int  # distinct training tokens, <unk> and <eos> included: the largest vocabulary
    mirrors: tuple[tuple[str, ...], ...]  # each a set of URLs that hold the three splits together


_GITHUB = "https://raw.githubusercontent.com"

WIKITEXT2 = CorpusSpec(
    name="wikitext2",
    folders=("wikitext-2", "wikitext2", "wikitext-2-v1"),
    archives=("wikitext-2.zip", "wikitext-2-v1.zip", "wikitext2.zip"),
    files={split: (f"{split}.txt", f"wiki.{split}.tokens") for split in SPLITS},
    sha256={
        "train": "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
        "valid": "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
        "test": "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
    },
    tokens={"train": 2_088_628, "valid": 217_646, "test": 245_569},
    types=33_278,
    mirrors=(
        ("https://wikitext.smerity.com/wikitext-2-v1.zip",),
        tuple(
            f"{_GITHUB}/pytorch/examples/main/word_language_model/data/wikitext-2/{split}.txt"
            for split in SPLITS
        ),
    ),
)

PTB = CorpusSpec(
    name="ptb",
    folders=("ptb",),
    archives=("ptb.zip",),
    files={split: (f"{split}.txt", f"ptb.{split}.txt") for split in SPLITS},
    sha256={
        "train": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
        "valid": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
        "test": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
    },
    tokens={"train": 929_589, "valid": 73_760, "test": 82_430},
    types=10_000,
    mirrors=tuple(
        tuple(f"{_GITHUB}/{owner}/lstm/master/data/ptb.{split}.txt" for split in SPLITS)
        for owner in ("wojzaremba", "tomsercu")
    ),
)

CORPORA: dict[str, CorpusSpec] = {spec.name: spec for spec in (WIKITEXT2, PTB)}
