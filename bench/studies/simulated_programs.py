"""Simulated wall time of MPI programs under SimGrid's SMPI in several orders of ranks.

    python -m bench.studies.simulated_programs                   # 64 ranks: three machines, four programs
    python -m bench.studies.simulated_programs --ranks 256 --programs cg mesh
    python -m bench.studies.simulated_programs --waiting         # without computing, beside grade waiting
    python -m bench.studies.simulated_programs --seconds "Loop time of ([0-9.e-]+)" --command ./lmp -in in.lj

The programs are those of simulated_programs.c: small, but they compute, check their results and send real
data; they were written for this study, since the NAS benchmarks cannot be had from a package. Computing is
charged by operations at 4 Gflop/s a core, so that the same command gives the same times on every computer.
The pattern that is mapped is the trace of the run in order (smpirun -trace-ti); ranks are put on hosts by
the host file that hopbytes writes in format slurm. Needs smpirun and smpicc (Debian: libsimgrid-dev).

The last line runs another program, unmodified, that was compiled with smpicc or smpicxx. What it computes
takes no simulated time, so the times are those of its messages, in the order in which it sends them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hopbytes as hb
from bench import ROOT
from bench.rivals.needed import need
from hopbytes.simulation.simgrid import PLAIN

#: Ranks → name → machine: 100 Gbit/s cables; four nodes of the fat tree share one link upwards.
INSIDE = "@1:bw=1e10:lat=3e-7"
MACHINES = {
    64: {
        "cluster": f"node:8@10:bw=12.5e9:lat=1.2e-6 core:8{INSIDE}",
        "fat tree 4:1": "fattree:4x4:up=1x1:bw=12500000000:lat=3e-7 / core:4:bw=1e10:lat=3e-7",
        "torus": "torus:4x2x2:bw=12500000000:lat=3e-7 / core:4:bw=1e10:lat=3e-7",
    },
    256: {
        "cluster": f"node:16@10:bw=12.5e9:lat=1.2e-6 core:16{INSIDE}",
        "fat tree 4:1": "fattree:4x8:up=1x1:bw=12500000000:lat=3e-7 / core:8:bw=1e10:lat=3e-7",
        "torus": "torus:4x4x4:bw=12500000000:lat=3e-7 / core:4:bw=1e10:lat=3e-7",
    },
}
#: Name → side and steps.
PROGRAMS = {"cg": (24, 10), "mesh": (24, 10), "transpose": (32, 4), "sweep": (24, 2)}
ORDERS = ("in order", "random", "eco", "strong", "routed")
SPEED = 4e9
#: What the programs of simulated_programs.c print.
SECONDS = "^seconds ([0-9.]+)"


@dataclass(frozen=True)
class Program:
    """A program under SMPI.

    Parameters
    ----------
    words : tuple of str
        The program and its arguments.
    seconds : str
        A regular expression whose first group is the time that it prints.
    """

    words: tuple[str, ...]
    seconds: str = SECONDS


def mapped(graph: hb.CommGraph, where: hb.Allocation, order: str) -> hb.Mapping | None:
    """Return the mapping of one order; None for `routed` where there is no network."""
    if order == "in order":
        return hb.map_tasks(graph, hb.allocate(where, pack=True), "identity")
    if order == "random":
        return hb.map_tasks(graph, where, "random", seed=1)
    if order == "routed" and where.machine.network() is None:
        return None
    return hb.map_tasks(graph, where, order)


def run(folder: Path, program: Program, mapping: hb.Mapping, *options: str) -> float:
    """Return the simulated seconds of a program on the hosts of a mapping."""
    hb.write(mapping, folder / "hostfile", format="slurm", force=True)
    lines = (folder / "hostfile").read_text().splitlines(keepends=True)
    (folder / "hosts").write_text("".join(lines[1:]))  # smpirun takes the comment of the file for a host
    words = [
        "smpirun", "-np", str(mapping.n), "-platform", "machine.xml", "-hostfile", "hosts", *PLAIN,
        "--cfg=smpi/simulate-computation:no", "--log=root.thresh:error", *options, *program.words,
    ]  # fmt: skip
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
    found = re.search(program.seconds, done.stdout, re.MULTILINE)
    if done.returncode or found is None:
        raise SystemExit(f"{' '.join(words)}: {done.stdout[-1000:]}{done.stderr[:1000]}")
    return float(found[1])


#: The protocol of SMPI: data travel when the receive is posted, senders of up to 64 KiB do not wait; and the
#: collectives of Open MPI.
PROTOCOL = (
    "--cfg=smpi/async-small-thresh:0", "--cfg=smpi/send-is-detached-thresh:65536",
    "--cfg=smpi/coll-selector:ompi",
)  # fmt: skip
#: Speed of cores on which computing takes no time.
ENDLESS = 1e18


def beside_waiting(graph: hb.CommGraph, mapping: hb.Mapping, folder: Path, program: Program) -> float:
    """Return the time by grade waiting over that of SMPI, without the barrier before a program's clock."""
    barrier = folder / "barrier.ti"
    lines = (f"{rank} init\n{rank} barrier\n{rank} finalize\n" for rank in range(graph.n))
    barrier.write_text("".join(lines))
    began = time.process_time()
    whole = hb.simulate(graph, mapping, grade="waiting")
    used = time.process_time() - began
    before = hb.simulate(graph, mapping, grade="waiting", trace=barrier)
    assert whole.posted_seconds is not None
    assert before.posted_seconds is not None
    ratio = (whole.posted_seconds - before.posted_seconds) / run(folder, program, mapping, *PROTOCOL)
    print(f"  {program.words[1]}: grade waiting {ratio - 1:+.2%} in {used:.2f} CPU seconds", flush=True)
    return ratio


