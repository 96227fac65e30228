"""The study of many threads: one run of everything, and what it refuses."""

import sys

import pytest

import hopbytes as hb
from bench.studies import many_threads


def started(monkeypatch, *arguments):
    """Run the study with arguments."""
    monkeypatch.setattr(sys, "argv", ["many_threads", *map(str, arguments)])
    many_threads.main()


def test_mappings_that_depend_on_the_number_of_threads_are_named(tmp_path, monkeypatch):
    hb.write(hb.read("stencil:8x8"), tmp_path / "small.graph")
    exact = many_threads.of_preset

    def faulty(path, preset, seed, threads, machine):
        found, pe = exact(path, preset, seed, threads, machine)
        return found, pe[::-1] if threads > 1 else pe

    monkeypatch.setattr(many_threads, "of_preset", faulty)
    with pytest.raises(SystemExit, match="depend on the number of threads: small turbo, seed 1"):
        started(monkeypatch, tmp_path, "--tools", "turbo", "--threads", "1,2")
