"""Random runs: a few of them, and that whoever judges them sees what is wrong."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from drawn_runs import drawn
from judging import complaints
from program_runs import Program, command

PROGRAM = Path(__file__).with_name("random_runs.py")


def run_program(*arguments):
    return subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.slow
def test_some_runs_without_a_finding():
    done = run_program("--runs", "80", "--seed", "16")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[0] == "random runs: --runs 80 --seed 16"
    assert "80 done, 0 findings" in done.stdout.splitlines()[-1]


def test_a_run_that_takes_too_long_is_a_finding_that_can_be_repeated():
    done = run_program("--runs", "1", "--seed", "16", "--seconds", "0")
    assert done.returncode == 1
    assert "FINDING (hang): python tests/fuzz/random_runs.py --case 16000000" in done.stdout


def test_a_number_draws_the_same_run_again():
    assert drawn(16000003).said() == drawn(16000003).said()
    assert len({drawn(number).said() for number in range(16000000, 16000030)}) == 30


def found(wanted):
    """The first runs of a few hundred that are mapped as wanted, with their answers."""
    for number in range(16000000, 16000600):
        run = drawn(number)
        if wanted(run) and run.graph.n:
            try:
                mapping = run.map()
            except Exception:
                continue
            return run, mapping.pe.copy(), dict(mapping.info)
    raise AssertionError("no such run among those drawn")


def processes(run):
    return 4 <= run.graph.n <= run.place.where.k and run.graph.m > 3


def test_another_cost_is_seen():
    run, pe, info = found(processes)
    assert complaints(run, pe, info) == []
    said = complaints(run, pe, {**info, "comm_cost": info["comm_cost"] + 1})
    assert any("comm_cost" in each for each in said)


def test_another_answer_of_the_command_line_is_seen(tmp_path):
    run, _, _ = found(lambda run: processes(run) and command(run, tmp_path) is not None)
    mapping, program = run.map(), Program()
    try:
        assert program.complaints(run, mapping) == []
        assert "exit code 0" in program.complaints(run, ValueError("an error of map_tasks"))[0]
        run.options["seed"] = "none"
        assert "exit code" in program.complaints(run, mapping)[0]
    finally:
        program.close()


def test_two_tasks_on_one_pe_are_seen():
    run, pe, info = found(processes)
    pe[0] = pe[1]
    assert any("holds 2 tasks" in each for each in complaints(run, pe, info))


@pytest.mark.parametrize("weighted", [False, True])
def test_pes_beyond_their_caps_are_seen(weighted):
    run, pe, info = found(
        lambda run: run.options.get("partition") and run.graph.n >= 4 * run.place.where.k > 4
        and (run.graph.loads is not None and len(np.unique(run.graph.loads)) > 3) == weighted
        and not {"fixed", "forbidden", "initial"} & set(run.options) and run.options["imbalance"] < 1
    )
    pe[:] = 0
    said = complaints(run, pe, {**info, "balance": "met"})
    assert any("beyond their caps" in each for each in said)
    assert any("are empty" in each for each in said)


def test_a_pe_that_does_not_exist_is_seen():
    run, pe, info = found(processes)
    pe[0] = run.place.where.k
    assert len(complaints(run, pe, info)) == 1


def test_tasks_in_other_places_than_fixed_or_on_forbidden_ones_are_seen():
    run, pe, info = found(lambda run: run.options.get("fixed") and run.place.where.k > 1)
    task = next(iter(run.options["fixed"]))
    pe[task] = (pe[task] + 1) % run.place.where.k
    assert any("fixed" in each for each in complaints(run, pe, info))
    run, pe, info = found(lambda run: run.options.get("forbidden"))
    task, barred = run.options["forbidden"][0]
    pe[task] = barred
    assert any("forbidden" in each for each in complaints(run, pe, info))
