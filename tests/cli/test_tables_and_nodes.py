"""What people see first: tables that fit, sizes with units, ranks per node; JSON has exact numbers."""

import json
import os
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, PROGRAM
from helpers.terminal import on_terminal
from hopbytes.show.describe import ranks_per_node

PATTERN = EXAMPLES / "halo_96.pattern"
ON = ("--on", "node:8@10 package:2@3 core:6@1", "--hosts", "n[1-8]")


def output_with(columns, *arguments):
    """Return what the program prints into a pipe when COLUMNS says so."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if columns is not None:
        environment["COLUMNS"] = str(columns)
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60, env=environment,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def table_of(text):
    """Return the lines behind the verdict."""
    return text.partition("\n\n")[2].splitlines()


@pytest.mark.parametrize(("columns", "widest"), [(None, 80), (80, 80), (120, 120)])
@pytest.mark.parametrize("complete", [False, True])
def test_tables_fit_in_pipes_too(columns, widest, complete):
    text = output_with(columns, "eval", PATTERN, *ON, "--order", "cyclic", *["--all"] * complete)
    assert max(map(len, table_of(text))) <= widest
    assert ("random, mean" in text) == complete
    assert ("random, range" in text) == (complete and widest == 120)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "placed.json"
    output_with(80, "map", PATTERN, *ON, "-o", path, "--quiet")
    return path


def test_show_tells_the_ranks_of_each_node(stored):
    text = output_with(80, "show", stored)
    mapping = hb.read(stored)
    for node, host in enumerate(mapping.where.hosts):
        line = next(line for line in text.splitlines() if line.startswith(f"{host}: ranks "))
        found = []
        for part in line.split()[2].split(","):
            low, _, high = part.partition("-")
            found += range(int(low), int(high or low) + 1)
        assert found == np.flatnonzero(mapping.where.node_of_pe[mapping.pe] == node).tolist()
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_gets_a_line_per_node_and_is_told_how_to_write():
    with on_terminal("map", PATTERN, *ON, "--preset", "fast", "-q") as run:
        lines = run.rest().decode().split("\r\n")
    assert run.process.returncode == 0
    assert [line.split(":")[0] for line in lines[:8]] == [f"n{number}" for number in range(1, 9)]
    assert any("-o FILE" in line for line in lines)


def test_compare_sets_two_mappings_side_by_side(stored, tmp_path):
    other = tmp_path / "order.json"
    output_with(80, "map", PATTERN, *ON, "-o", other, "--mapper", "identity", "--quiet")
    facts = json.loads(output_with(80, "eval", PATTERN, stored, other, "--json"))
    graph, mappings = hb.read(PATTERN), [hb.read(path) for path in (stored, other)]
    for name, mapping in zip(("mapping", "other"), mappings, strict=True):
        assert facts[name]["comm_cost"] == hb.evaluate(graph, mapping).mapping.comm_cost
    assert facts["tasks_on_another_pe"] == np.count_nonzero(mappings[0].pe != mappings[1].pe)
    lines = output_with(80, "eval", PATTERN, stored, other, stored, "--json").splitlines()
    assert [json.loads(line)["tasks_on_another_pe"] for line in lines] == [facts["tasks_on_another_pe"], 0]
    text = output_with(80, "eval", PATTERN, stored, other)
    assert f"{facts['other']['comm_cost']:,}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_long_lists_of_ranks_are_cut_and_counted():
    where = hb.allocate("node:2 core:64")
    scattered = hb.Mapping(np.arange(128, dtype=np.int32).reshape(2, 64).T.reshape(-1).copy(), where)
    lines = ranks_per_node(scattered, 60)
    assert len(lines) == 2
    assert all(len(line) <= 60 and line.endswith("(64 in all)") for line in lines)
