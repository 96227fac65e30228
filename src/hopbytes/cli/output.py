"""What verbs share when they print: JSON on stdout, sentences on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hopbytes.errors import printable

if TYPE_CHECKING:
    from hopbytes.cli.common_options import WritingOptions
    from hopbytes.cost.metrics.evaluation import Evaluation
    from hopbytes.formats.exchange import Receipt
    from hopbytes.launching.present import Advice
    from hopbytes.model.mapping import Mapping

T = TypeVar("T")


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; NumPy numbers become plain ones."""
    if isinstance(value, dict) and isinstance(value.get("notices"), list):
        value = {**value, "notices": [_for_terminal(notice) for notice in value["notices"]]}
    print(json.dumps(value, default=_plain))


def _as_typed(text: str) -> str:
    """Return a text with options where the library names its arguments."""
    if "`" not in text:
        return text
    from hopbytes.cli.option_names import as_options

    return as_options(text)


def _for_terminal(sentence: str) -> str:
    """Return a sentence of the library with options for arguments and with separators in large counts."""
    from hopbytes.cli.option_names import for_terminal

    return for_terminal(sentence)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def print_table(evaluation: Evaluation, *, complete: bool, unit: str) -> None:
    """Print the metrics, or those most people want; no wider than the terminal, or 80 columns in a pipe."""
    from hopbytes.report.layout import width
    from hopbytes.report.tables import evaluation_table

    print_text(evaluation_table(evaluation, width(widest=200), complete=complete, unit=unit))


def written(
    writing: WritingOptions, mapping: Mapping, output: str | None, extra: dict[str, Any], *, json: bool
) -> Receipt | None:
    """Write a mapping where it is wanted; somebody at a terminal gets a line per node instead of per task."""
    if json and output is None:
        return None
    if output is not None or writing.format is not None or not sys.stdout.isatty():
        return writing.write(mapping, output, **extra)
    from hopbytes.report.ranks_text import ranks_per_node

    print_text("\n".join([*ranks_per_node(mapping), "(-o FILE writes the mapping)", ""]))
    return None


def print_text(text: str) -> None:
    """Print lines for people; what names in files hold beyond letters is no order to the terminal."""
    print(printable(_as_typed(text), "\n\t"))


def tell(*sentences: str) -> None:
    """Say something to the person at the terminal, if anybody listens; data never goes this way."""
    with contextlib.suppress(OSError):
        for sentence in sentences:
            print(printable(_for_terminal(sentence), "\n\t"), file=sys.stderr, flush=True)


def advice_for(
    receipt: Receipt | None, form: str | None, record: dict[str, Any] | None = None
) -> Advice | None:
    """Return what to type to start what was written, if there is anything; a record for JSON gets it too."""
    if receipt is None or not receipt.launch:
        return None
    from hopbytes.launching.present import advice

    found = advice(receipt, form or "", os.environ)
    if record is not None:
        record["notices"] += found.notices
        record |= {"launch": found.command, "launches": dict(found.others)}
    return found


def launch_lines(advice: Advice | None) -> list[str]:
    """Return what to type; these are the last lines, so that they are found."""
    return [f"{label}: {command}" for label, command in advice.lines] if advice else []


def seconds_of(work: Callable[[], T]) -> tuple[T, float]:
    """Return what `work` returns, and how long it took."""
    began = time.perf_counter()
    return work(), time.perf_counter() - began
