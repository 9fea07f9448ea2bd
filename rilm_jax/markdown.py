"""Markdown: tables, and text that is not to be read as markup."""

import re
from collections.abc import Collection, Sequence


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    padded: bool = False,
) -> str:
    """A table, without a line's end behind it; a `|` in a cell is escaped.

    Args:
      header: the columns' names.
      rows: their cells.
      right: names of the columns whose cells stand to the right, as numbers do.
      padded: make the columns as wide as their cells, for those who read the text itself.
    """
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (header, *rows)]
    columns = []
    for name, cells in zip(header, zip(*lines, strict=True), strict=True):
        width, numeric = max(3, *map(len, cells)) if padded else 0, name in right
        rule = "-" * (width - numeric if padded else 3) + ":" * numeric
        head, *rest = [f"{cell:{'>' if numeric else '<'}{width}}" for cell in cells]
        columns.append([head, rule, *rest])
    return "\n".join(f"| {' | '.join(line)} |" for line in zip(*columns, strict=True))


def escaped(text: str) -> str:
    """A text of any words, so that it is shown as it stands; a table escapes `|` itself."""
    return re.sub(r"([\\`*_<\[\]#~&])", r"\\\1", text)
