"""Signals end the program whatever happens to their exceptions, or end a search; nothing is half-written."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, PROGRAM
from helpers.terminal import on_terminal

#: What may happen to an exception that arrives during READY.
HAPPENINGS = {
    "it arrives": "READY",
    "it is dropped": "try: READY\nexcept BaseException: pass\ntime.sleep(60)",
    "it is dropped twice": """
for place in range(2):
    try:
        if place == 0: READY
        time.sleep(60)
    except BaseException: pass
time.sleep(60)""",
    "nobody can catch it": "class Last:\n    def __del__(self): READY\nLast()\ntime.sleep(60)",
    "it is changed": "try: READY\nexcept BaseException as error: raise RuntimeError('changed') from error",
}
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


def ended_by(number, happening, last="pass"):
    """Run a program that the signal hits at READY, as a verb of hopbytes; return its end and what it says.

    `last` runs when the exit code is known, before the process ends.
    """
    happening = happening.replace("READY", "print('ready', flush=True); time.sleep(60)")
    lines = "\n".join(f"    {line}" for line in happening.splitlines())
    code = f"""
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which is ignored in jobs in the background
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which is ignored under nohup
import hopbytes.cli.app
app = sys.modules["hopbytes.cli.app"]
def last():
    {last}
app._forget_what_has_no_room = last
def command_of(name):
{lines}
app.command_of = command_of
sys.argv = ["hopbytes", "map"]
app.main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    return process.returncode, errors


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("happening", HAPPENINGS.values(), ids=HAPPENINGS)
def test_a_signal_ends_the_program_whatever_happens_to_its_exception(number, happening):
    if number == signal.SIGINT:
        assert ended_by(number, happening) == (130, "hopbytes: interrupted\n")
    else:
        assert ended_by(number, happening) == (-number, "")


@pytest.mark.parametrize("happening", HAPPENINGS.values(), ids=HAPPENINGS)
@pytest.mark.parametrize("last", ["time.sleep(0.1)", "signal.raise_signal(signal.SIGINT); time.sleep(0.1)"])
def test_ctrl_c_that_was_handled_comes_not_again_while_the_program_ends(happening, last):
    running = "import threading; threading.Thread(target=time.sleep, args=[9], daemon=True).start()"
    happening = f"{running}\n{happening}"
    assert ended_by(signal.SIGINT, happening, last) == (130, "hopbytes: interrupted\n")


def test_a_second_signal_while_the_first_becomes_a_message_leaves_no_traceback():
    code, said = ended_by(signal.SIGINT, AT_THE_MESSAGE.format(number="SIGINT"))
    assert (code, set(said.splitlines())) == (130, {"hopbytes: interrupted"})
    code, said = ended_by(signal.SIGINT, AT_THE_MESSAGE.format(number="SIGTERM"))
    assert (code, said) == (-signal.SIGTERM, "")


#: Another signal comes where an exception is caught, before anything could be done about it.
AT_THE_MESSAGE = """
def interrupting(): signal.raise_signal(signal.{number})
app.handled = interrupting
READY"""


def test_a_defect_is_still_shown():
    code = "import sys, hopbytes.cli.app\napp = sys.modules['hopbytes.cli.app']\n"
    code += "app.command_of = lambda name: 1 // 0\nsys.argv = ['hopbytes', 'map']\napp.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


EARLY = """
import os, signal, sys
signal.signal(signal.SIGINT, {handler})
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from hopbytes.cli import main
sys.argv = ["hopbytes", "--version"]
main()
"""


def interrupted_while_loading(handler):
    code = EARLY.format(handler=handler)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_traceback():
    done = interrupted_while_loading("signal.default_int_handler")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "hopbytes: interrupted\n")


def test_ctrl_c_that_is_ignored_remains_ignored_while_the_program_is_loaded():
    done = interrupted_while_loading("signal.SIG_IGN")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hopbytes ")


SIDE, SMALL_SIDE = 400, 120
#: Far more than the wait for a reply to Ctrl-C should ever be, also on a busy machine.
PATIENCE = 30.0


@pytest.fixture(scope="module")
def large_grid(tmp_path_factory):
    """A grid of 160 000 tasks: mapping it takes much longer than reacting to a signal."""
    return write_grid(tmp_path_factory.mktemp("large") / "grid.graph", SIDE)


