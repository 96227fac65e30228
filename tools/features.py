"""Write docs/understand/features.md: every feature of before, and its command today.

``tools/features_before.json`` has what was registered when the program had 21 verbs (commit 08429393).
``python tools/features.py`` renews the page from it and from what is registered today.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

import hopbytes
from hopbytes.cli.app import command_of
from hopbytes.cli.completion import WORDS
from hopbytes.show.catalogue import catalogue

ROOT = Path(__file__).parents[1]
BEFORE = ROOT / "tools/features_before.json"
PAGE = ROOT / "docs/understand/features.md"

#: How a registered name of a kind is typed.
TYPED = {
    "mappers": "map PATTERN --on MACHINE --mapper {}", "refiners": "map PATTERN --on MACHINE --refine {}",
    "presets": "map PATTERN --on MACHINE --preset {}",
    "objectives": "map PATTERN --on MACHINE --objective {}",
    "machines": "map PATTERN --on {}:…", "patterns": "map {}:… --on MACHINE",
    "orders": "eval PATTERN --on MACHINE --order {}", "weights": "map PATTERN --on MACHINE --weight {}",
    "grades": "simulate PATTERN MAPPING --grade {}", "speeds": "simulate PATTERN MAPPING --assume {}",
}  # fmt: skip
#: Verbs that are called otherwise: the verb today, and the command.
VERB_NOW = {
    "compare": ("eval", "hopbytes eval PATTERN MAPPING OTHER"),
    "convert": ("write", "hopbytes write PATTERN -o FILE"),
    "list": ("show", "hopbytes show formats"),
    "locate": ("verify", "hopbytes verify -o FILE -- mpirun -n 64"),
    "measure": ("probe", "hopbytes probe --measure --on MACHINE -- mpirun -n 64"),
    "map-distributed": ("map", "hopbytes map --distributed GRAPH --on MACHINE"),
    "eval-distributed": ("eval", "hopbytes eval --distributed GRAPH MAPPING --on MACHINE"),
    "compare-runs": ("", "python -m hopbytes_laboratory.compare_runs RESULTS"),
    "completion": ("", "hopbytes --completion bash"),
}
#: Options that have another name: what is typed today.
OPTION_NOW = {
    "--placement": "hopbytes eval PATTERN --on MACHINE --order ORDER",
    "--level-distance": "hopbytes map PATTERN --on MACHINE --distance LEVEL=N",
    "--unit-messages": "hopbytes map PATTERN --on MACHINE --weight unit",
    "--rails": "hopbytes map PATTERN --on ib:FOLDER:rails=RULE",
    "--adapters": "hopbytes map PATTERN --on ib:FOLDER:adapters=NAMES",
    "--node-name-map": "hopbytes map PATTERN --on ib:FOLDER:names=FILE",
    "--road": "hopbytes map --distributed GRAPH --on MACHINE --strategy NAME",
    "--oversubscription": "hopbytes simulate PATTERN --on 'leaf:2:over=4 node:4:bw=1e9:lat=1e-6 core:4'",
    "--max-bytes": "HOPBYTES_MAX_BYTES=N hopbytes map PATTERN --on MACHINE",
    "--cutter": "mpirun -n P python -m hopbytes_laboratory.ptscotch map --distributed GRAPH --on MACHINE",
    "--baseline": "python -m hopbytes_laboratory.compare_runs RESULTS --baseline TOOL",
}
#: Options that left verbs, and what is typed instead.
LEFT = {
    "--hierarchy": "hopbytes map PATTERN --on 'a:6@100 b:8@10 c:4@1'",
    "--capacity": "hopbytes map PATTERN --on 'node:8:cap=2 core:4'",
    "--tasks-per": "hopbytes map PATTERN --on MACHINE --tasks-per LEVEL=4",
}
#: Verbs that lost options which a command before them takes; a stored mapping contains its machine.
BEFOREHAND = {
    "report": ("map", "hopbytes map PATTERN --on MACHINE -o MAPPING.json"),
    "bench-pattern": ("write", "hopbytes write FILE --on MACHINE -o MAPPING.json"),
}
#: What is drawn, and the command.
PICTURES = {
    "machine as boxes": "hopbytes show 'node:2 core:4' -o FILE.svg",
    "network with its links": "hopbytes show torus:4x4 -o FILE.svg",
    "pattern as a matrix": "hopbytes show PATTERN -o FILE.svg",
    "mapping as ranks on its machine": "hopbytes show MAPPING.json -o FILE.svg",
    "matrices, levels and links before and after": "hopbytes eval PATTERN MAPPING.json -o FILE.svg",
    "page of a report": "hopbytes report PATTERN MAPPING.json -o FILE.html",
}
#: Names that have another name, or that are not a part of hopbytes any more, with what is typed today.
NAMES_NOW = {
    ("python", "machine"): "hopbytes.allocate",
    ("python", "explain_times"): "hopbytes_laboratory.regression.explain_times",
    ("python", "metric_columns"): "hopbytes_laboratory.regression.metric_columns",
    ("mappers", "integrated"): "hopbytes map PATTERN --on MACHINE --mapper deep_multisection",
    ("mappers", "parallel_multilevel"): "hopbytes map PATTERN --on MACHINE --mapper deep_multisection",
    ("machines", "netloc"): "left: netloc files; --on ib:FOLDER reads the same fabrics",
    ("formats", "bluegene"): "left: a retired machine; --format newrank orders ranks",
    ("machines", "xtdb2proc"): "left: a retired machine; --on coordinates:FILE takes its coordinates",
}
#: Options that neither a preset nor a document used: they left, and their defaults are in force.
UNUSED = {("refiners", "tabu"): ["fruitless_generations"]}


def laboratory() -> dict[str, list[str]]:
    """Return the mappers of the laboratory and their options."""
    sys.path.insert(0, str(ROOT / "bench/laboratory"))
    names = importlib.import_module("hopbytes_laboratory").MAPPERS
    sys.path.pop(0)
    kinds = {name: pkgutil.resolve_name(where) for name, where in names.items()}
    return {name: [field.name for field in dataclasses.fields(kind)] for name, kind in kinds.items()}


def known(kind: str) -> dict[str, list[str]]:
    """Return the names of a kind and their options, as the program has them today."""
    if kind == "python":
        return {name: [] for name in hopbytes.__all__}
    if kind == "plots":
        return {name: [] for name in dir(hopbytes.plot)}
    if kind in WORDS:
        return {name: [] for name in WORDS[kind]}
    rows = {row["name"]: row for row in catalogue(kind)}
    if kind == "formats":
        return {n: [w for w in ("reads", "writes") if row[w]] + [row["holds"]] for n, row in rows.items()}
    return {name: sorted(row.get("options", ())) for name, row in rows.items()}


def options_of(verb: str) -> set[str]:
    """Return the options of a verb today."""
    parameters = command_of(verb).params
    return {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}


def verb_rows(before: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return a row for each verb with its options, and for options that left verbs or have other names."""
    rows: list[tuple[str, str]] = []
    moved: dict[str, dict[str, list[str]]] = {}
    for verb, options in before.items():
        now, command = VERB_NOW.get(verb, (verb, f"hopbytes {verb}"))
        kept = options_of(now) if now else set(options) - set(OPTION_NOW)
        same = [name for name in options if name in kept]
        rows.append((" ".join([f"`hopbytes {verb}`", *same]), f"`{command}`"))
        for option in (option for option in options if option not in kept):
            moved.setdefault(now_typed(verb, option), {}).setdefault(option, []).append(verb)
    for typed, options_moved in moved.items():
        verbs = next(iter(options_moved.values()))
        rows.append((f"{' '.join(options_moved)} of {', '.join(verbs)}", f"`{typed}`"))
    return rows


