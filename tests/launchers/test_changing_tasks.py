"""Tasks and ranks that move inside a running MPI program; needs mpi4py and an mpirun it was built for."""

import re
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.real_mpi import needs_mpi4py, run_ranks

pytestmark = [pytest.mark.launcher, needs_mpi4py]


def output_of(processes, *command):
    done = run_ranks(processes, sys.executable, *command)
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
