"""The meter: work done in children counts, stragglers end, failures are described. No times are asserted
beyond orders of magnitude."""

import sys
from pathlib import Path

from bench.rivals.measure import run_measured

BURN = "import time\nwhile time.process_time() < 0.5: pass"


def python(code: str, **options):
    return run_measured([sys.executable, "-c", code], **{"timeout": 30, **options})


def test_cpu_of_a_grandchild_counts_even_when_it_outlives_its_parent():
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN!r}])"
    measured = python(orphan, grace=30)
    assert measured.error is None
    assert measured.cpu_seconds >= 0.5
    assert measured.wall_seconds >= 0.5


def test_stragglers_are_ended(tmp_path):
    note = tmp_path / "pid"
    python(
        "import subprocess, sys, pathlib\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "child = subprocess.Popen(sleep, start_new_session=True)\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))",
        grace=0.1,
    )
    assert not Path(f"/proc/{note.read_text()}").exists()


def test_a_timeout_ends_the_tree_and_says_so():
    measured = python("import time; time.sleep(60)", timeout=0.3)
    assert measured.timed_out
    assert measured.error is not None
    assert "timed out" in measured.error


def test_failures_are_described():
    assert "exit code 1: out of luck" in python("raise SystemExit('out of luck')").error
    assert "signal 9" in python("import os; os.kill(os.getpid(), 9)").error
