"""Answers that are stored in tests/golden; ``HOPBYTES_WRITE_GOLDEN=1 pytest FILE`` writes them anew."""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import hopbytes as hb
from helpers.paths import TESTS

WORD = re.compile(r"-?[\w.]+|[^\w\s]")


def checksum(*parts: Any) -> str:
    """Return eight digits that differ for different numbers, texts, bytes, and tuples and lists of them."""
    return f"{zlib.crc32(repr(parts).encode()):08x}"


def compare(file: str, found: dict[str, str]) -> None:
    """Compare texts with those that are known by the same names, one on each line of a file."""
    path = TESTS / "golden" / file
    known = dict(line.split("\t") for line in path.read_text().splitlines()) if path.exists() else {}
    if os.environ.get("HOPBYTES_WRITE_GOLDEN"):
        known |= found
        path.write_text("".join(f"{name}\t{text}\n" for name, text in known.items()))
    assert found == {name: known.get(name) for name in found}


def edited(text: str, most: int) -> Iterator[str]:
    """Yield a text, then about `most` others: a word or line is left out, twice, replaced or exchanged."""
    made = [
        (word.start(), word.end(), new) for word in WORD.finditer(text)
        for new in ("", f"{word[0]} {word[0]}", "0", "1", "-1", "7", "9" * 25, "x")
    ]  # fmt: skip
    lines = [(match.start(), match.end()) for match in re.finditer(r".*\n|.+", text)]
    for (start, end), (_, after) in pairwise([*lines, (len(text), len(text))]):
        line = text[start:end]
        made += [(start, end, ""), (start, end, line + line), (start, after, text[end:after] + line)]
    yield text
    for start, end, new in made[:: len(made) // most | 1]:
        yield text[:start] + new + text[end:]


def outcomes(texts: Iterable[str], read: Callable[[str], Any]) -> str:
    """Return how many texts were read and how many refused, and a checksum of contents and error lines."""
    found, refused = [], 0
    for text in texts:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", hb.HopbytesWarning)
                found.append(read(text))
        except hb.HopbytesError as error:
            found.append((type(error).__name__, getattr(error, "line", None)))
            refused += 1
    return f"{len(found) - refused} read, {refused} refused, {checksum(found)}"


def graph_facts(graph: hb.CommGraph) -> tuple[Any, ...]:
    """Return what a file says about a pattern, without texts for people."""
    columns = (graph.indptr, graph.targets, graph.volumes, graph.messages, graph.loads)
    arrays = [None if column is None else column.tolist() for column in columns]
    facts = sorted(graph.meta), len(graph.meta.get("notices", ())), graph.meta.get("hosts")
    return arrays, graph.undirected, graph.scale, facts, [graph_facts(phase) for phase in graph.phases]