def study(
    spec: str, ranks: int, program: Program, folder: Path, *, waiting: bool = False
) -> dict[str, float | None]:
    """Return the simulated seconds of a program in every order on one machine."""
    speed = ENDLESS if waiting else SPEED
    nodes = int(hb.allocate(spec).node_of_pe[-1]) + 1
    where = hb.allocate(spec, hosts=f"n[0-{nodes - 1}]")
    ring = hb.read(f"stencil:{ranks}")
    first = hb.map_tasks(ring, hb.allocate(where, pack=True), "identity")
    hb.simulate(ring, first, grade="bound", platform=folder / "machine.xml", force=True)
    text = (folder / "machine.xml").read_text()
    (folder / "machine.xml").write_text(text.replace('speed="1000000000.0f"', f'speed="{speed!r}f"'))
    run(folder, program, first, "-trace-ti", "-trace-file", str(folder / "trace.ti"))
    traces = (folder / "trace.ti").read_text().split()  # one per rank; the reader finds the others
    graph = hb.read(traces[0], holds="pattern", collectives="binomial")
    times: dict[str, float | None] = {}
    for order in ORDERS:
        mapping = mapped(graph, where, order)
        options = PROTOCOL if waiting else ()
        times[order] = None if mapping is None else run(folder, program, mapping, *options)
        if mapping is not None and waiting:
            beside_waiting(graph, mapping, folder, program)
    return times


def programs(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Program]]:
    """Yield name and program of what is asked for; those of this study are compiled first."""
    if given.command:
        words = [str(Path(word).resolve()) if Path(word).is_file() else word for word in given.command]
        yield Path(words[0]).name, Program(tuple(words), given.seconds or SECONDS)
        return
    source = ROOT / "bench/studies/simulated_programs.c"
    subprocess.run(["smpicc", "-O2", "-o", str(folder / "programs"), str(source), "-lm"], check=True)
    for name in given.programs:
        yield name, Program((str(folder / "programs"), name, *map(str, PROGRAMS[name])))


def main() -> None:
    """Print one row per program and machine."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--ranks", type=int, default=64, choices=sorted(MACHINES))
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--machines", nargs="+")
    parser.add_argument("--waiting", action="store_true", help="beside grade waiting, without computing")
    parser.add_argument("--command", nargs=argparse.REMAINDER, help="another program and its arguments")
    parser.add_argument("--seconds", help="regular expression of the time that it prints")
    given = parser.parse_args()
    need("smpirun")
    need("smpicc")
    print(f"| ranks | program | machine | {' | '.join(ORDERS)} |\n|---|---|---|{'---|' * len(ORDERS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, program in programs(given, folder):
            for machine, spec in MACHINES[given.ranks].items():
                if given.machines and machine not in given.machines:
                    continue
                times = study(spec, given.ranks, program, folder, waiting=given.waiting)
                base = times["in order"] or 1.0
                row = [
                    "-" if each is None else f"{each * 1e3:.3f} ms ({each / base - 1:+.0%})"
                    for each in times.values()
                ]
                print(f"| {given.ranks} | {title} | {machine} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
