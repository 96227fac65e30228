"""A second interpreter inside one process, where calls of the core would wait for ever."""

import subprocess
import sys

import pytest

INSIDE = """
try:
    import hopbytes as hb
    hb.map_tasks("stencil:4x4", "node:4 core:4")
except ImportError as error:
    print(error, flush=True)
"""
OUTSIDE = f"""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
interpreters.run_string(interpreters.create(), {INSIDE!r})
"""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="interpreters of CPython")
def test_a_sub_interpreter_is_refused_in_one_line():
    """If the main one has imported NumPy before, NumPy itself refuses to be loaded once more."""
    command = [sys.executable, "-W", "ignore", "-c", OUTSIDE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said = "hopbytes does not run in a sub-interpreter of Python: start a process instead\n"
    assert (done.returncode, done.stdout) == (0, said), done.stderr