def now_typed(verb: str, option: str) -> str:
    """Return the command for an option that left a verb."""
    if option in OPTION_NOW:
        return OPTION_NOW[option]
    before, command = BEFOREHAND.get(verb, ("", ""))
    return command if before and option in options_of(before) else LEFT[option]


def name_rows(kind: str, before: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return a row for each name of a kind."""
    now, rows = known(kind), []
    elsewhere = laboratory() if kind == "mappers" else {}
    now |= elsewhere
    for name, options in before.items():
        left = UNUSED.get((kind, name), [])
        options = [option for option in options if option not in left]
        what = f"{kind.removesuffix('s')} `{name}`" + (f": {', '.join(options)}" if options else "")
        what += f" (without {', '.join(left)}, which nothing used)" if left else ""
        if (kind, name) in NAMES_NOW:
            command = NAMES_NOW[kind, name]
        elif name not in now or set(options) - set(now[name]):
            raise KeyError(f"{kind} {name}: lost {set(options) - set(now.get(name, ()))}")
        elif kind == "formats":
            command = format_command(name, options)
        elif kind in TYPED:
            command = f"{'pip install ./bench; ' * (name in elsewhere)}hopbytes {TYPED[kind].format(name)}"
        else:
            command = f"hopbytes.{'plot.' if kind == 'plots' else ''}{name}"
        rows.append((what, f"`{command}`"))
    return rows


def format_command(name: str, options: list[str]) -> str:
    """Return a command that reads or writes a format."""
    *ways, holds = options
    if "writes" in ways:
        return f"hopbytes write {'MAPPING.json' if holds == 'mapping' else 'PATTERN'} --format {name} -o FILE"
    option = "--mapping-format" if holds == "mapping" else "--input-format"
    return f"hopbytes map FILE --on MACHINE {option} {name}" if holds == "pattern" else (
        f"hopbytes eval PATTERN FILE --on MACHINE {option} {name}"
    )


def page() -> str:
    """Return the page."""
    before: dict[str, Any] = json.loads(BEFORE.read_text())
    lines = [HEAD, *(table("Verbs and options", verb_rows(before["verbs"])))]
    for kind in before:
        if kind != "verbs":
            lines += table(TITLES.get(kind, kind.capitalize()), name_rows(kind, before[kind]))
    drawn = [(what, f"`{command}`") for what, command in PICTURES.items()]
    return "\n".join([*lines, *table("Pictures", drawn)]) + "\n"


def table(title: str, rows: list[tuple[str, str]]) -> list[str]:
    """Return a table with its heading."""
    body = [f"| {old} | {new} |" for old, new in rows]
    return ["", f"## {title}", "", "| before | today |", "|---|---|", *body]


TITLES = {"python": "Names of the Python package", "plots": "Figures of matplotlib"}
HEAD = """\
# Features, before and today

Made by `python tools/features.py`. The left column is what the program had when it had 21 verbs,
the right column what is typed today. A test checks that commands are accepted and that names are there.
What moved to the laboratory (`pip install ./bench`) is named with its command there."""

if __name__ == "__main__":
    PAGE.write_text(page())
