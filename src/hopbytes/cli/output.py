"""What verbs share when they print: JSON on stdout, sentences on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; NumPy numbers become plain ones."""
    print(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def tell(*sentences: str) -> None:
    """Say something to the person at the terminal; data never goes this way."""
    for sentence in sentences:
        print(sentence, file=sys.stderr)


def tell_launch(command: str) -> None:
    """Say what to type, if there is anything to type."""
    if command:
        tell(f"launch: {command}")


def seconds_of(work: Callable[[], T]) -> tuple[T, float]:
    """Return what `work` returns, and how long it took."""
    began = time.perf_counter()
    return work(), time.perf_counter() - began
