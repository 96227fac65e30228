"""Pictures of nodes as nested boxes: SVG, or PNG and PDF (with matplotlib, the extra ``plot``)."""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Sequence
from typing import Any

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK
from hopbytes.machines.node.hardware_kinds import base_kind
from hopbytes.model.allocation import Allocation
from hopbytes.report.box_layout import GAP, HEADER, LETTER, Placed, layout
from hopbytes.report.boxes import Boxed, boxes_of
from hopbytes.report.svg import Shape, svg

#: Metadata by format of matplotlib: the program (so that it may overwrite the file), and no date.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": MARK},
    "pdf": {"Creator": MARK, "CreationDate": None},
}
FORMATS = ("svg", *METADATA)
MAX_NODES_DRAWN = 4
MARGIN, LEGEND = 0.15, 0.3
#: Inches; a larger picture is scaled down as a whole.
LARGEST = 40.0
#: Fill colour of each kind; outer kinds are paler.
FILLS = {
    "package": "#f4f1ea", "die": "#efe6d5", "numa": "#e6efe2", "group": "#eeeeee", "l3": "#dde8f2",
    "l2": "#d0ddeb", "core": "#c2cfe0", "pu": "#b3c0d4", "": "#f2d9a8",
}  # fmt: skip


def write_picture(where: Allocation, output: str, *, force: bool = False) -> None:
    """Write the picture of a machine, complete or not at all; see :func:`draw`.

    Raises UnsupportedError if a file exists that hopbytes did not write, unless `force`.
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
        Name whose suffix determines the format: ``.svg``, ``.png`` or ``.pdf``.

    Raises
    ------
    UnsupportedError
        The suffix is another one, matplotlib is missing for PNG and PDF, or the machine has no levels or
        is too large to draw.
    """
    form = os.path.splitext(output)[1].lstrip(".").lower()
    if form not in FORMATS:
        raise UnsupportedError(f"{output}: a picture is written as {', '.join('.' + f for f in FORMATS)}")
    drawn = boxes_of(where)
    rectangles: list[Placed] = []
    left = MARGIN
    for boxed in drawn[:MAX_NODES_DRAWN]:
        heading = _heading(boxed)
        outer, *inner = layout(boxed.box, boxed.gpus, left, MARGIN)
        rectangles += [dataclasses.replace(outer, label=heading), *inner]
        left += max(outer.width, LETTER * len(heading) + GAP) + MARGIN
    legend = _legend(drawn)
    width = max(left, LETTER * len(legend) + 2 * MARGIN)
    height = max(one.top + one.height for one in rectangles) + LEGEND + MARGIN
    scale = min(1.0, LARGEST / width, LARGEST / height)
    size, caption = (width, height), (MARGIN, height - LEGEND / 2 - GAP, legend)
    if form == "svg":
        return {output: svg([_shape(one) for one in rectangles], caption, size, scale)}
    return {output: _by_matplotlib(rectangles, caption, size, scale, form)}


def _shape(one: Placed) -> Shape:
    fill = FILLS.get(base_kind(one.kind), "#fafafa")
    corner = (None, None) if one.leaf else (GAP, HEADER / 2)
    return Shape(one.left, one.top, one.width, one.height, fill, one.label, *corner)


def _by_matplotlib(
    rectangles: Sequence[Placed], legend: tuple[float, float, str], size: tuple[float, float], scale: float,
    form: str,
) -> bytes:
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedError(
            f"pictures as {form.upper()} need matplotlib: pip install '.[plot]' in the folder of the source, "
            "or 'hopbytes[plot]'; .svg needs nothing"
        ) from None
    width, height = size
    figure = Figure(figsize=(width * scale, height * scale))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    for one in rectangles:
        _rectangle(axes, one, scale)
    axes.text(*legend, fontsize=8 * scale, color="#555555", va="center")
    stream = io.BytesIO()
    figure.savefig(stream, format=form, metadata=METADATA[form], dpi=100)
    return stream.getvalue()


def _heading(boxed: Boxed) -> str:
    count = f"{boxed.count} x " if boxed.count > 1 else ""
    hosts = f" {', '.join(boxed.hosts[:3])}{', …' if len(boxed.hosts) > 3 else ''}" if boxed.hosts else ""
    kinds = f" ({', '.join(boxed.box.kinds)})" if boxed.box.kinds else ""
    return f"{count}{'node' if boxed.known else 'machine'}{hosts}{kinds}"


def _legend(drawn: Sequence[Boxed]) -> str:
    more = len(drawn) - MAX_NODES_DRAWN
    known = any(boxed.known for boxed in drawn)
    nodes = not known and all(not boxed.box.inside or boxed.box.of_nodes for boxed in drawn)
    what = "nodes" if nodes else "cores"
    numbers = "hardware threads as the operating system numbers them" if known else f"{what} in machine order"
    return f"numbers: {numbers}" + (f"; {more} more kinds of nodes" if more > 0 else "")


def _rectangle(axes: Any, one: Placed, scale: float) -> None:
    from matplotlib.patches import Rectangle

    style: dict[str, Any] = {"edgecolor": "#555555", "linewidth": 0.6 * scale}
    colour = FILLS.get(base_kind(one.kind), "#fafafa")
    axes.add_patch(Rectangle((one.left, one.top), one.width, one.height, facecolor=colour, **style))
    if one.leaf:
        middle = one.left + one.width / 2, one.top + one.height / 2
        axes.text(*middle, one.label, fontsize=8 * scale, ha="center", va="center")
    else:
        corner = one.left + GAP, one.top + HEADER / 2
        axes.text(*corner, one.label, fontsize=8 * scale, va="center")
