"""``python -m hopbytes_laboratory.compare_runs`` on files of two rows."""

import json

import pytest


@pytest.fixture
def results(tmp_path):
    rows = [
        {"tool": tool, "preset": "eco", "instance": "mesh", "seed": 1, "comm_cost": cost}
        for tool, cost in (("ours", 30), ("theirs", 40))
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_tables(hopbytes, results):
    done = hopbytes("compare-runs", results, "--baseline", "theirs")
    line = next(line for line in done.stdout.splitlines() if line.startswith("  ours:eco"))
    assert line.split()[:3] == ["ours:eco", "theirs:eco", "0.750"]
    assert done.returncode == 0


def test_json(hopbytes, results):
    done = hopbytes("compare-runs", results, "--baseline", "theirs:eco", "--json")
    standings = {standing["contender"]: standing for standing in json.loads(done.stdout)["overall"]}
    assert standings["ours:eco"]["ratios"]["comm_cost"] == pytest.approx(0.75)
    assert standings["ours:eco"]["wins"] == 1


def test_errors_are_one_line(hopbytes, results):
    unknown = hopbytes("compare-runs", results)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)
    assert "no run of sharedmap" in unknown.stderr
    assert "--baseline ours:eco" in unknown.stderr
    mistyped = hopbytes("compare-runs", results, "--baseline", "their")
    assert "unknown baseline 'their', did you mean 'theirs'?" in mistyped.stderr
    results.write_text(results.read_text().replace('"comm_cost": 40', '"error": "no module named rival"'))
    failed = hopbytes("compare-runs", results, "--baseline", "theirs")
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)
    assert "no module named rival" in failed.stderr
    results.write_text("{}\n")
    broken = hopbytes("compare-runs", results)
    assert (broken.returncode, broken.stderr.count("\n")) == (1, 1)
    assert f"{results}:1: no 'instance'" in broken.stderr
    absent = hopbytes("compare-runs", results.parent / "absent.jsonl")
    assert absent.returncode == 1
    assert "No such file" in absent.stderr
