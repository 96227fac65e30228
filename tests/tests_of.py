"""Print the test files of source files, so that ``pytest $(python tests/tests_of.py FILE…)`` runs just those.

The tests of ``src/hopbytes/ROOM/NAME.py`` are the files ``tests/ROOM/test_NAME….py`` and all that import it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from helpers.paths import ROOT, TESTS

SOURCES = ROOT / "src" / "hopbytes"


def tests_of(path: Path) -> list[Path]:
    """Return the test files of a file of the package, or a test file itself.

    Raises
    ------
    ValueError
        For a file that is neither.
    """
    path = path.resolve()
    if path.is_relative_to(TESTS) and path.name.startswith("test_"):
        return [path]
    if not path.is_relative_to(SOURCES) or path.suffix != ".py":
        raise ValueError(f"{path}: this is no file of src/hopbytes and no test file")
    module = path.relative_to(SOURCES).with_suffix("")
    name = ".".join(("hopbytes", *module.parts)).removesuffix(".__init__")
    room = name.rpartition(".")[0]
    used = re.compile(rf"\b{re.escape(name)}\b|from {re.escape(room)} import .*\b{module.name}\b")
    found = set((TESTS / module.parent).glob(f"test_{module.name}*.py"))
    found |= {file for file in TESTS.rglob("test_*.py") if used.search(file.read_text())}
    return sorted(found)


def main(arguments: list[str]) -> int:
    """Print the test files of all arguments, one per line, each once."""
    try:
        files = sorted({test for argument in arguments for test in tests_of(Path(argument))})
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for file in files:
        print(file.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
