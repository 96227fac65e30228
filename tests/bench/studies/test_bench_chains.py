"""Chains beside each other: which inputs are meant is said, or what to change."""

import functools
import sys

import pytest

from bench.instances import graphs
from bench.studies import chains


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Start the script with these arguments and a folder of its own for inputs."""
    monkeypatch.setattr(graphs, "prepare", functools.partial(graphs.prepare, folder=tmp_path))

    def start(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["chains.py", "--suite", "smoke", *arguments])
        chains.main()

    return start


def test_inputs_asked_for_have_a_line_each(run, capsys):
    asked = ("--instances", "del12,grid16", "--seeds", "1", "--on", "node:4@10 core:2@1")
    run("multisection", "multisection", *asked)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["  del12", "  grid16", "multisection"] * 2
    assert all("J " in line and " arcs, " in line and " CPU s;" in line for line in lines[:2])
    assert lines[5].startswith("multisection: J 1.0000, arcs 1.000, ")
    assert [line.partition(" arcs")[0] for line in lines[:2]] == [
        line.partition(" arcs")[0] for line in lines[3:5]
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--instances", "del12,nothing"], r"suite smoke has no nothing.*; known: del12, rgg12, grid16"),
        (["--instances", "del12", "--largest", "4000"], r"tasks beyond --largest 4000.*: del12 4096"),
        (["--largest", "1000"], r"tasks beyond --largest 1000.*: del12 4096, grid16 4096"),
    ],
)
def test_no_inputs_is_an_error_that_says_why(run, options, said):
    with pytest.raises(SystemExit, match=said):
        run("fast", *options)
