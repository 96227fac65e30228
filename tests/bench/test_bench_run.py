"""The runner with made-up tools: rows, failures as rows, reuse."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import run
from bench.instances import graphs
from bench.rivals.tools import TOOLS, Answer, Hopbytes, SharedMap, Task, Tool


class Script(Tool):
    """A tool that is one line of Python; `out` is where its answer goes."""

    presets = ("fast",)

    def __init__(self, code: str) -> None:
        self.code, self.version = code, "1"

    def versions(self):
        return {"script": self.version}

    def command(self, task: Task, out: Path):
        return [sys.executable, "-c", f"import json; out = {str(out)!r}; n = 64\n{self.code}"]

    def answer(self, out: Path, stdout: str):
        return Answer(np.array(json.loads(out.read_text())), json.loads(stdout or "{}"))


IN_BLOCKS = "open(out, 'w').write(json.dumps([task // 4 for task in range(n)]))"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Run tools on a box of 64 cells; return the rows."""
    box = graphs.Instance("box", "3-D", lambda seed: graphs.grid(4, 4, 4))
    monkeypatch.setitem(run.SUITES, "box", lambda: [box])
    monkeypatch.setattr(graphs.prepare, "__defaults__", (graphs.DEFAULT_SEED, tmp_path / "data"))
    out = tmp_path / "results" / "rows.jsonl"

    def go(tools, *extra):
        for name, tool in tools.items():
            monkeypatch.setitem(TOOLS, name, tool)
        run.main([
            "--suite", "box", "--out", str(out), "--tools", ",".join(tools), "--presets", "fast",
            "--seeds", "1", "--hierarchy", "4:4", "--distance", "1:10", "--timeout", "20", *extra,
        ])
        return run.read_rows(out)

    go.out = out
    return go


def test_a_row_holds_what_the_judge_finds(bench):
    reporting = IN_BLOCKS + "; print(json.dumps({'seconds': {'map': 2, 'verify': 1}}))"
    (row,) = bench({"blocks": Script(reporting)})
    assert row["error"] is None
    # Rows of four cells are PEs, planes of four rows are nodes: 3 x 16 edges between planes, 4 x 12 inside.
    assert row["comm_cost"] == 2 * (48 * 10 + 48 * 1)
    assert (row["over_bound"], row["used_pes"], row["max_load"]) == (False, 16, 4)
    assert (row["inner_seconds"], row["family"], row["n"], row["m"]) == (3.0, "3-D", 64, 144)
    assert row["wall_seconds"] > 0
    assert row["peak_rss_bytes"] > 0


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit('broken')", "exit code 1: broken"),
        ("pass", "unusable answer"),
        ("open(out, 'w').write('[1, 2]')", "2 placements, expected 64"),
        ("open(out, 'w').write(json.dumps([99] * n))", "outside 0..15"),
        (IN_BLOCKS + "; print(json.dumps({'comm_cost': 1}))", "claims J = 1, the judge finds 1056"),
    ],
    ids=["exit code", "no answer", "too short", "no such PE", "false claim"],
)
def test_failures_are_rows(bench, code, says):
    (row,) = bench({"bad": Script(code)})
    assert says in row["error"]


def test_rows_are_reused_until_something_changes(bench):
    tool = Script(IN_BLOCKS)
    bench({"blocks": tool})
    assert len(bench({"blocks": tool})) == 1
    tool.version = "2"
    assert len(bench({"blocks": tool})) == 2
    assert len(bench({"blocks": tool}, "--threads", "3")) == 3


def test_failed_rows_are_repeated_only_on_request(bench):
    tool = Script("raise SystemExit(1)")
    bench({"bad": tool})
    assert len(bench({"bad": tool})) == 1
    assert len(bench({"bad": tool}, "--retry")) == 2


@pytest.mark.skipif(importlib.util.find_spec("chszlablib") is None, reason="needs the bench extra")
def test_sharedmap_counts_as_we_do(bench):
    """Its claim of J equals the judge's (else the row is a failure): the hierarchy is innermost first.

    4:4 with 1:10 would not tell; 2:8 with 1:10 would give another J if the levels were swapped.
    """
    (row,) = bench({"sharedmap": SharedMap()}, "--hierarchy", "2:8")
    assert row["error"] is None
    assert row["claimed"]["comm_cost"] == row["comm_cost"] > 0


@pytest.mark.skipif(importlib.util.find_spec("hopbytes.cli.verb_map") is None, reason="needs the verb map")
def test_the_program_takes_the_command_and_claims_what_the_judge_finds(bench):
    (row,) = bench({"hopbytes": Hopbytes()})
    assert row["error"] is None
    assert row["claimed"]["comm_cost"] == row["comm_cost"]
    assert row["inner_seconds"] > 0
    assert not row["over_bound"]


@pytest.mark.parametrize("tool", ["steiner", "kahip", "scotch", "metis", "heistream"])
def test_other_rivals_are_judged_like_the_first(bench, tool):
    versions = TOOLS[tool].versions()
    if "absent" in versions.values():
        pytest.skip(f"no {tool}")
    (row,) = bench({tool: TOOLS[tool]}, "--presets", TOOLS[tool].presets[0], "--hierarchy", "2:8")
    assert row["error"] is None
    assert row["comm_cost"] == row["claimed"].get("comm_cost", row["comm_cost"]) > 0
