"""The one exception that stands for a mistake in what the user gave, and its commonest sentence."""

import difflib
from collections.abc import Iterable
from typing import Any


class InputError(ValueError):
    """Bad input: one sentence that says what is wrong, where, and what to do.

    The launchers print it without a traceback and leave with a non-zero status.
    """


def unknown_name(what: str, name: Any, known: Iterable[str]) -> str:
    """The sentence for a name that nobody knows, with the nearest one that somebody does."""
    known = sorted(known)
    near = nearest(name, known)
    if near is not None and len(known) > 10:
        return f"{what} {name!r} is unknown; did you mean {near!r}?"
    hint = "it" if near is None else f"did you mean {near!r}? It"
    return f"{what} {name!r} is unknown; {hint} must be one of {', '.join(known)}."


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """The known name that was meant, if there is one like it.

    That is one with these initials (`lr`), then one that holds the name (`epochs`), then one that
    is spelt alike.
    """
    known, text = sorted(known), str(name)
    initials = [n for n in known if "_" in n and text == "".join(w[:1] for w in n.split("_"))]
    holding = [n for n in known if len(text) > 3 and f"_{text}" in n]
    near = initials or holding or difflib.get_close_matches(text, known, n=1, cutoff=0.4)
    return near[0] if near else None
