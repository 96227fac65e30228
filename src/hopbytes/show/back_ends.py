"""Back ends that write a panel: SVG by itself, PNG and PDF by matplotlib, each with a method per mark.

Pictures have the same bytes everywhere and on every run; nothing needs a display.
"""

from __future__ import annotations

import base64
import io
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from hopbytes._arrays import UInt8
from hopbytes.errors import MissingPackageError, UnsupportedError
from hopbytes.formats.base import MARK
from hopbytes.formats.files import atomic_write, check_writable
from hopbytes.show.marks import INK, Line, Panel, Raster, Rectangle, Words, rgb

FORMATS = ("svg", "png", "pdf")


def check_picture(output: str, *, force: bool = False) -> None:
    """Refuse a name that cannot be written, before any work is done."""
    _format_of(output)
    check_writable(output, force)


def write_panel(panel: Panel, output: str, title: str = "", *, force: bool = False) -> None:
    """Write a picture, complete or not at all; errors are those of :func:`check_picture`."""
    check_picture(output, force=force)
    atomic_write({output: picture_bytes(panel, output, title)})


def picture_bytes(panel: Panel, output: str, title: str = "") -> bytes:
    """Return a panel in the format that the suffix of `output` names; `title` is for SVG only."""
    form = _format_of(output)
    return svg(panel, title) if form == "svg" else _by_matplotlib(panel, form)


def _format_of(output: str) -> str:
    form = os.path.splitext(output)[1].lstrip(".").lower()
    if form not in FORMATS:
        raise UnsupportedError(f"{output}: a picture is written as {', '.join('.' + f for f in FORMATS)}")
    if form != "svg":
        _figure_class(form)
    return form


# SVG

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
#: Larger pictures are shown smaller as a whole.
LARGEST = 4000.0
#: Pixels of an image at least, so that viewers which smooth enlarged images still show sharp cells.
SIDE = 1024


def svg(panel: Panel, title: str = "") -> bytes:
    """Return a picture as SVG."""
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {MARK} -->\n'
    return (head + fragment(panel, title)).encode()


def fragment(panel: Panel, title: str = "") -> str:
    """Return a picture as an element for HTML pages, without the declaration of XML."""
    scale = min(1.0, LARGEST / max(panel.width, panel.height, 1))
    size = f'width="{_number(panel.width * scale)}" height="{_number(panel.height * scale)}"'
    box = f"0 0 {_number(panel.width)} {_number(panel.height)}"
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="{box}" role="img">']
    lines += [f"<title>{_escaped(title)}</title>"] if title else []
    lines.append('<rect width="100%" height="100%" fill="#ffffff"/>')
    lines.append(f'<g font-family="{FONT}" font-size="11" fill="{INK}">')
    lines += [SVG[type(mark)](mark) for mark in panel.marks]
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _svg_line(mark: Line) -> str:
    path = "L".join(f"{_number(x)} {_number(y)}" for x, y in mark.points)
    style = f'fill="none" stroke="{mark.colour}" stroke-width="{_number(mark.width)}"'
    return _with_tip("path", f'd="M{path}" {style}', mark.tip)


def _svg_rectangle(mark: Rectangle) -> str:
    style = f'fill="{mark.fill}"'
    if mark.rounded:
        style += f' rx="{_number(mark.rounded)}"'
    if mark.stroke != "none":
        style += f' stroke="{mark.stroke}" stroke-width="0.8"'
    return _with_tip("rect", f"{_area(mark)} {style}", mark.tip)


def _svg_raster(mark: Raster) -> str:
    data = base64.b64encode(png_of(mark.cells, mark.colours, see_through=mark.see_through)).decode()
    look = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
    return f'<image {_area(mark)} {look} href="data:image/png;base64,{data}"/>'


def _svg_words(mark: Words) -> str:
    style = f'x="{_number(mark.left)}" y="{_number(mark.base)}"'
    if mark.turned:
        style += f' transform="rotate(-90 {_number(mark.left)} {_number(mark.base)})"'
    if mark.size != 11:
        style += f' font-size="{_number(mark.size)}"'
    if mark.anchor != "start":
        style += f' text-anchor="{mark.anchor}"'
    if mark.colour != INK:
        style += f' fill="{mark.colour}"'
    if mark.bold:
        style += ' font-weight="bold"'
    return f"<text {style}>{_escaped(mark.text)}</text>"


SVG: dict[type, Callable[[Any], str]] = {
    Line: _svg_line, Rectangle: _svg_rectangle, Raster: _svg_raster, Words: _svg_words
}


def _area(mark: Rectangle | Raster) -> str:
    corner = f'x="{_number(mark.left)}" y="{_number(mark.top)}"'
    return f'{corner} width="{_number(mark.width)}" height="{_number(mark.height)}"'


def _with_tip(name: str, attributes: str, tip: str) -> str:
    if not tip:
        return f"<{name} {attributes}/>"
    return f"<{name} {attributes}><title>{_escaped(tip)}</title></{name}>"


