"""Pictures of nodes: boxes in boxes, as SVG, PNG or PDF (needs matplotlib, the extra ``plot``)."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from typing import Any

from hopbytes.allocation import Allocation
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK
from hopbytes.machines.kinds import base_kind
from hopbytes.report.boxes import Box, Boxed, boxes_of

#: By format: who wrote it (so that it may be overwritten), and no date.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Creator": MARK, "Date": None},
    "png": {"Software": MARK},
    "pdf": {"Creator": MARK, "CreationDate": None},
}
FORMATS = tuple(METADATA)
MAX_NODES_DRAWN = 4
PAD, HEADER, LEAF_WIDTH, LEAF_HEIGHT = 0.15, 0.45, 1.0, 0.5
#: Fill of a kind, the outer the paler.
FILLS = {
    "package": "#f4f1ea", "die": "#efe6d5", "numa": "#e6efe2", "group": "#eeeeee", "l3": "#dde8f2",
    "l2": "#d0ddeb", "core": "#c2cfe0", "pu": "#b3c0d4",
}  # fmt: skip


def write_picture(where: Allocation, output: str, *, force: bool = False) -> None:
    """Write the picture of a machine, complete or not at all; see :func:`draw`.

    UnsupportedError when a file is there that hopbytes did not write, unless `force`.
    """
    from hopbytes.formats.files import atomic_write, may_write

    may_write(output, force)
    atomic_write(draw(where, output))


def draw(where: Allocation, output: str) -> dict[str, bytes]:
    """Return the picture of a machine's distinct nodes, as content of the file `output`.

    Parameters
    ----------
    where : Allocation
    output : str
        Name whose suffix says the format: ``.svg``, ``.png`` or ``.pdf``.

    Raises
    ------
    UnsupportedError
        Another suffix, no matplotlib, a machine without levels or too large to draw.
    """
    form = os.path.splitext(output)[1].lstrip(".").lower()
    if form not in FORMATS:
        raise UnsupportedError(f"{output}: a picture is written as {', '.join('.' + f for f in FORMATS)}")
    drawn = boxes_of(where)
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedError("pictures need matplotlib: pip install 'hopbytes[plot]'") from None
    # Text stays text, and the same machine gives the same bytes.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hopbytes"})
    sizes = [_size(boxed.box) for boxed in drawn[:MAX_NODES_DRAWN]]
    width = sum(size[0] for size in sizes) + PAD * (len(sizes) + 1)
    height = max(size[1] for size in sizes) + 2 * PAD + 2 * HEADER
    scale = min(1.0, 60 / width, 60 / height)  # inches
    figure = Figure(figsize=(max(2.0, width * scale), max(1.0, height * scale)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    left = PAD
    for boxed, size in zip(drawn, sizes, strict=False):
        _title(axes, boxed, left, scale)
        _fill(axes, boxed.box, left, PAD + 2 * HEADER, scale)
        left += size[0] + PAD
    stream = io.BytesIO()
    figure.savefig(stream, format=form, metadata=METADATA[form], dpi=100)
    return {output: stream.getvalue()}


def _columns(inside: Sequence[Box]) -> int:
    """Boxes beside each other: a shape a little wider than high."""
    return max(1, math.ceil(math.sqrt(len(inside) * 1.6))) if not inside[0].inside else min(2, len(inside))


def _grid(box: Box) -> tuple[list[float], list[float], int]:
    """Width of every column and height of every row of the boxes inside, and the number of columns."""
    columns = _columns(box.inside)
    sizes = [_size(inner) for inner in box.inside]
    widths = [max(size[0] for size in sizes[column::columns]) for column in range(min(columns, len(sizes)))]
    heights = [max(size[1] for size in sizes[row : row + columns]) for row in range(0, len(sizes), columns)]
    return widths, heights, columns


def _size(box: Box) -> tuple[float, float]:
    if not box.inside:
        return LEAF_WIDTH, LEAF_HEIGHT
    widths, heights, _ = _grid(box)
    return sum(widths) + PAD * (len(widths) + 1), sum(heights) + PAD * (len(heights) + 1) + HEADER


def _title(axes: Any, boxed: Boxed, left: float, scale: float) -> None:
    hosts = ", ".join(boxed.hosts[:3]) + (", …" if len(boxed.hosts) > 3 else "")
    count = f"{boxed.count} x " if boxed.count > 1 else ""
    gpus = f"   GPUs: {', '.join(gpu.name for gpu in boxed.gpus)}" if boxed.gpus else ""
    axes.text(left, PAD + HEADER, f"{count}node {hosts}{gpus}", fontsize=11 * scale, va="center")


def _fill(axes: Any, box: Box, left: float, top: float, scale: float) -> None:
    from matplotlib.patches import Rectangle

    width, height = _size(box)
    colour = next((FILLS[base_kind(kind)] for kind in box.kinds if base_kind(kind) in FILLS), "#fafafa")
    edge: dict[str, Any] = {"facecolor": colour, "edgecolor": "#555555", "linewidth": 0.6}
    axes.add_patch(Rectangle((left, top), width, height, **edge))
    if not box.inside:
        label = "/".join(map(str, box.numbers))
        axes.text(left + width / 2, top + height / 2, label, fontsize=9 * scale, ha="center", va="center")
        return
    axes.text(left + PAD, top + HEADER / 2 + PAD / 2, box.name, fontsize=9 * scale, va="center")
    widths, heights, columns = _grid(box)
    y = top + HEADER + PAD
    for row, row_height in enumerate(heights):
        x = left + PAD
        for inner, column_width in zip(box.inside[row * columns : (row + 1) * columns], widths, strict=False):
            _fill(axes, inner, x, y, scale)
            x += column_width + PAD
        y += row_height + PAD
