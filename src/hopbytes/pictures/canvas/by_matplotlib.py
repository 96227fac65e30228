"""Panels as PNG and PDF, by matplotlib (the extra ``plot``), without a display."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from hopbytes.errors import MissingPackageError
from hopbytes.formats.base import MARK
from hopbytes.pictures.canvas.marks import Line, Mark, Panel, Raster, Rectangle, Words
from hopbytes.pictures.canvas.palette import rgb

#: Metadata by format of matplotlib: the program (so that it may overwrite the file), and no date.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": MARK},
    "pdf": {"Creator": MARK, "CreationDate": None},
}
#: Pixels per inch of PNG files, units of panels per inch, points per unit, and the largest side in inches.
PIXELS, PER_INCH, POINTS, LARGEST = 192, 96, 0.75, 40.0


def matplotlib_figure(what: str) -> Any:
    """Return the class of figures; MissingPackageError when matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError(
            f"{what} need matplotlib: pip install matplotlib (.svg needs nothing)"
        ) from None
    return Figure


def drawn_by_matplotlib(panel: Panel, form: str) -> bytes:
    """Return a panel as ``"png"`` or ``"pdf"``, the same bytes for the same panel."""
    figure_class = matplotlib_figure(f"pictures as {form.upper()}")
    scale = min(1.0, LARGEST * PER_INCH / max(panel.width, panel.height, 1))
    figure = figure_class(figsize=(panel.width * scale / PER_INCH, panel.height * scale / PER_INCH))
    draw_on(figure.add_axes((0, 0, 1, 1)), panel, scale)
    stream = io.BytesIO()
    figure.savefig(stream, format=form, metadata=METADATA[form], dpi=PIXELS)
    # PDF may end with comments; what matplotlib writes itself is not near the start, where others are marked.
    return stream.getvalue() + (f"% {MARK}\n".encode() if form == "pdf" else b"")


def draw_on(axes: Any, panel: Panel, scale: float = 1.0) -> None:
    """Draw a panel on axes of matplotlib, whose units become those of the panel; `scale` is that of texts."""
    axes.axis("off")
    for order, mark in enumerate(panel.marks):
        _add(axes, mark, scale, order)
    axes.set_xlim(0, panel.width)
    axes.set_ylim(panel.height, 0)
    axes.set_aspect("auto")


def _add(axes: Any, mark: Mark, scale: float, order: int) -> None:
    points = POINTS * scale
    if isinstance(mark, Words):
        turn: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor"} if mark.turned else {}
        # A dollar sign would begin a formula.
        text = mark.text.replace("$", r"\$")
        axes.text(
            mark.left, mark.base, text, fontsize=mark.size * points, color=mark.colour,
            ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor], va="baseline",
            fontweight="bold" if mark.bold else "normal", zorder=order, **turn,
        )
    elif isinstance(mark, Line):
        from matplotlib.lines import Line2D

        across, down = zip(*mark.points, strict=True)
        wide = mark.width * points
        axes.add_line(
            Line2D(across, down, color=mark.colour, linewidth=wide, solid_capstyle="butt", zorder=order)
        )
    elif isinstance(mark, Raster):
        table = np.array([(*rgb(colour), 255) for colour in mark.colours], np.uint8)
        table[0, 3] = 0 if mark.see_through else 255
        extent = (mark.left, mark.left + mark.width, mark.top + mark.height, mark.top)
        axes.imshow(table[mark.cells], extent=extent, interpolation="nearest", aspect="auto", zorder=order)
    else:
        _add_rectangle(axes, mark, points, order)


def _add_rectangle(axes: Any, mark: Rectangle, points: float, order: int) -> None:
    from matplotlib.patches import FancyBboxPatch, Patch
    from matplotlib.patches import Rectangle as Patched

    border = 0.8 * points if mark.stroke != "none" else 0
    style: dict[str, Any] = {
        "facecolor": mark.fill, "edgecolor": mark.stroke, "linewidth": border, "zorder": order
    }
    patch: Patch
    if mark.rounded:
        shape = f"round,pad=0,rounding_size={mark.rounded}"
        patch = FancyBboxPatch((mark.left, mark.top), mark.width, mark.height, boxstyle=shape, **style)
    else:
        patch = Patched((mark.left, mark.top), mark.width, mark.height, **style)
    axes.add_patch(patch)