def _escaped(text: str) -> str:
    return escape("".join(letter if letter.isprintable() else "?" for letter in text))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def png_of(cells: UInt8, colours: Sequence[str], *, see_through: bool = False) -> bytes:
    """Return a matrix of numbered colours as an image with a palette."""
    # Source: PNG specification, third edition, W3C 2025.
    rows, columns = cells.shape
    enlarged = max(1, -(-SIDE // max(rows, columns)))
    lines = np.zeros((rows, columns * enlarged + 1), np.uint8)  # the first byte of a line is its filter: none
    lines[:, 1:] = np.repeat(cells, enlarged, axis=1)
    data = np.repeat(lines, enlarged, axis=0).tobytes()
    header = struct.pack(">IIBBBBB", columns * enlarged, rows * enlarged, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"PLTE", bytes(part for colour in colours for part in rgb(colour)))]
    chunks += [(b"tRNS", b"\0")] if see_through else []
    chunks += [(b"IDAT", zlib.compress(data, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks
    )


# PNG and PDF

#: Metadata by format of matplotlib: the program (so that it may overwrite the file), and no date.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": MARK},
    "pdf": {"Creator": MARK, "CreationDate": None},
}
#: Pixels per inch of PNG files, units of panels per inch, points per unit, and the largest side in inches.
PIXELS, PER_INCH, POINTS, LARGEST_SIDE = 192, 96, 0.75, 40.0


def _figure_class(form: str) -> Any:
    """Return the class of figures; MissingPackageError when matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError(
            f"pictures as {form.upper()} need matplotlib: pip install matplotlib (.svg needs nothing)"
        ) from None
    return Figure


def _by_matplotlib(panel: Panel, form: str) -> bytes:
    scale = min(1.0, LARGEST_SIDE * PER_INCH / max(panel.width, panel.height, 1))
    figure = _figure_class(form)(figsize=(panel.width * scale / PER_INCH, panel.height * scale / PER_INCH))
    draw_on(figure.add_axes((0, 0, 1, 1)), panel, scale)
    stream = io.BytesIO()
    figure.savefig(stream, format=form, metadata=METADATA[form], dpi=PIXELS)
    # PDF may end with comments; what matplotlib writes itself is not near the start, where others are marked.
    return stream.getvalue() + (f"% {MARK}\n".encode() if form == "pdf" else b"")


def draw_on(axes: Any, panel: Panel, scale: float = 1.0) -> None:
    """Draw a panel on axes of matplotlib, whose units become those of the panel; `scale` is that of texts."""
    axes.axis("off")
    for order, mark in enumerate(panel.marks):
        MATPLOTLIB[type(mark)](axes, mark, POINTS * scale, zorder=order)
    axes.set_xlim(0, panel.width)
    axes.set_ylim(panel.height, 0)
    axes.set_aspect("auto")


def _add_words(axes: Any, mark: Words, points: float, **style: Any) -> None:
    if mark.turned:
        style |= {"rotation": 90, "rotation_mode": "anchor"}
    axes.text(
        mark.left, mark.base, mark.text.replace("$", r"\$"),  # a dollar sign would begin a formula
        fontsize=mark.size * points, color=mark.colour, va="baseline",
        ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
        fontweight="bold" if mark.bold else "normal", **style,
    )  # fmt: skip


def _add_line(axes: Any, mark: Line, points: float, **style: Any) -> None:
    from matplotlib.lines import Line2D

    style |= {"color": mark.colour, "linewidth": mark.width * points, "solid_capstyle": "butt"}
    axes.add_line(Line2D(*zip(*mark.points, strict=True), **style))


def _add_raster(axes: Any, mark: Raster, points: float, **style: Any) -> None:
    table = np.array([(*rgb(colour), 255) for colour in mark.colours], np.uint8)
    table[0, 3] = 0 if mark.see_through else 255
    extent = (mark.left, mark.left + mark.width, mark.top + mark.height, mark.top)
    axes.imshow(table[mark.cells], extent=extent, interpolation="nearest", aspect="auto", **style)


def _add_rectangle(axes: Any, mark: Rectangle, points: float, **style: Any) -> None:
    from matplotlib import patches

    make: Any = patches.Rectangle
    if mark.rounded:
        shape = f"round,pad=0,rounding_size={mark.rounded}"
        make = partial(patches.FancyBboxPatch, boxstyle=shape)
    border = 0.8 * points if mark.stroke != "none" else 0
    style |= {"facecolor": mark.fill, "edgecolor": mark.stroke, "linewidth": border}
    axes.add_patch(make((mark.left, mark.top), mark.width, mark.height, **style))


MATPLOTLIB: dict[type, Callable[..., None]] = {
    Line: _add_line, Rectangle: _add_rectangle, Raster: _add_raster, Words: _add_words
}
