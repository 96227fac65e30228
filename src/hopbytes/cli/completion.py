"""Completion of words: the script that a shell reads, and the candidates that it requests."""

from __future__ import annotations

import os
from typing import Any

from click import BadParameter
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")
#: The program's name, and the variable by which the script asks.
PROGRAM, VARIABLE = "hopbytes", "_HOPBYTES_COMPLETE"

#: Values that no registry contains.
WORDS = {
    "orders": ("fill", "block", "cyclic", "bynode", "folded", "socket", "plane="),
    "weights": ("bytes", "messages", "time", "unit"),
    "grades": ("bound", "flows", "replay"),
    "speeds": (
        "ethernet-10g", "ethernet-25g", "ethernet-100g", "hdr100", "hdr200", "ndr400", "slingshot200", "none",
    ),
    "words": (),
}
#: Kinds of values that are registered names.
REGISTERED = {"presets", "mappers", "refiners", "objectives", "formats"}


def script(shell: str) -> str:
    """Return the script that a shell has to read once; BadParameter for unknown shells."""
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise BadParameter(f"{shell!r} is not a known shell, expected one of {', '.join(SHELLS)}")
    return kind(None, {}, PROGRAM, VARIABLE).source()  # type: ignore[arg-type]


def complete(program: Any, instruction: str) -> str | None:
    """Return the words that can follow what was typed, a line each; None for an unknown shell."""
    shell, _, what = instruction.partition("_")
    kind = get_completion_class(shell) if shell in SHELLS else None
    return None if kind is None or what != "complete" else kind(program, {}, PROGRAM, VARIABLE).complete()


def candidates(values: str, incomplete: str) -> list[CompletionItem]:
    """Return the values of an option or argument that begin with what was typed."""
    items = _all(values, incomplete)
    return [item for item in items if item.type != "plain" or item.value.startswith(incomplete)]


def _all(values: str, incomplete: str) -> list[CompletionItem]:
    if values in WORDS:
        return [CompletionItem(word) for word in WORDS[values]]
    files = [CompletionItem(incomplete, type="file")]
    if values == "files" or os.sep in incomplete:
        return files
    from hopbytes.show.catalogue import KINDS, catalogue

    if values in REGISTERED:
        more = [CompletionItem("auto", help="choose by kind of machine")] if values == "objectives" else []
        return [*_named(catalogue(values)), *more]
    if values.endswith(" formats"):
        holds = values.removesuffix(" formats")
        return _named([row for row in catalogue("formats") if row["holds"] == holds])
    if values == "things":
        kinds = [CompletionItem(kind) for kind in KINDS]
        return [*files, *kinds, *(item for kind in KINDS for item in _named(catalogue(kind)))]
    specs = [CompletionItem(f"{row['name']}:", help=row["summary"]) for row in catalogue(values)]
    return [*files, *specs, *(CompletionItem(word) for word in ("job", "local") if values == "machines")]


def _named(rows: list[dict[str, Any]]) -> list[CompletionItem]:
    return [CompletionItem(row["name"], help=row["summary"]) for row in rows]
