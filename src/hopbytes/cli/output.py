"""What verbs share when they print: JSON on stdout, sentences on stderr."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hopbytes.printable import printable

if TYPE_CHECKING:
    from hopbytes.metrics.evaluation import Evaluation

T = TypeVar("T")


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; NumPy numbers become plain ones."""
    print(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def say(text: str) -> None:
    """Print what people read on standard output; characters that a terminal would obey as their numbers."""
    print(printable(text))


def print_table(evaluation: Evaluation) -> None:
    """Print the metrics; in colour and no wider than the window on a terminal."""
    if not sys.stdout.isatty():
        say(str(evaluation))
        return
    from rich.console import Console

    from hopbytes.report.tables import evaluation_table

    console = Console()
    console.print(evaluation_table(evaluation, console.width))


def tell(*sentences: str) -> None:
    """Say something to the person at the terminal, if anybody listens; data never goes this way."""
    with contextlib.suppress(OSError):
        for sentence in sentences:
            print(printable(sentence), file=sys.stderr, flush=True)


def tell_launch(command: str) -> None:
    """Say what to type, if there is anything to type."""
    if command:
        tell(f"launch: {command}")


def seconds_of(work: Callable[[], T]) -> tuple[T, float]:
    """Return what `work` returns, and how long it took."""
    began = time.perf_counter()
    return work(), time.perf_counter() - began
