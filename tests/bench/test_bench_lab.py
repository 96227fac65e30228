"""The laboratory: what is built of a machine, what its table says, and a small fabric with real processes."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from bench import ROOT, child
from bench.lab import hosts as laboratory
from bench.lab.fabric import FABRICS, fabric
from bench.lab.table import (
    accuracy,
    compared,
    results,
)
from bench.pages import kept
from hopbytes.simulation.links import node_links
from hopbytes.simulation.measured import MEASURED

LAB = [*child("bench.lab")]


@pytest.mark.parametrize("name", FABRICS)
def test_every_route_of_a_fabric_leads_from_host_to_host_by_the_links_of_the_model(name):
    built = fabric(FABRICS[name])
    links = node_links(built.where, None)
    ends = np.unique(links.endpoint_of_pe)
    assert len(built.routes) == built.hosts * (built.hosts - 1)
    for (a, b), route in built.routes.items():
        own = links.routes(ends[[a]].astype(np.int32), ends[[b]].astype(np.int32)).links.tolist()
        assert [built.links[link].number for link in route] == own
        stops = [a, *(built.links[link].head for link in route)]
        assert stops == [*(built.links[link].tail for link in route), b]
    for link in built.links:
        assert (link.bandwidth, link.latency) == (links.capacity[link.number], links.latency[link.number])
        assert (link.tail < built.hosts) == (link.tail in range(built.hosts))
    assert sorted(number for cable in built.cables() for number in cable if number is not None) == list(
        range(len(built.links))
    )


def test_verdicts_speak_of_the_rows_that_are_kept():
    """The table from which a verdict takes how often it was right is that of the measured rows."""
    others = compared(results(kept.rows("seconds")))
    for grade, name in (("flows", "flows"), ("waiting", "verdict"), ("replay", "trace")):
        found = accuracy(others, name)
        rounded = (found.cases, round(found.median_error, 2), round(found.nine_in_ten, 2), found.wrong)
        assert tuple(MEASURED[grade]) == rounded


def possible(*programs):
    """Skip where a laboratory cannot be, or a program is not installed."""
    refusal = laboratory.refusal()
    if isinstance(refusal, str):
        pytest.skip(refusal)
    for each in programs:
        if shutil.which(each) is None:
            pytest.skip(f"{each} is not installed")


@pytest.mark.launcher
@pytest.mark.xdist_group("laboratory")
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_small_fabric_runs_a_program_as_mapped_and_counts_its_bytes(tmp_path, mpi):
    """The links carry what the pattern says: its bytes, and little more for frames and the start."""
    possible("mpirun.openmpi", "mpicc.openmpi", "mpiexec.hydra", "mpicc.mpich")
    out = tmp_path / "rows.jsonl"
    words = [*LAB, "--fabrics", "small", "--programs", "halo2s", "--orders", "launcher", "eco", "recommended"]
    words += ["--repetitions", "1", "--mpi", mpi, "--out", str(out)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "frames took" not in done.stdout, done.stdout
    assert "small: 4 hosts, 12 links, 12 routes" in done.stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [each["order"].split(",")[0] for each in rows[:2]] == ["launcher", "eco"]
    assert {each["decision"] for each in rows} == {"change"}
    names = {link.name for link in fabric(FABRICS["small"]).links}
    for each in rows:
        assert set(each["link_bytes"]) == names
        left = sum(size for name, size in each["link_bytes"].items() if name.startswith("n"))
        payload = each["bytes_between_hosts"] * 9 / 8  # a step of the program is not timed and not recorded
        assert payload < left < 1.2 * payload + 500_000
        assert each["seconds"] > each["predicted"]["bound"] * 0.9
        assert {"bound", "flows", "replay", "trace", "waiting", "posted"} == set(each["predicted"])
    assert rows[1]["J"] < rows[0]["J"]


@pytest.mark.launcher
@pytest.mark.xdist_group("laboratory")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_laboratory_that_was_killed(how):
    possible()
    mark = f"LABORATORY_TEST={os.getpid()}.{how}"
    started = subprocess.Popen(
        [*LAB, "--check", "--fabrics", "small"], cwd=ROOT, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**os.environ, **dict([mark.split("=")])}, start_new_session=True,
    )  # fmt: skip
    try:
        assert waited(lambda: len(marked(mark)) > 8)  # hosts and routers
    finally:
        os.kill(started.pid, how)
    assert waited(lambda: not marked(mark))
    assert started.wait(10) != 0


def marked(mark):
    """Return the living processes that have a word in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def waited(done):
    """Wait for a minute at most until something is so; return whether it is."""
    end = time.monotonic() + 60
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    return done()
