"""Measurements of hopbytes beside other programs: ``bench/README.md`` says how to run them.

Every script is a module of this package and is started from the top folder of the repository, for example
``python -m bench.studies.growth``. A process of its own is started in the same way (:func:`child`).
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11; mypy and pytest bring it
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
#: Inputs that were made once; ignored by git.
DATA = BENCH / "data"
#: Rows as the scripts write them are ignored by git, compressed ones (``*.jsonl.xz``) are kept.
RESULTS = BENCH / "results"

if importlib.util.find_spec("hopbytes_laboratory") is None:  # it is not installed: take it from the tree
    sys.path.append(str(BENCH / "laboratory"))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def child(module: str) -> list[str]:
    """Return the beginning of a command that runs a module of this package with this interpreter.

    Examples
    --------
    >>> child("bench.run")[1:]
    ['-m', 'bench.run']
    """
    return [sys.executable, "-m", module]
