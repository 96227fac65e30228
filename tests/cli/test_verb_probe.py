"""``hopbytes probe`` and what ``show`` makes of its file."""

import json
import os

from helpers.errors import assert_refused


def test_probe_writes_a_file_that_on_takes(hopbytes, tmp_path):
    target = tmp_path / "job.machine.json"
    done = hopbytes("probe", "-o", target, "--", "env")
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 node of one kind" in done.stderr
    shown = json.loads(hopbytes("show", target, "--json").stdout)
    assert shown["hosts"] == [os.uname().nodename]
    assert shown["pes"] == json.loads(hopbytes("show", "local", "--json").stdout)["pes"]


def test_probe_without_answers_leaves_nothing(hopbytes, tmp_path):
    target = tmp_path / "job.machine.json"
    done = hopbytes("probe", "-o", target, "--", "true")
    assert done.returncode == 1
    assert_refused(done, "probe", "node")
    assert not target.exists()
