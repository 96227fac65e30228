"""Messages of the library as people read them at a terminal.

The library writes `` `hosts` ``, `` `per='gpu'` `` or `` `oversubscribe=True` ``, since its callers are
Python programs; people at a terminal read ``--hosts``, ``--per gpu`` and ``--oversubscribe``. They also
read large counts with separators, as in the tables: ``60,959,284 scanned edges``.
"""

from __future__ import annotations

import re
import shlex

#: Arguments that messages name and that are options of the same name, with dashes.
SAME = (
    "allowed", "as_typed", "assume", "batches", "block", "bytes_scale", "capacity", "collectives",
    "cores_per_task", "distance", "eager", "exclude",
    "force", "grade", "hierarchy", "hosts", "iterations",
    "launched", "launcher", "oversubscribe", "pack", "partition", "per",
    "platform", "programs", "replace", "reserve", "spread", "strategy", "symmetrize", "tasks_per",
    "tasks_per_node", "time_limit", "trace",
)
#: What stands for other arguments; with a function or a value where that makes a difference.
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in SAME} | {
    "max_bytes": "HOPBYTES_MAX_BYTES",
    "compiler": "--cc", "form": "--for", "machine.distance": "--distance", "partition=False": "--processes",
    "read.format": "--input-format", "read_mapping.format": "--mapping-format", "write.format": "--format",
    "machine": "--on", "where": "--on", "Limits.time": "--time-limit", "Limits.work": "--work-limit",
    # Options of a spec: ib:FOLDER:rails=spread.
    "adapters": "adapters=", "node_name_map": "names=FILE", "rails": "rails=",
}  # fmt: skip
ARGUMENT = re.compile(
    r"`(?:(?P<function>[A-Za-z_]+)\()?(?P<name>[a-z_]+)(?:=(?P<value>[^`]+?))?(?(function)\))`"
)
#: Lines with a command to copy, which is shown as it is.
COMMAND = re.compile(r"launch(?:, [^:]+)?: ")
#: A count of five or more digits and its unit; a number of a line, a task or a port stands behind its noun.
COUNT = re.compile(
    r"(?<![\w.,:/=-])[0-9]{5,}(?= (?:scanned edges|bytes|characters|processes|tasks|ranks|slots|cores|PEs)\b)"
)
#: Errors about a line of a file, whose words are those of the file.
LINE_OF_A_FILE = re.compile(r"[^:]+:[0-9]+: ")
#: Words of the library that people read as others. They stay in names of files, in options and in commands.
TERM = re.compile(r"(?<![\w:=/.'\"`-])(?<!--map-by )(an arc|arc|PE|slot)(s?)(?![\w=/'\"`-]|[.:]\w)")


def for_terminal(text: str, slot: str = "slot") -> str:
    """Return a message in the words of a terminal, which calls slots what they are on this machine."""
    if COMMAND.match(text):
        return text
    named, words = as_options(text), {"an arc": "a pair", "arc": "pair"}
    if not LINE_OF_A_FILE.match(text):
        named = TERM.sub(lambda match: words.get(match[1], slot) + match[2], named)
    return COUNT.sub(lambda count: f"{int(count[0]):,}", named)


def as_options(text: str) -> str:
    """Return a message with options in the place of names of arguments; other text in backquotes stays."""
    return ARGUMENT.sub(_option, text) if "`" in text else text


def _option(match: re.Match[str]) -> str:
    function, name, value = match["function"], match["name"], match["value"]
    key = f"{function}.{name}" if function else name
    if f"{key}={value}" in OPTIONS:
        return OPTIONS[f"{key}={value}"]
    option = OPTIONS.get(key)
    if option is None:
        return match[0]
    if value in (None, "True"):
        return option
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return f"{option} {shlex.quote(value[1:-1]) if quoted else value}"
