"""Where the C library lies: ``python -m hopbytes.config --cflags --libs``, for compilers; ``--prefix``, for CMake."""

from __future__ import annotations

import sys
from pathlib import Path

PREFIX = Path(__file__).resolve().parent


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
        print(
            f"hopbytes.config: {wrong[0] if wrong else 'no option'}, expected {', '.join(known)}",
            file=sys.stderr,
        )
        return 1
    if not (library / "libhopbytes.so").exists():
        print(
            f"hopbytes.config: no {library / 'libhopbytes.so'}, expected the library of a wheel",
            file=sys.stderr,
        )
        return 1
    print(*(known[each] for each in arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
