"""Registered things as rows for people and programs, which ``hopbytes show`` prints."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

from hopbytes.report.layout import entry_lines, width

Row = dict[str, Any]

#: Longer names have a line of their own.
LONGEST_NAME = 24

#: Headings for the capabilities of a launch format, in the order of :class:`hopbytes.formats.base.Can`.
CAN_WORDS = {
    "any_host_order": "any order of hosts",
    "scattered_ranks": "any ranks on a host",
    "per_rank_cores": "cores per rank",
    "per_node_cores": "cores per node",
    "several_cores_per_rank": "several cores per rank",
    "unequal_nodes": "unequal nodes",
    "gpus": "GPUs",
}


def catalogue(kind: str) -> list[Row]:
    """Return one row per registered thing of a kind, alphabetically.

    >>> "tree" in [row["name"] for row in catalogue("machines")]
    True
    """
    if kind not in KINDS:
        from hopbytes.errors import unknown_name

        raise unknown_name("kind of thing", kind, KINDS)
    return KINDS[kind]()


def kinds() -> list[Row]:
    """Return one row per kind of thing that can be listed, in the order in which people meet them."""
    return [{"name": kind, "summary": summary} for kind, summary in KIND_SUMMARIES.items()]


def describe(rows: list[Row], columns: int | None = None) -> str:
    """Return rows as aligned text with indented details, as wide as `columns` or the terminal."""
    columns = columns or width()
    names = min(max((len(row["name"]) for row in rows), default=0), LONGEST_NAME) + 2
    lines = []
    for row in rows:
        lines += entry_lines(row["name"], row["summary"], columns, names, margin=0)
        for detail in _details(row):
            lines += entry_lines("", detail, columns, names, margin=0)
    if len(rows) == 1 and rows[0].get("chain"):
        lines += ["", *_chain_lines(rows[0]["chain"], columns)]
    launchable = [row for row in rows if row.get("can")]
    if launchable:
        lines += ["", *_capabilities(launchable)]
    return "\n".join(lines)


def _chain_lines(chain: list[str], columns: int) -> list[str]:
    """Return the algorithms of a preset with the options that are not the default ones."""
    lines = ["algorithms in the order in which they run, with options that are not the default ones:"]
    for step in chain:
        name, _, options = step.partition(":")
        lines += entry_lines(name, options.replace(",", ", ") or "default options", columns, 16)
    return lines


def _capabilities(rows: list[Row]) -> list[str]:
    """Return the capabilities of mapping formats: a line per format, a column per capability."""
    words = list(CAN_WORDS.values())
    width = max(len(row["name"]) for row in rows)
    lines = ["what mapping formats can express, and whether the tests run their launcher"]
    for place, word in enumerate(words):
        lines.append(" " * (width + 2) + "|  " * place + f"{word}")
    for row in rows:
        marks = "  ".join("x" if word in row["can"] else "-" for word in CAN_WORDS)
        tested = "tested with" if row["tested_with_launcher"] else "untested:"
        launcher = f"  {tested} {row['launcher']}" if row["launcher"] else ""
        lines.append(f"{row['name']:<{width}}  {marks}{launcher}")
    return lines


def first_sentence(thing: Any) -> str:
    """Return the first paragraph of a docstring as one line, without the final stop."""
    text = inspect.getdoc(thing) or ""
    return plain(" ".join(text.split("\n\n")[0].split())).removesuffix(".")


def plain(text: str) -> str:
    """Return a sentence of a docstring without the markup of Python's documentation.

    >>> plain("Until ``--time-limit`` ends `evolve`, see :class:`~hopbytes.cost.Area`.")
    'Until --time-limit ends evolve, see Area.'
    """
    text = re.sub(r":[a-z]+:`~?(?:[^`]*\.)?([^`.]*)`", r"\1", text)
    return re.sub(r"`+([^`]*)`+", r"\1", text)


def _details(row: Row) -> list[str]:
    details = []
    options = row.get("options", {})
    groups = {f"options for {what}": names for what, names in row.get("option_groups", {}).items()}
    for title, names in (groups or {"options": list(options)}).items():
        if names:
            details.append(f"{title}: " + ", ".join(f"{name}={options[name]}" for name in names))
    if row.get("chain"):
        details.append("chain: " + ", then ".join(step.partition(":")[0] for step in row["chain"]))
        details.append(f"use it when {row['use']}")
        details.append(f"time: {row['time']}")
    if "reads" in row:
        verbs = [verb for verb in ("reads", "writes") if row[verb]]
        names = f" ({' '.join(row['suffixes'])})" if row["suffixes"] else ""
        details.append(f"{' and '.join(verbs)} {row['holds']}s{names}")
    if "unit" in row:
        details.append(f"unit: {row['unit']}; family: {row['family']}")
    return details


def _options(kind: type[Any]) -> Row:
    """Return the options of an algorithm with their defaults, as they are typed on the command line."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {field.name: field.default for field in fields}


