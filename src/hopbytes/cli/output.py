"""What verbs share when they print: JSON on stdout, sentences on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; NumPy numbers become plain ones."""
    print(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def tell(text: str, quiet: bool = False) -> None:
    """Say something to the person at the terminal; data never goes this way."""
    if not quiet:
        print(text, file=sys.stderr)
