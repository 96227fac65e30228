"""Tables of everything that is registered, from the registries themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopbytes.show.catalogue import CAN_WORDS, KINDS, catalogue
from site_parts.written import put


def write_catalogue(folder: Path) -> None:
    """Write `list_KIND.md` for every kind of registered thing."""
    for kind in KINDS:
        put(folder / f"list_{kind}.md", table(kind, catalogue(kind)))
    put(folder / "list_capabilities.md", capabilities())


def table(kind: str, rows: list[dict[str, Any]]) -> str:
    """Return a table of one kind: the name, what it is, and what else is known of it."""
    lines = [f"| {kind[:-1]} | what it is | {OTHER.get(kind, ('', None))[0]} |", "|---|---|---|"]
    further = OTHER.get(kind, ("", lambda row: ""))[1]
    lines += [f"| `{row['name']}` | {cell(row['summary'])} | {cell(further(row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def options(row: dict[str, Any]) -> str:
    """Return options with their defaults."""
    return ", ".join(f"`{name}={value}`" for name, value in row.get("options", {}).items())


def directions(row: dict[str, Any]) -> str:
    """Return what a format holds, whether it is read and written, and the endings of its files."""
    verbs = [word for word, done in (("read", row["reads"]), ("written", row["writes"])) if done]
    endings = " ".join(f"`{suffix}`" for suffix in row["suffixes"])
    return f"{row['holds']}s, {' and '.join(verbs)}{', ' + endings if endings else ''}"


def chain(row: dict[str, Any]) -> str:
    """Return the algorithms of a preset and when it is used."""
    steps = ", ".join(f"`{step.partition(':')[0]}`" for step in row["chain"])
    return f"{steps}; use it when {row['use']}; time: {row['time']}"


#: The heading and the content of the third column.
OTHER = {
    "mappers": ("options and defaults", options), "refiners": ("options and defaults", options),
    "patterns": ("options and defaults", options), "presets": ("its chain", chain),
    "formats": ("content", directions),
    "objectives": ("unit", lambda row: f"{row['unit']}; {row['family']}"),
}  # fmt: skip


def capabilities() -> str:
    """Return what mapping formats can express."""
    rows = [row for row in catalogue("formats") if row.get("can")]
    words = list(CAN_WORDS)
    lines = [f"| format | {' | '.join(CAN_WORDS.values())} | launcher |", "|---" * (len(words) + 2) + "|"]
    for row in rows:
        marks = " | ".join("yes" if word in row["can"] else "" for word in words)
        tested = "tested with" if row["tested_with_launcher"] else "not tested with"
        launcher = f"{tested} {row['launcher']}" if row["launcher"] else ""
        lines.append(f"| `{row['name']}` | {marks} | {launcher} |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Return a text that is safe inside a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")
