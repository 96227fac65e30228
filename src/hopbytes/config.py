"""Where the C library lies: ``python -m hopbytes.config`` with --cflags, --libs or --prefix."""

from __future__ import annotations

import sys
from pathlib import Path

import hopbytes

NAME = "lib/libhopbytes.so"
_FOLDERS = [Path(folder).resolve() for folder in hopbytes.__path__]  # an editable installation has two
PREFIX = next((folder for folder in _FOLDERS if (folder / NAME).exists()), _FOLDERS[0])


def main(arguments: list[str]) -> int:
    """Print what was asked for on one line; return 1 with one line on stderr if the library is not there."""
    library = PREFIX / "lib"
    known = {
        "--cflags": f"-I{PREFIX / 'include'}",
        "--libs": f"-L{library} -Wl,-rpath,{library} -lhopbytes",
        "--prefix": str(PREFIX),
    }
    wrong = [each for each in arguments if each not in known]
    if wrong or not arguments:
        found = wrong[0] if wrong else "no option"
        print(f"hopbytes.config: {found}, expected {', '.join(known)}", file=sys.stderr)
        return 1
    if not (PREFIX / NAME).exists():
        print(f"hopbytes.config: no {PREFIX / NAME}, expected the library of a wheel", file=sys.stderr)
        return 1
    print(*(known[each] for each in arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
