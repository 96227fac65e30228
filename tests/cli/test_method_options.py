"""Limits of a search as people type them: durations with a unit."""

import json

MESH = ("map", "stencil:16x16", "--on", "node:2 core:4", "--partition", "--preset", "fast", "--json")


def test_a_time_limit_with_a_unit(hopbytes):
    done = hopbytes(*MESH, "--time-limit", "5m")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["deterministic"] is False
    for typed in ("5 minutes", "m", "5mm", "1.2.3s", "5d"):
        done = hopbytes(*MESH, "--time-limit", typed)
        assert done.returncode == 2, typed
        assert "expected seconds such as 300, or 90s, 5m, 1h" in " ".join(done.stderr.split())
