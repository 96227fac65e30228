"""How a report and its mappings came about, as commands to type again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from hopbytes._frozen import frozen
from hopbytes.model.mapping import Mapping

#: Name of the file in which the commands of a report store a mapping that the report made.
STORED = "mapping.json"
#: Options of the verb `report` that `map` has not.
OWN = ("-o", "--output", "--compare-with", "--force", "--quiet", "-q")
#: Those that are followed by a value.
WITH_VALUE = ("-o", "--output", "--compare-with")


@frozen
class Origin:
    """How the report came about."""

    command: str = ""  # the command that wrote it; "" if a program did
    stores: str = ""  # the command that stores the first mapping, if it was made for the report; "" otherwise
    stored: str = "MAPPING.json"  # name of the file of the first mapping, quoted for a shell
    pattern: str = ""  # the pattern as it was typed; "" takes the name that it knows itself


def origin_of_files(pattern: str, paths: Sequence[str], words: Sequence[str]) -> Origin:
    """Return the origin of a report about mappings in files; `words` are the command line."""
    return Origin(_command(words), "", shlex.quote(paths[0]), os.path.basename(pattern))


def made_here(pattern: str, mapping: Mapping, words: Sequence[str]) -> tuple[dict[str, Mapping], Origin]:
    """Return a mapping by a name that says how it was made, and the origin of a report about it.

    `words` are the command line.
    """
    name = f"preset {mapping.info['preset']}" if mapping.info.get("preset") else "mapping"
    stores = _command(as_map(words)) if words and words[0] == "report" else ""
    return {name: mapping}, Origin(_command(words), stores, STORED, os.path.basename(pattern))


def _command(words: Sequence[str]) -> str:
    return shlex.join(["hopbytes", *words])


def as_map(words: Sequence[str]) -> list[str]:
    """Return the words of a command line that stores the mapping which ``report`` has made.

    >>> as_map(["report", "a.csv", "--on", "node:2 core:2", "-o", "r.html", "--seed=3"])
    ['map', 'a.csv', '--on', 'node:2 core:2', '--seed=3', '-o', 'mapping.json']
    """
    kept, left = ["map"], iter(words[1:])
    for word in left:
        name = word.partition("=")[0]
        if name in OWN:
            if name in WITH_VALUE and word == name:
                next(left, None)
        elif not word.startswith("-o"):
            kept.append(word)
    return [*kept, "-o", STORED]


def names_of(paths: Sequence[str]) -> list[str]:
    """Return a short name for each file: without folders, where that makes a difference between them.

    >>> names_of(["runs/a.json", "runs/b.json"]), names_of(["x/a.json", "y/a.json"])
    (['a.json', 'b.json'], ['x/a.json', 'y/a.json'])
    """
    short = [os.path.basename(path) for path in paths]
    return short if len(set(short)) == len(set(paths)) else list(paths)
