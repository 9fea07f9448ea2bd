"""Progress bars: shown in a terminal, silent everywhere else."""

import sys

from tqdm import tqdm


def bar(total: int | None = None, desc: str = "", unit: str = "it", **options) -> tqdm:
    """A `tqdm` bar on stderr that draws nothing when stderr is no terminal."""
    return tqdm(
        total=total,
        desc=desc,
        unit=unit,
        disable=not sys.stderr.isatty(),
        leave=False,
        dynamic_ncols=True,
        **options,
    )
