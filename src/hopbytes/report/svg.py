"""Labelled rectangles as SVG, which is written without other packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from hopbytes.formats.base import MARK

#: Units of the picture per inch, as browsers count.
PER_INCH = 96
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle in inches from the top left corner, its fill, and its label.

    The label is in the middle, or `label_left` and `label_middle` away from the corner.
    """

    left: float
    top: float
    width: float
    height: float
    fill: str
    label: str
    label_left: float | None = None
    label_middle: float | None = None


def svg(
    shapes: Sequence[Shape], legend: tuple[float, float, str], size: tuple[float, float], scale: float
) -> bytes:
    """Return a picture as SVG.

    Parameters
    ----------
    shapes : sequence of Shape
        Outer ones before those inside.
    legend : (left, middle, text)
        A line of text in grey.
    size : (width, height)
        In inches, before `scale`.
    scale : float
        Factor by which the picture is scaled.

    Examples
    --------
    >>> picture = svg([Shape(0, 0, 1, 0.5, "#fff", "a < b")], (0, 1, ""), (1, 1), 1.0)
    >>> b"a &lt; b" in picture, b"written by hopbytes" in picture
    (True, True)
    """
    return "".join(_pieces(shapes, legend, size, scale)).encode()


def _pieces(
    shapes: Sequence[Shape], legend: tuple[float, float, str], size: tuple[float, float], scale: float
) -> Iterator[str]:
    width, height = (_number(side) for side in size)
    shown = [_number(side * scale) for side in size]
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {MARK} -->\n'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{shown[0]}" height="{shown[1]}" '
    yield f'viewBox="0 0 {width} {height}">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
    yield f'<g font-family={quoteattr(FONT)} font-size="10.7" fill="#000000">\n'
    for one in shapes:
        yield f'<rect x="{_number(one.left)}" y="{_number(one.top)}" width="{_number(one.width)}" '
        yield f'height="{_number(one.height)}" fill="{one.fill}" stroke="#555555" stroke-width="0.8"/>\n'
        if one.label_left is None:
            middle = one.left + one.width / 2, one.top + one.height / 2
            yield _text(*middle, one.label, ' text-anchor="middle"')
        else:
            yield _text(one.left + one.label_left, one.top + (one.label_middle or 0.0), one.label, "")
    yield _text(*legend, ' fill="#555555"')
    yield "</g>\n</svg>\n"


def _text(left: float, middle: float, text: str, more: str) -> str:
    words = "".join(letter if letter.isprintable() else "?" for letter in text)
    # Some programs ignore dominant-baseline, so the base line is computed here.
    return f'<text x="{_number(left)}" y="{_number(middle + 0.04)}"{more}>{escape(words)}</text>\n'


def _number(inches: float) -> str:
    return f"{inches * PER_INCH:.1f}".removesuffix(".0")
