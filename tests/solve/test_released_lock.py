"""A program that ends while other threads compute ends with its own exit code."""

import subprocess
import sys

ENDING = """
import threading, time, warnings
import hopbytes as hb

warnings.simplefilter("ignore")
graph, where = hb.read("stencil:60x60"), hb.allocate("node:4@10 core:4@1")

def compute():
    while True:
        hb.map_tasks(graph, where, "fast", partition=True, threads=2)
        started.set()

started = threading.Event()
for _ in range(4):
    threading.Thread(target=compute, daemon=True).start()
started.wait()
time.sleep({seconds})
raise SystemExit(7)
"""


def test_the_end_of_the_program_while_daemon_threads_compute():
    """Python ends such threads by unwinding their stacks, which aborted the process in every other run."""
    programs = [
        subprocess.Popen([sys.executable, "-c", ENDING.format(seconds=0.01 * number)], stderr=subprocess.PIPE)
        for number in range(4)
    ]
    try:
        ends = [(program.communicate(timeout=60)[1], program.returncode) for program in programs]
    finally:
        for program in programs:
            program.kill()
    assert ends == [(b"", 7)] * 4
