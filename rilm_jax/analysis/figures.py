"""What all pictures share: colours that colour-blind readers tell apart, and paper-white grounds.

Figures are matplotlib's own objects, without pyplot's global state; `save` writes them. The ground
is opaque, so that a picture reads on a dark page as it does in print.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rilm_jax.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, PINK, SKY, RED, BLACK = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"),
)
CYCLE = (BLUE, ORANGE, GREEN, PINK, RED, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")  # of another number than colours
GREY = "0.45"


def style(i: int) -> dict[str, Any]:
    """Colour, marker and line of the i-th of several curves; no two of the first 56 are alike.

    Lines are dashed where colours come again.
    """
    line = "-" if i < len(CYCLE) else (0, (4, 1.5))
    return {"color": CYCLE[i % len(CYCLE)], "marker": MARKERS[i % len(MARKERS)], "linestyle": line}


def new(width: float = 5.0, height: float = 3.4) -> "Figure":
    """An empty figure of that size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def axes(figure: Any, columns: int = 1, rows: int = 1, **options: Any) -> list[Any]:
    """Axes row by row, without the frame's upper and right side."""
    made = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for axis in made:
        axis.spines[["top", "right"]].set_visible(False)
    return made


def legend_below(figure: Any, axis: Any, columns: int = 1) -> None:
    """What the lines of `axis` are, under the figure, where it hides none of them."""
    handles, labels = axis.get_legend_handles_labels()
    place = "outside lower center"
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, fontsize="small")


def save(figure: "Figure", path: str | Path) -> Path:
    """Write a figure; the ending of `path` says in which format.

    Raises:
      InputError: it cannot be written, or nobody knows the format.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written ({error}); choose another.") from error
    return path
