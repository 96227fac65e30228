"""The blocks of docs/python.md run as they stand, one after the other."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "python.md"


def test_blocks_run(monkeypatch, tmp_path):
    from hopbytes.algorithms.base import mappers

    monkeypatch.setattr(mappers, "_things", dict(mappers._things))  # what the page registers is forgotten
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 4
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["mapping"].pe.tolist() == list(range(16))[::-1]  # type: ignore[attr-defined]
