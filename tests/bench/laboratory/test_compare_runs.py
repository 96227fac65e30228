"""What ``python -m hopbytes_laboratory.compare_runs --json`` prints fits its schema."""

import json

import pytest

from bench import BENCH
from hopbytes_laboratory import compare_runs

jsonschema = pytest.importorskip("jsonschema")


def test_comparisons_fit(tmp_path, capsys):
    rows = [
        {"tool": tool, "preset": "eco", "instance": "mesh", "seed": 1, "comm_cost": cost}
        for tool, cost in (("ours", 30), ("theirs", 40))
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert compare_runs.main([str(path), "--baseline", "theirs", "--json"]) == 0
    schema = json.loads((BENCH / "laboratory/compare-runs.schema.json").read_text())
    answer = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema).validate(answer)
    assert set(answer) == set(schema["properties"])
