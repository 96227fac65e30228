"""The study of simulated programs: they check their results, and far ranks cost time."""

import shutil
import subprocess

import pytest

from bench import ROOT
from bench.studies import simulated_programs as programs

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None or shutil.which("smpicc") is None,
    reason="needs SimGrid's smpirun and smpicc (Debian: libsimgrid-dev)",
)
SMALL = "node:4@10:bw=1e8:lat=2e-6 core:2@1:bw=1e10:lat=3e-7"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the built programs."""
    place = tmp_path_factory.mktemp("programs")
    source = ROOT / "bench/studies/simulated_programs.c"
    subprocess.run(["smpicc", "-O1", "-o", str(place / "programs"), str(source), "-lm"], check=True)
    return place


def program(folder, *words):
    return programs.Program((str(folder / "programs"), *words))


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_programs_run_in_every_order(folder, monkeypatch, name):
    monkeypatch.setattr(programs, "ORDERS", ("in order", "eco", "routed"))
    times = programs.study(SMALL, 8, program(folder, name, "8", "10"), folder)
    assert times["routed"] is None
    assert 0 < times["eco"] <= 1.001 * times["in order"]
