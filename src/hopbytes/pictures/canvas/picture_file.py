"""Files of pictures: the suffix of the name says which format."""

from __future__ import annotations

import os

from hopbytes.errors import UnsupportedError
from hopbytes.pictures.canvas.marks import Panel

FORMATS = ("svg", "png", "pdf")


def picture_format(output: str) -> str:
    """Return the format of a picture by the suffix of its name.

    >>> picture_format("a.SVG")
    'svg'
    """
    form = os.path.splitext(output)[1].lstrip(".").lower()
    if form not in FORMATS:
        raise UnsupportedError(f"{output}: a picture is written as {', '.join('.' + f for f in FORMATS)}")
    if form != "svg":
        from hopbytes.pictures.canvas.by_matplotlib import matplotlib_figure

        matplotlib_figure(f"pictures as {form.upper()}")
    return form


def check_picture(output: str, *, force: bool = False) -> None:
    """Refuse a name that cannot be written, before any work is done."""
    from hopbytes.formats.files import check_writable

    picture_format(output)
    check_writable(output, force)


def picture_bytes(panel: Panel, output: str, title: str = "") -> bytes:
    """Return a panel in the format that the suffix of `output` names; `title` is for SVG only."""
    form = picture_format(output)
    if form == "svg":
        from hopbytes.pictures.canvas.svg import svg

        return svg(panel, title)
    from hopbytes.pictures.canvas.by_matplotlib import drawn_by_matplotlib

    return drawn_by_matplotlib(panel, form)


def write_panel(panel: Panel, output: str, title: str = "", *, force: bool = False) -> None:
    """Write a picture, complete or not at all; errors are those of :func:`check_picture`."""
    from hopbytes.formats.files import atomic_write

    check_picture(output, force=force)
    atomic_write({output: picture_bytes(panel, output, title)})
