"""Panels as SVG, which is written without other packages, the same bytes everywhere."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from hopbytes.formats.base import MARK
from hopbytes.pictures.canvas.marks import INK, Line, Mark, Panel, Raster, Words
from hopbytes.pictures.canvas.raster_png import png_of

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
#: Larger pictures are shown smaller as a whole.
LARGEST = 4000.0


def svg(panel: Panel, title: str = "") -> bytes:
    """Return a picture as SVG.

    Control characters in texts, which names from files may contain, become question marks.

    >>> picture = svg(Panel(96, 48, (Words(4, 20, "a < b"),)), "two letters")
    >>> b"a &lt; b" in picture, b"written by hopbytes" in picture
    (True, True)
    """
    return "".join(_pieces(panel, title)).encode()


def fragment(panel: Panel, title: str = "") -> str:
    """Return a picture as an element for HTML pages, without the declaration of XML."""
    return "".join(_element(panel, title))


def _pieces(panel: Panel, title: str) -> Iterator[str]:
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {MARK} -->\n'
    yield from _element(panel, title)


def _element(panel: Panel, title: str) -> Iterator[str]:
    scale = min(1.0, LARGEST / max(panel.width, panel.height, 1))
    size = f'width="{_number(panel.width * scale)}" height="{_number(panel.height * scale)}"'
    box = f"0 0 {_number(panel.width)} {_number(panel.height)}"
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="{box}" role="img">\n'
    yield f"<title>{escape(_printable(title))}</title>\n" if title else ""
    yield '<rect width="100%" height="100%" fill="#ffffff"/>\n'
    yield f'<g font-family={quoteattr(FONT)} font-size="11" fill="{INK}">\n'
    for mark in panel.marks:
        yield _mark(mark)
    yield "</g>\n</svg>\n"


def _mark(mark: Mark) -> str:
    if isinstance(mark, Words):
        return _words(mark)
    if isinstance(mark, Line):
        path = "L".join(f"{_number(x)} {_number(y)}" for x, y in mark.points)
        style = f'fill="none" stroke="{mark.colour}" stroke-width="{_number(mark.width)}"'
        return _with_tip("path", f'd="M{path}" {style}', mark.tip)
    place = f'x="{_number(mark.left)}" y="{_number(mark.top)}" '
    place += f'width="{_number(mark.width)}" height="{_number(mark.height)}"'
    if isinstance(mark, Raster):
        data = base64.b64encode(png_of(mark.cells, mark.colours, see_through=mark.see_through)).decode()
        look = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
        return f'<image {place} {look} href="data:image/png;base64,{data}"/>\n'
    style = f'fill="{mark.fill}"'
    if mark.rounded:
        style += f' rx="{_number(mark.rounded)}"'
    if mark.stroke != "none":
        style += f' stroke="{mark.stroke}" stroke-width="0.8"'
    return _with_tip("rect", f"{place} {style}", mark.tip)


def _with_tip(name: str, attributes: str, tip: str) -> str:
    if not tip:
        return f"<{name} {attributes}/>\n"
    return f"<{name} {attributes}><title>{escape(_printable(tip))}</title></{name}>\n"


def _words(mark: Words) -> str:
    place = f'x="{_number(mark.left)}" y="{_number(mark.base)}"'
    if mark.turned:
        place += f' transform="rotate(-90 {_number(mark.left)} {_number(mark.base)})"'
    if mark.size != 11:
        place += f' font-size="{_number(mark.size)}"'
    if mark.anchor != "start":
        place += f' text-anchor="{mark.anchor}"'
    if mark.colour != INK:
        place += f' fill="{mark.colour}"'
    if mark.bold:
        place += ' font-weight="bold"'
    return f"<text {place}>{escape(_printable(mark.text))}</text>\n"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