def _algorithms(registry: Any) -> list[Row]:
    rows = []
    for name, kind in registry.items():
        row = {"name": name, "summary": first_sentence(kind), "options": _options(kind)}
        groups = getattr(kind, "option_groups", {})
        if groups:
            row["option_groups"] = {what: list(names) for what, names in groups.items()}
        rows.append(row)
    return rows


def _mappers() -> list[Row]:
    from hopbytes.algorithms.base import mappers

    return _algorithms(mappers)


def _refiners() -> list[Row]:
    from hopbytes.algorithms.base import refiners

    return _algorithms(refiners)


def _presets() -> list[Row]:
    from hopbytes.report.preset_text import USE, preset_facts
    from hopbytes.solve.presets import presets

    rows = [
        {"name": name, "summary": first_sentence(make)} | preset_facts(name) for name, make in presets.items()
    ]
    return sorted(rows, key=lambda row: [*USE, row["name"]].index(row["name"]))


def _machines() -> list[Row]:
    from hopbytes.machines.base import machines

    return [{"name": name, "summary": first_sentence(kind)} for name, kind in machines.items()]


def _objectives() -> list[Row]:
    from hopbytes.cost.objectives.base import objectives

    return [
        {"name": name, "summary": f"{kind.symbol}: {kind.meaning}", "unit": kind.unit, "family": kind.family}
        for name, kind in objectives.items()
    ]


def _patterns() -> list[Row]:
    from hopbytes.patterns.base import patterns

    return _algorithms(patterns)


def _formats() -> list[Row]:
    from hopbytes.formats.base import Format, formats

    rows = []
    for name, form in formats.items():
        kind, can = type(form), dataclasses.asdict(form.capabilities)
        rows.append(
            {
                "name": name,
                "summary": form.summary or first_sentence(kind),
                "holds": form.holds,
                "reads": kind.read is not Format.read,
                "writes": kind.write_pattern is not Format.write_pattern
                or kind.write_mapping is not Format.write_mapping,
                "suffixes": list(form.suffixes),
                "can": [word for word in CAN_WORDS if can[word]],
                "launcher": form.capabilities.launcher,
                "tested_with_launcher": form.capabilities.tested_with_launcher,
            }
        )
    return rows


#: What each kind is.
KIND_SUMMARIES = {
    "presets": "how much effort goes into a mapping (--preset)",
    "machines": "kinds of machines and files that describe them (--on)",
    "patterns": "generators of communication patterns (PATTERN)",
    "formats": "files of patterns, mappings and launchers (--format, --input-format)",
    "objectives": "what can be minimised (--objective)",
    "mappers": "algorithms that make a mapping (--mapper)",
    "refiners": "algorithms that improve a mapping (--refine)",
}

KINDS: dict[str, Callable[[], list[Row]]] = {
    "mappers": _mappers,
    "refiners": _refiners,
    "presets": _presets,
    "machines": _machines,
    "patterns": _patterns,
    "formats": _formats,
    "objectives": _objectives,
}
