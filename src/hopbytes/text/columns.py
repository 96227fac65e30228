"""Texts side by side in columns of a terminal; this module imports no other one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

#: Columns without a terminal and without COLUMNS, and at most.
WIDTH, WIDEST = 80, 100


def width(widest: int = WIDEST) -> int:
    """Return the number of columns: of COLUMNS or the terminal, else 80; at least 40, at most `widest`."""
    import shutil

    return max(40, min(shutil.get_terminal_size((WIDTH, 24)).columns, widest))


def table_lines(rows: Sequence[Sequence[str]], sides: str = "<>") -> list[str]:
    """Return a table as lines: columns begin at the left (``<``) or end right; the last side repeats."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = (f"{{:{sides[min(column, len(sides) - 1)]}{wide}}}" for column, wide in enumerate(widths))
    form = "  ".join(cells)
    return [form.format(*row).rstrip() for row in rows]


def entry_lines(name: str, text: str, columns: int, names: int, margin: int = 2) -> list[str]:
    """Return a name and its meaning side by side; one below the other if the name is long."""
    indent = " " * names
    wrapped = textwrap.wrap(
        text, columns, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    if len(name) > names - margin - 2:
        return [" " * margin + name, *wrapped]
    first = wrapped[0][names:] if wrapped else ""
    return [f"{' ' * margin}{name:<{names - margin}}{first}".rstrip(), *wrapped[1:]]
