"""The corpus that needs no file: the help topics which every CPython carries.

`pydoc_data.topics` is the language reference as `help()` shows it. Raw, it is a poor corpus: a
third of its text appears under several topics (so a split by topic would test on training text),
one character in seven is a heading's underline or a table's border, and a quarter of the lines are
blank. So here each paragraph is kept once, and lines without a letter, digit or underscore are
left out: what remains is about 70,000 training tokens, of which one in thirteen is `<eos>`, and
8,000 in each of the other splits.
"""

import platform
import re
from collections.abc import Mapping

from rilm_jax.data.corpora import SPLITS
from rilm_jax.errors import InputError

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w")
_BLANK = re.compile(r"\n\s*\n")


def texts() -> dict[str, bytes]:
    """The three splits as text, one line a line, tokens separated by one space.

    Topics are sorted by name; of every ten the first goes to `valid` and the sixth to `test`. A
    paragraph that has been seen is dropped, `test` and `valid` being read before `train`, so that
    no held-out paragraph is trained on.

    Raises:
        InputError: if this Python was installed without its help topics.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise InputError(
            "The pydoc corpus is missing: this Python was installed without pydoc_data; "
            "install its full standard library or use another corpus."
        ) from error
    return split_topics(topics)


def split_topics(topics: Mapping[str, str]) -> dict[str, bytes]:
    """`texts` of given topics."""
    names = sorted(topics)
    held_out = {"valid": names[0::10], "test": names[5::10]}
    members = {"train": sorted({*names} - {*held_out["valid"], *held_out["test"]}), **held_out}
    seen: set[str] = set()
    result = {}
    for split in reversed(SPLITS):
        lines: list[str] = []
        for name in members[split]:
            for paragraph in _BLANK.split(topics[name]):
                words = [_TOKEN.findall(ln) for ln in paragraph.split("\n") if _WORD.search(ln)]
                content = " ".join(word for line in words for word in line)
                if content and content not in seen:
                    seen.add(content)
                    lines.extend(" ".join(line) for line in words)
        result[split] = "".join(f"{line}\n" for line in lines).encode()
    return {split: result[split] for split in SPLITS}


def python_version() -> str:
    """The Python whose help text this is: the text differs from release to release."""
    return platform.python_version()
