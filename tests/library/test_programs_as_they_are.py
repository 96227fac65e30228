"""Programs of Debian that call METIS, Scotch or PT-Scotch, each without a change."""

import math
import shutil

import pytest

import helpers.c_library  # noqa: F401 - skips where the library is not installed
from bench.studies import by_name

pytestmark = [
    pytest.mark.launcher,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc"),
]


@pytest.mark.parametrize("program", by_name.PROGRAMS, ids=lambda program: program.name)
def test_a_program_gets_blocks_with_less_between_nodes(program):
    missing = [each for each in program.needs if not by_name.installed(each)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    machine = program.machines[0]
    k = math.prod(int(each) for each in machine.split(":"))
    call, original = by_name.run(program, machine, False, times=1)
    other, ours = by_name.run(program, machine, True, times=1)
    assert (call.function, call.k, len(call.part)) == (other.function, k, len(other.part))
    assert (call.rows.tolist(), call.targets.tolist()) == (other.rows.tolist(), other.targets.tolist())
    n = len(other.part)
    assert ours["largest"] <= max(1 + program.allowance, math.ceil(n / k) * k / n) + 1e-4
    assert ours["node"] <= original["node"]