def write_grid(path, side):
    """Write the four-neighbour grid of side x side tasks as a METIS file."""
    hb.write(hb.read(f"stencil:{side}x{side}"), path)
    return path


def long_map(folder, pattern):
    """Start a long run whose progress bar shows on its terminal."""
    words = ("map", pattern, "--hierarchy", "4:8:6:5", "--partition", "--preset", "strong", "-o", "out.txt")
    return on_terminal(*words, folder=folder, stdout=subprocess.PIPE, COLUMNS="100")


@pytest.mark.parametrize("whole_group", [False, True], ids=["process", "terminal"])
def test_interrupt_during_a_long_map(tmp_path, large_grid, whole_group):
    """A terminal's Ctrl-C goes to the whole process group, `kill -INT` to the program alone."""
    with long_map(tmp_path, large_grid) as run:
        run.until("━".encode())  # the bar of the progress display: mapping has begun
        if whole_group:
            os.killpg(run.process.pid, signal.SIGINT)
        else:
            run.process.send_signal(signal.SIGINT)
        stdout, _ = run.process.communicate(timeout=PATIENCE)
        shown = run.until(b"interrupted")
    assert (run.process.returncode, stdout) == (130, b"")
    assert b"Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_search_with_a_limit_that_is_stopped_writes_its_best(hopbytes, tmp_path, number):
    grid = write_grid(tmp_path / "grid.graph", SMALL_SIDE)
    where = ("--hierarchy", "4:4", "--distance", "1:10")
    limited = ("--partition", "--preset", "best", "--time-limit", "600", "-o", "out.txt")
    words = ("map", grid, *where, *limited)
    with on_terminal(*words, folder=tmp_path, stdout=subprocess.PIPE, COLUMNS="200") as run:
        run.until(b"evolve")  # so there is a mapping
        run.process.send_signal(number)
        run.process.communicate(timeout=PATIENCE)
        run.until(b"stopped early: this is the best mapping found until then")
    assert run.process.returncode == 0
    hopbytes("eval", grid, tmp_path / "out.txt", *where, "--json", code=0)


def test_no_progress_bar_without_a_terminal(hopbytes, tmp_path):
    """The talk of a run in a batch job is plain text, however long it takes."""
    grid = write_grid(tmp_path / "grid.graph", SMALL_SIDE)
    done = hopbytes("map", grid, "--hierarchy", "4:4", "--partition", "--preset", "strong", "-o", "out.txt")
    assert done.returncode == 0, done.stderr
    assert "━" not in done.stderr
    assert "\x1b" not in done.stderr


def test_a_closed_pipe_is_no_error_message(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [PROGRAM, "write", EXAMPLES / "lammps_lj_64.csv", "-o", "-", "--format", "edges"],
        stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, timeout=60,
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def processes_of_session(session):
    """Return the living processes of a session (zombies of a finished one do not count)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry))
    return found


def test_interrupts_at_random_moments(tmp_path):
    chosen = random.Random(5)
    words = ["map", "stencil:60x60", "--on", "node:8@10 core:8@1", "--preset", "strong", "-o", "x.txt"]
    for _ in range(12):
        process = subprocess.Popen(
            [PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=tmp_path, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        time.sleep(0.15 + chosen.expovariate(2))
        process.send_signal(signal.SIGINT)
        if chosen.random() < 0.5:
            time.sleep(chosen.uniform(0, 0.02))
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        (tmp_path / "x.txt").unlink(missing_ok=True)
        if "hopbytes/cli" not in said and process.returncode == -signal.SIGINT:
            continue  # on a busy computer Python has not read the first line of hopbytes yet
        assert process.returncode in (0, 130), said
        assert "Traceback" not in said
        assert process.returncode == 0 or "hopbytes: interrupted" in said


def test_no_worker_survives_an_interrupt(tmp_path, large_grid):
    with long_map(tmp_path, large_grid) as run:
        run.until("━".encode())
        run.process.send_signal(signal.SIGINT)
        run.process.communicate(timeout=PATIENCE)
        limit = time.monotonic() + PATIENCE
        while members := processes_of_session(run.process.pid):
            assert time.monotonic() < limit, members
            time.sleep(0.05)
