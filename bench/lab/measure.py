"""Cases of a program on a fabric: orders of ranks, what is predicted of them, and what is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import monotonic as now
from typing import Any

import hopbytes as hb
from bench.lab import papers
from bench.lab.fabric import FABRICS, fabric
from bench.lab.hosts import Hosts
from bench.lab.programs import PROGRAMS, Launcher, Program
from hopbytes.show.verdict import CHANGE, judged
from hopbytes.solve.waiting import map_by_waiting

#: Name → arguments of map_tasks; the first one is the launcher's own and is started without naming hosts. The
#: recommended one is what `hopbytes map` says, from the recording alone: its mapping, or the launcher's own.
ORDERS: dict[str, dict[str, Any]] = {
    "launcher": {"method": "identity"},
    "recommended": {},
    "random": {"method": "random", "seed": 1},
    "eco": {"method": "eco"},
    "strong": {"method": "strong"},
    "auto": {"method": "eco", "objective": "auto"},
}
#: Seconds for a run.
LIMIT = 120.0
Row = dict[str, Any]


def mappings(
    graph: hb.CommGraph, where: hb.Allocation, orders: list[str]
) -> tuple[dict[str, hb.Mapping], str]:
    """Return the mapping of each order, and the recommendation.

    Equal mappings have one entry, whose names are joined by a comma. The recommendation is ``"change"``,
    ``"keep"`` or ``"not decided"``, which keeps the launcher's own order too; "" if it is not asked for.
    """
    found: dict[tuple[int, ...], tuple[str, hb.Mapping]] = {}
    usual = hb.map_tasks(graph, hb.allocate(where, pack=True), **ORDERS["launcher"])
    decision = ""
    for order in orders:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hb.HopbytesWarning)  # which objective was chosen
            if order == "launcher":
                mapping = usual
            elif order == "recommended":
                mapping = map_by_waiting(hb.map_tasks, graph, where, "fill", threads=1)
                decision = str(judged(graph, mapping).decision)
                mapping = mapping if decision == CHANGE else usual
            else:
                mapping = hb.map_tasks(graph, where, threads=1, **(ORDERS | papers.ORDERS)[order])
        key = tuple(mapping.pe.tolist())
        found[key] = (f"{found[key][0]},{order}", found[key][1]) if key in found else (order, mapping)
    return dict(found.values()), decision


def recorded(
    launcher: Launcher, program: Program, ranks: int, folder: Path
) -> tuple[hb.CommGraph, hb.CommGraph]:
    """Record a program here, unless the folder has its recording; return its pattern and its trace."""
    words, environment = launcher.alone(ranks)
    pattern, trace = folder / "app.pattern", folder / "trace"
    command = [sys.executable, "-m", "hopbytes", "record", "-q", "--no-hosts", "-o", str(pattern)]
    command += ["--trace", str(trace), "--", *words, *launcher.words_of(program)]
    environment = {**os.environ, **environment, **program.environment}
    if not pattern.exists():
        program.prepare(folder)
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return hb.read(pattern), hb.read(trace / "trace0.txt", holds="pattern")


def predictions(pattern: hb.CommGraph, trace: hb.CommGraph, mapping: hb.Mapping) -> dict[str, float | str]:
    """Return the seconds that each grade predicts.

    ``trace`` is SimGrid's replay of the recorded order; ``waiting`` is ours with data that travel at once,
    ``posted`` with data that travel when their receive is posted.
    """
    found: dict[str, float | str] = {}
    for name in ("bound", "flows", "replay", "trace", "waiting"):
        try:
            graph, grade = (trace, "replay") if name == "trace" else (pattern, name)
            said = hb.simulate(graph, mapping, grade=grade, assume="none")
        except hb.HopbytesError as error:
            found[name] = str(error)
            continue
        found[name] = said.seconds
        if said.posted_seconds is not None:
            found["posted"] = said.posted_seconds
    return found


class Case:
    """A program in several orders on the hosts of a fabric."""

    def __init__(
        self, hosts: Hosts, launcher: Launcher, program: Program, orders: list[str], folder: Path
    ) -> None:
        self.hosts, self.launcher, self.program, self.folder = hosts, launcher, program, folder
        ranks, where = len(hosts.fabric.host_of_core), hosts.fabric.where
        recorder = launcher if launcher.mpi == "openmpi" else Launcher("openmpi", launcher.folder.parent)
        pattern, trace = recorded(recorder, program, ranks, folder)
        self.mappings, self.decision = mappings(pattern, where, orders)
        self.facts: dict[str, Row] = {}
        for order, mapping in self.mappings.items():
            load = hb.simulate(pattern, mapping, grade="bound", assume="none")
            self.facts[order] = {
                "J": hb.evaluate(pattern, mapping).comm_cost,
                "bytes_between_hosts": load.bytes_between_nodes * load.rounds,
                "predicted": predictions(pattern, trace, mapping),
            }

    def places(self, order: str) -> list[int]:
        """Return the host of every rank."""
        return [self.hosts.fabric.host_of_core[pe] for pe in self.mappings[order].pe.tolist()]

    def check_places(self, order: str) -> None:
        """Start a program that prints its hosts, and compare them with the mapping."""
        if not self.program.own:
            self.run(order, PROGRAMS["cg"])

    def run(self, order: str, program: Program) -> Row:
        """Run a program once; return what was measured."""
        places, given = self.places(order), order.split(",")[0] != "launcher"
        words, environment = self.launcher.command(self.hosts, places if given else None)
        before, busy, began = self.hosts.sent(), _busy(), now()
        words = [*words, *self.launcher.words_of(program)]
        marks, environment = (program.seconds, program.begins), environment | program.environment
        seconds, printed, used = self.hosts.run(words, environment, self.folder, *marks, LIMIT)
        took, after, working = now() - began, self.hosts.sent(), _busy()
        named = [line.split()[1:] for line in printed.splitlines() if line.startswith("hosts ")]
        expected = [self.hosts.fabric.name(host) for host in places]
        if named and named[0] != expected:
            raise RuntimeError(f"order {order}: ranks ran on {named[0]}, expected {expected}")
        share = (working[0] - busy[0]) / max(1, working[1] - busy[1])
        counted = [now - then for then, now in zip(before, after, strict=True)]
        return {
            "seconds": seconds, "launch_seconds": round(took, 3), "cpu_seconds": round(used, 2),
            "cpu_busy": round(share, 3), "load": os.getloadavg()[0],
            "link_bytes": dict(zip((link.name for link in self.hosts.fabric.links), counted, strict=True)),
        }  # fmt: skip


def _busy() -> tuple[int, int]:
    """Return ticks that all processors of the computer have worked, and all ticks."""
    ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def measure(
    name: str, programs: list[str], mpis: list[str], orders: list[str], repetitions: int, recordings: Path
) -> Iterator[Row | str]:
    """Build a fabric and yield a row per run, or a line of text about what was found or left out."""
    with tempfile.TemporaryDirectory(prefix="hopbytes-lab-") as folder:
        began = now()
        hosts = Hosts(fabric(FABRICS.get(name, name)), Path(folder))
        try:
            built = now()
            wrong = list(hosts.check())
            yield from (f"{name}: {line}" for line in wrong)
            made = hosts.fabric
            facts = f"{made.hosts} hosts, {len(made.links)} links, {len(made.routes)} routes"
            yield f"{name}: {facts}; built in {built - began:.1f} s, checked in {now() - built:.1f} s"
            for mpi in mpis:
                launcher = Launcher(mpi, Path(folder))
                for title in programs:
                    own = recordings / f"{title}-{len(made.host_of_core)}"
                    own.mkdir(parents=True, exist_ok=True)
                    try:
                        program = PROGRAMS[title] if title in PROGRAMS else papers.program(title)
                        case = Case(hosts, launcher, program, orders, own)
                        for order in case.mappings:
                            case.check_places(order)
                    except (OSError, RuntimeError, subprocess.SubprocessError, hb.HopbytesError) as error:
                        yield f"{name}: {title}: {error}"
                        continue
                    head: Row = {
                        "fabric": name,
                        "spec": FABRICS.get(name, name),
                        "mpi": mpi,
                        "program": title,
                    }
                    head |= {"words": " ".join(program.words), "unlike_description": len(wrong)}
                    head |= {"decision": case.decision}
                    for repetition in range(repetitions):
                        for order in case.mappings:
                            row = head | {"order": order, "repetition": repetition} | case.facts[order]
                            try:
                                yield row | case.run(order, program)
                            except RuntimeError as error:
                                yield f"{name}: {title}: {order}: {error}"
        finally:
            hosts.close()


def write(rows: Iterator[Row | str], out: Path | None) -> None:
    """Print texts and the times of rows, and append rows to a file."""
    for row in rows:
        if isinstance(row, str):
            print(row, flush=True)
            continue
        text = " ".join(str(row[key]) for key in ("fabric", "mpi", "program", "order", "repetition"))
        used = f"{row['cpu_seconds']} CPU s, load {row['load']:.1f}"
        print(f"{text}: {row['seconds']:.3f} s, {used}", flush=True)
        if out is not None:
            with out.open("a") as stream:
                stream.write(json.dumps(row | {"hopbytes": hb.__version__}) + "\n")
