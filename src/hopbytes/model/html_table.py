"""A small table in HTML, with which notebooks show objects, without scripts and style sheets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from hopbytes.errors import printable


def html_table(title: str, rows: Iterable[Sequence[object]], head: Sequence[object] | None = None) -> str:
    """Return a table with a caption; the first cell of every row is a heading.

    Every text is escaped, because names of files and hosts are untrusted. O(cells).

    >>> html_table("two <tasks>", [("J", 1200)])
    '<table><caption>two &lt;tasks&gt;</caption><tr><th>J</th><td>1,200</td></tr></table>'
    """
    lines = "".join(_row(row, "td") for row in rows)
    top = "" if head is None else _row(head, "th")
    return f"<table><caption>{escape(printable(title))}</caption>{top}{lines}</table>"


def _row(cells: Sequence[object], kind: str) -> str:
    first, *rest = map(_text, cells)
    return f"<tr><th>{first}</th>{''.join(f'<{kind}>{cell}</{kind}>' for cell in rest)}</tr>"


def _text(cell: object) -> str:
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return escape(f"{cell:.4g}" if isinstance(cell, float) else printable(str(cell)))
