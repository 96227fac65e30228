"""Print the test files of source files, so that ``pytest $(python tests/tests_of.py FILE…)`` runs just those.

The tests of ``src/hopbytes/ROOM/NAME.py`` are ``tests/ROOM/test_NAME.py`` and ``test_NAME_….py`` beside it. A
module without such a file is in the list ``tested_through.txt``, with its tests and the reason.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from helpers.paths import ROOT, TESTS

SOURCES = ROOT / "src" / "hopbytes"
LIST = TESTS / "tested_through.txt"


class Group(NamedTuple):
    """Modules tested by the same files for the same reason; paths are relative to src/hopbytes and tests."""

    reason: str
    tests: list[str]
    modules: list[str]


def tested_through() -> list[Group]:
    """Return the list of modules without a test file of their own."""
    groups: list[Group] = []
    words: list[str] = []
    for line in LIST.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            groups.append(Group(line, [], []))
            continue
        tag, *rest = line.split()
        if line.startswith("  by "):
            words = groups[-1].tests
        elif line.startswith("  for "):
            words = groups[-1].modules
        else:  # the line before goes on
            rest = [tag, *rest]
        words += rest
    return groups


def mirrored(module: Path) -> list[Path]:
    """Return the test files at the place of a module; `module` is relative to the package."""
    folder = TESTS / module.parent
    others = {path.stem for path in (SOURCES / module.parent).glob("*.py")} - {module.stem}

    def belongs(name: str) -> bool:
        if name == module.stem:
            return True
        longer = [other for other in others if len(other) > len(module.stem)]
        return name.startswith(f"{module.stem}_") and not any(
            name == other or name.startswith(f"{other}_") for other in longer
        )

    return sorted(path for path in folder.glob("test_*.py") if belongs(path.stem.removeprefix("test_")))


def listed(module: Path) -> list[Path]:
    """Return the test files that the list names for a module."""
    name = module.as_posix()
    groups = [group for group in tested_through() if any(fnmatchcase(name, entry) for entry in group.modules)]
    return sorted({TESTS / test for group in groups for test in group.tests})


def tests_of(path: Path) -> list[Path]:
    """Return the test files of a file of the package, or a test file itself.

    Raises
    ------
    ValueError
        For a file that is neither, and for a module without tests of its own.
    """
    path = path.resolve()
    if path.is_relative_to(TESTS) and path.name.startswith("test_"):
        return [path]
    if not path.is_relative_to(SOURCES) or path.suffix != ".py":
        raise ValueError(f"{path}: expected a Python file below src/hopbytes")
    module = path.relative_to(SOURCES)
    found = mirrored(module) or listed(module)
    if not found:
        expected = f"tests/{module.parent}/test_{module.name}"
        raise ValueError(f"{path}: has no test file, expected {expected}")
    return found


def main(arguments: list[str]) -> int:
    """Print the test files of all arguments, one on a line; complain about those that have none."""
    code = 0
    found: dict[Path, None] = {}
    for argument in arguments:
        try:
            found |= dict.fromkeys(tests_of(Path(argument)))
        except ValueError as error:
            print(error, file=sys.stderr)
            code = 1
    for path in found:
        print(path.relative_to(ROOT))
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
