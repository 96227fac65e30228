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
from bench.lab.programs import Launcher, Program
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
    words += ["--repetitions", "1", "--mpi", mpi, "--out", str(out), "--recordings", str(tmp_path / "kept")]
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
        payload = each["bytes_between_hosts"] * 53 / 52  # a step of the program is not timed and not recorded
        assert payload < left < 1.2 * payload + 500_000
        assert each["seconds"] > each["predicted"]["bound"] * 0.9
        assert {"bound", "flows", "replay", "trace", "waiting", "posted"} == set(each["predicted"])
    assert rows[1]["J"] < rows[0]["J"]
    assert (tmp_path / "kept" / "halo2s-8" / "app.pattern").exists()


def test_a_program_is_prepared_from_an_example_own_files_and_tools(tmp_path):
    """Own files replace those of the example; tools see both, and the variables of the program."""
    (tmp_path / "example").mkdir()
    for name in ("a", "b"):
        (tmp_path / "example" / name).write_text(f"example {name}")
    (tmp_path / "tool").write_text("#!/bin/sh\ncat a b >made; echo $WANTED >>made\n")
    (tmp_path / "tool").chmod(0o755)
    made = Program(
        ("x",), files={"b": "own b"}, example=str(tmp_path / "example"),
        tools=(f"{tmp_path}/tool", "ln -s made also"), environment={"WANTED": "this"},
    )  # fmt: skip
    (tmp_path / "there").mkdir()
    made.prepare(tmp_path / "there")
    assert (tmp_path / "there" / "also").read_text() == "example aown bthis\n"


@pytest.mark.parametrize("end", ["", "; sleep 100"])
def test_the_time_of_a_program_that_prints_none_is_that_between_two_lines(tmp_path, monkeypatch, end):
    """A launcher that goes on after it is ended, with all that it started."""
    monkeypatch.setattr(laboratory, "PATIENCE", 0.1)
    known = laboratory.processes().keys() - {os.getpid()}
    words = ["sh", "-c", f"exec 9>mark; echo early; sleep 2; echo Time = 1; sleep 0.5; echo End{end}"]

    def own():
        return {
            int(path.name): 0.0
            for path in Path("/proc").glob("[0-9]*")
            if int(path.name) not in known and str(tmp_path / "mark") in opened(path)
        }

    monkeypatch.setattr(laboratory, "processes", own)
    seconds, text, _ = laboratory.Hosts.run(None, words, {}, tmp_path, "^End", "^Time = ", 30.0)
    assert 0.4 < seconds < 2
    assert text.splitlines() == ["early", "Time = 1", "End"]
    assert waited(lambda: not own())


def opened(process):
    """Return the files that a process has open."""
    try:
        return [os.readlink(each) for each in (process / "fd").iterdir()]
    except OSError:
        return []


@pytest.mark.launcher
@pytest.mark.parametrize("wanted", [True, False])
def test_a_program_ends_at_its_first_mpi_wtick_and_draws_the_same_if_that_is_wanted(tmp_path, wanted):
    possible("mpirun.openmpi", "mpicc.openmpi")
    started = Launcher("openmpi", tmp_path)
    calls = 'MPI_Init(0, 0); puts(time(0) < 1000 ? "same" : "now"); if (MPI_Wtick() > 0) puts("on");'
    heads = "".join(f"#include <{name}.h>\n" for name in ("mpi", "stdio", "time"))
    (tmp_path / "asks.c").write_text(f"{heads}int main(void) {{ {calls} MPI_Finalize(); }}\n")
    subprocess.run(["mpicc.openmpi", "asks.c", "-o", "asks"], cwd=tmp_path, check=True)
    words, environment = started.alone(2)
    asked = {"REPEATED_HPCC": "yes"} if wanted else {}
    done = subprocess.run(
        [*words, "./asks"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, **environment, **asked, "OMPI_MCA_btl_tcp_if_include": "lo"},
    )  # fmt: skip
    assert sorted(done.stdout.split()) == (["same"] * 2 if wanted else ["now"] * 2 + ["on"] * 2)


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
