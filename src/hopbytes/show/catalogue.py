"""Registered things as rows for people and programs, which ``hopbytes show`` prints."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from hopbytes.text.columns import entry_lines, table_lines, width

Row = dict[str, Any]

#: Longer names have a line of their own.
LONGEST_NAME = 24
CHAIN_HEAD = "algorithms in the order in which they run, with options that are not the default ones:"
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
#: When to use a preset, and its time beside `eco`: of seconds on lattices of 1,024 processes and of 16,384
#: vertices in 64 blocks (``map_tasks(stencil, …, threads=1)``). The time of `turbo` is of partitions of six
#: meshes of 15,000 to 260,000 vertices.
USE = {
    "fast": ("the mapping is needed at once, or the graph is very large", "half to two thirds of eco"),
    "eco": ("nothing else is known", "the unit for the others"),
    "strong": ("the program runs for hours", "4 to 11 times eco"),
    "best": ("there is time: --time-limit, --work-limit or Ctrl-C end it", "until a limit or Ctrl-C ends it"),
    "routed": (
        "the machine has links (torus:, fattree:, ib: …) and congestion matters",
        "that of strong, or more",
    ),
    "turbo": ("a partition is needed in about the time of METIS", "a fifth to two fifths of fast"),
}


def catalogue(kind: str) -> list[Row]:
    """Return one row per registered thing of a kind, alphabetically."""
    if kind not in KINDS:
        from hopbytes.errors import unknown_name

        raise unknown_name("kind of thing", kind, KINDS)
    return KINDS[kind][1]()


def kinds() -> list[Row]:
    """Return one row per kind of thing that can be listed, in the order in which people meet them."""
    return [{"name": kind, "summary": summary} for kind, (summary, _) in KINDS.items()]


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
        lines += ["", CHAIN_HEAD]
        for step in rows[0]["chain"]:
            name, _, options = step.partition(":")
            lines += entry_lines(name, options.replace(",", ", ") or "default options", columns, 16)
    launchable = [row for row in rows if row.get("can")]
    if launchable:
        lines += ["", *_capabilities(launchable)]
    return "\n".join(lines)


def _details(row: Row) -> list[str]:
    details = []
    options = row.get("options", {})
    groups = {f"options for {what}": names for what, names in row.get("option_groups", {}).items()}
    for title, names in (groups or {"options": list(options)}).items():
        if names:
            details.append(f"{title}: " + ", ".join(f"{name}={options[name]}" for name in names))
    if row.get("chain"):
        details.append("chain: " + ", then ".join(step.partition(":")[0] for step in row["chain"]))
        details += [f"use it when {row['use']}", f"time: {row['time']}"]
    if "reads" in row:
        verbs = [verb for verb in ("reads", "writes") if row[verb]]
        names = f" ({' '.join(row['suffixes'])})" if row["suffixes"] else ""
        details.append(f"{' and '.join(verbs)} {row['holds']}s{names}")
    if "unit" in row:
        details.append(f"unit: {row['unit']}; family: {row['family']}")
    return details


def _capabilities(rows: list[Row]) -> list[str]:
    """Return the capabilities of mapping formats: a line per format, a column per capability."""
    lines = ["what mapping formats can express, and whether the tests run their launcher"]
    indent = " " * (max(len(row["name"]) for row in rows) + 2)
    lines += [indent + "|  " * column + word for column, word in enumerate(CAN_WORDS.values())]
    cells = []
    for row in rows:
        marks = ["x" if word in row["can"] else "-" for word in CAN_WORDS]
        tested = "tested with" if row["tested_with_launcher"] else "untested:"
        cells.append([row["name"], *marks, f"{tested} {row['launcher']}" if row["launcher"] else ""])
    return lines + table_lines(cells, "<")


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


def _registered(kind: str) -> list[Row]:
    """Return algorithms with their options and defaults, as they are typed on the command line."""
    from hopbytes.algorithms.base import mappers, refiners
    from hopbytes.patterns.base import patterns

    registries: dict[str, Any] = {"mappers": mappers, "refiners": refiners, "patterns": patterns}
    rows = []
    for name, made in registries[kind].items():
        options = {field.name: field.default for field in dataclasses.fields(made)}
        row = {"name": name, "summary": first_sentence(made), "options": options}
        groups = getattr(made, "option_groups", {})
        if groups:
            row["option_groups"] = {what: list(names) for what, names in groups.items()}
        rows.append(row)
    return rows


def _presets() -> list[Row]:
    from hopbytes.solve.presets import presets

    rows = []
    for name in sorted(presets, key=lambda name: [*USE, name].index(name)):
        chain, (use, time) = presets[name](), USE.get(name, ("", ""))
        steps = [step_text(step) for step in (chain.mapper, *chain.refiners)]
        summary = first_sentence(presets[name])
        rows.append({"name": name, "summary": summary, "chain": steps, "use": use, "time": time})
    return rows


def step_text(step: Any) -> str:
    """Return an algorithm as ``--mapper`` takes it, with the options that differ from the defaults."""
    from hopbytes.algorithms.base import mappers, refiners

    name = mappers.name_of(type(step)) or refiners.name_of(type(step)) or type(step).__name__.lower()
    options = []
    for field in dataclasses.fields(step):
        value = getattr(step, field.name)
        if value != field.default:
            words = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
            options.append(f"{field.name}={words}")
    return ":".join([name, *([",".join(options)] if options else [])])


def _machines() -> list[Row]:
    from hopbytes.machines.base import machines

    return [{"name": name, "summary": first_sentence(kind)} for name, kind in machines.items()]


def _objectives() -> list[Row]:
    from hopbytes.cost.objectives.comm_cost import objectives

    return [
        {"name": name, "summary": f"{kind.symbol}: {kind.meaning}", "unit": kind.unit, "family": kind.family}
        for name, kind in objectives.items()
    ]


def _formats() -> list[Row]:
    from hopbytes.formats.base import Format, formats

    rows = []
    for name, form in formats.items():
        kind, can = type(form), form.capabilities
        rows.append({
            "name": name,
            "summary": form.summary or first_sentence(kind),
            "holds": form.holds,
            "reads": kind.read is not Format.read,
            "writes": kind.write_pattern is not Format.write_pattern
            or kind.write_mapping is not Format.write_mapping,
            "suffixes": list(form.suffixes),
            "can": [word for word in CAN_WORDS if getattr(can, word)],
            "launcher": can.launcher,
            "tested_with_launcher": can.tested_with_launcher,
        })  # fmt: skip
    return rows


#: What each kind is, and what returns its rows.
KINDS: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "presets": ("how much effort goes into a mapping (--preset)", _presets),
    "machines": ("kinds of machines and files that describe them (--on)", _machines),
    "patterns": ("generators of communication patterns (PATTERN)", partial(_registered, "patterns")),
    "formats": ("files of patterns, mappings and launchers (--format, --input-format)", _formats),
    "objectives": ("what can be minimised (--objective)", _objectives),
    "mappers": ("algorithms that make a mapping (--mapper)", partial(_registered, "mappers")),
    "refiners": ("algorithms that improve a mapping (--refine)", partial(_registered, "refiners")),
}
