"""A launch from the command to its end: what is said about its check, and about a silent launcher."""

from __future__ import annotations

import pytest

from helpers.paths import executable
from helpers.placements import place
from hopbytes.launch import launch as launching
from hopbytes.launch.launch import Outcome
from hopbytes.launch.observed import Verdict
from hopbytes.launch.start import checked_command


@pytest.fixture(autouse=True)
def launchers(tmp_path, monkeypatch):
    """Programs that only say who they are."""
    for name, version in (("mpirun", "5.0.3"), ("mpirun4", "4.1.4")):
        executable(tmp_path / name, f"#!/bin/sh\necho 'mpirun (Open MPI) {version}'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_a_check_says_that_it_passed_and_a_silent_launcher_is_explained(tmp_path, monkeypatch):
    mapping = place("node:2@10 core:2@1", [3, 0], hosts=("a", "b"))
    passed = Outcome(Verdict((), ("hosts", "CPUs")), 2, "", 0)
    monkeypatch.setattr(launching, "verify_launch", lambda *words, **options: passed)
    monkeypatch.setattr(launching, "run_through", lambda words, environment: 1)
    said = []
    for name in ("mpirun4", "mpirun"):
        command = checked_command([name, "-n", "2", "./app"], 2)
        options = {"check": True, "force": True, "say": lambda *lines: said.extend(lines)}
        assert launching.launch(mapping, command, str(tmp_path / "p"), **options) == 1
    assert said.count("verified: 2 ranks are where they belong; compared: hosts, CPUs") == 2
    assert [text for text in said if "a core that its host does not have" in text] == [
        "mpirun4 ended with code 1; if it printed nothing: Open MPI 4 ends without a message if a rank file "
        "names a core that its host does not have"
    ]
