"""Tasks and ranks that move inside a running MPI program; needs mpi4py and an mpirun it was built for."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from several_hosts import ENVIRONMENT

from helpers.paths import ROOT

MPIRUN = os.path.join(os.path.dirname(sys.executable), "mpirun")
READY = find_spec("mpi4py") is not None and os.path.exists(MPIRUN)
pytestmark = [
    pytest.mark.launcher, pytest.mark.skipif(not READY, reason="needs mpi4py and an mpirun beside Python")
]


def output_of(processes, *command):
    words = [MPIRUN, "-n", str(processes), "--oversubscribe", "--bind-to", "none", sys.executable, *command]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_data_follow_their_tasks():
    program = Path(__file__).parent / "changing_program.py"
    assert len(re.findall(r"rank \d is content", output_of(4, str(program)))) == 4


def test_the_example_computes_the_same_with_and_without_moving_its_blocks():
    small = ("--side", "8", "--rounds", "3", "--steps", "1")
    example = str(ROOT / "examples/adaptive_heat.py")
    stay = output_of(3, example, *small)
    move = output_of(3, example, *small, "--remap")
    assert re.findall(r"heat \d+\.\d+", stay) == re.findall(r"heat \d+\.\d+", move) != []
    assert int(re.findall(r"blocks moved (\d+)", move)[0]) > 0
    busiest = [int(re.findall(r"busiest process (\d+)", text)[0]) for text in (stay, move)]
    assert busiest[1] <= busiest[0]
