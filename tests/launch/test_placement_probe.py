"""The probe as a process: how its launcher is ended."""

import signal
import subprocess
import sys
import time


def test_a_launcher_that_is_interrupted_is_ended_and_not_killed(tmp_path, monkeypatch):
    """A launcher that is killed at once leaves its daemon behind, as prterun once did."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "slow"
    waiting = "trap 'echo ended > ended; exit 1' TERM\n: > ready\nwhile :; do sleep 0.05; done"
    script.write_text(f"#!/bin/sh\n{waiting}\n")
    script.chmod(0o755)
    code = (
        "from hopbytes.launch.command import Start\n"
        "from hopbytes.launch.observed import probe\n"
        f"probe(Start(({str(script)!r},)))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (tmp_path / "ready").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    assert (tmp_path / "ended").read_text() == "ended\n"
