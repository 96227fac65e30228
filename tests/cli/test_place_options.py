"""Options about single tasks and unequal PEs: fixed and forbidden places, remapping, capacities."""

import json

import pytest

from helpers.paths import EXAMPLES

EXAMPLE = EXAMPLES / "lammps_lj_64.csv"
ON = ("--on", "node:8@10 package:2@3 core:4@1")


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_fixed_and_forbidden_files_are_kept(hopbytes, file):
    fixed, forbidden = file("fixed", "0 63\n5 7\n"), file("forbidden", "1-4 0-31\n")
    done = hopbytes("map", EXAMPLE, *ON, "--fixed", fixed, "--forbidden", forbidden, "--quiet", code=0)
    pe = [int(line) for line in done.stdout.split()]
    assert (pe[0], pe[5]) == (63, 7)
    assert min(pe[1:5]) >= 32
    assert sorted(pe) == list(range(64))


def test_a_migration_is_counted_and_priced(hopbytes, tmp_path):
    start = tmp_path / "now.txt"
    start.write_text("".join(f"{pe}\n" for pe in reversed(range(64))))
    done = hopbytes("map", EXAMPLE, *ON, "--initial", start, "--migration-price", 1000, "--json", code=0)
    record = json.loads(done.stdout)
    assert record["migration_cost"] == 1000 * record["migrations"]
    plain = hopbytes("map", EXAMPLE, *ON, "--initial", start, "--migration-price", 1000)
    assert f"{record['migrations']} of 64 tasks migrate" in plain.stderr
