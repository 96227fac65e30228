"""Rows that are kept in the repository: compressed, with a word on when and how they were measured.

``bench/results/NAME.jsonl.xz`` has the rows, ``bench/results/about.toml`` says by which command, when and on
what machine, ``bench/results/earlier.toml`` has tables whose rows were not kept.
"""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from bench import BENCH, RESULTS, read_toml

Row = dict[str, Any]
#: Facts of a row that say nothing about the result.
DROPPED = ("kernel",)


def about() -> dict[str, Row]:
    """Return what is known of each file of rows, by its name."""
    return read_toml(RESULTS / "about.toml")


def targets() -> list[Row]:
    """Return what was asked, in the order of ``bench/targets.toml``."""
    return read_toml(BENCH / "targets.toml")["target"]


def earlier() -> list[Row]:
    """Return the tables whose rows were not kept."""
    return read_toml(RESULTS / "earlier.toml")["table"]


@cache
def rows(name: str) -> list[Row]:
    """Return the rows of ``bench/results/NAME.jsonl.xz``; none where nothing is kept under this name."""
    path = RESULTS / f"{name}.jsonl.xz"
    if not path.exists():
        return []
    return [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]


def keep(path: Path) -> Path:
    """Compress a file of rows into ``bench/results`` and return where it is.

    Every line is written as compact JSON, so that keeping the same rows twice gives the same bytes.
    """
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for name in DROPPED:
            if isinstance(row.get("machine"), dict):
                row["machine"].pop(name, None)
        lines.append(json.dumps(row, separators=(",", ":"), ensure_ascii=False))
    target = RESULTS / f"{path.name.removesuffix('.jsonl')}.jsonl.xz"
    target.write_bytes(lzma.compress("\n".join([*lines, ""]).encode(), preset=9))
    return target
