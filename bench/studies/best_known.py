"""The best mapping anybody found for chosen instances in half an hour or more, kept and verified.

    python -m bench.studies.best_known [--seed 1] [--time-limit 1800] [--every 8] [--tool hopbytes:best]
    python -m bench.studies.best_known --offer del17 MAPPING --of "tool:preset, seed 3, 1800 s"
    python -m bench.studies.best_known --check

One line of bench/results/best_known.jsonl per instance and machine: J, who found it, and every attempt that
was made. The mapping itself is in bench/results/best_known/, one number per task, compressed. A new mapping
takes the place of another only where its J is lower and no PE is over the bound, both by the judge. ``best``
gets the time limit; any other preset, ours or SharedMap's, one seed after the other until the time is up. An
attempt that is on record is not repeated; SIGTERM ends the present one early and keeps what it found. Several
may run at once (``--instances`` chooses).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import lzma
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.evaluate import evaluate
from bench.instances import graphs
from bench.instances.suites import SUITES
from bench.rivals.tools import TOOLS, Task

DISTANCE = (1, 10, 100)
IMBALANCE = 0.03
Row = dict[str, Any]
Place = NDArray[np.int64]


class Stopped(Exception):  # noqa: N818 (no error: somebody asked)
    """The script was asked to end."""


class Store:
    """The lines and mappings of a folder; whoever changes them holds its lock."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self._folder, self._lines = folder / "best_known", folder / "best_known.jsonl"

    def rows(self) -> dict[str, Row]:
        """All rows by instance and machine."""
        if not self._lines.exists():
            return {}
        rows = [json.loads(line) for line in self._lines.read_text().splitlines()]
        return {key(row["instance"], row["hierarchy"]): row for row in rows}

    def mapping(self, row: Row) -> Place:
        """int64[n]: the mapping of a row."""
        packed = lzma.decompress((self._folder / row["mapping"]).read_bytes())
        return np.frombuffer(packed, row["dtype"]).astype(np.int64)

    def offer(self, prepared: graphs.Prepared, hierarchy: tuple[int, ...], pe: Place, attempt: Row) -> Row:
        """Record an attempt; keep its mapping where it is the best. Return the row."""
        judged = evaluate(prepared.arrays(), pe, hierarchy, DISTANCE, IMBALANCE)
        attempt = {**attempt, "comm_cost": judged["comm_cost"], "over_bound": judged["over_rounded_down"]}
        with self._locked():
            rows = self.rows()
            name = key(prepared.name, colons(hierarchy))
            row = rows.get(name) or {
                "instance": prepared.name, "family": prepared.family, "input_hash": prepared.digest,
                "hierarchy": colons(hierarchy), "distance": colons(DISTANCE), "imbalance": IMBALANCE,
                "comm_cost": None, "found_by": None, "mapping": None, "dtype": None, "attempts": [],
            }  # fmt: skip
            row["attempts"].append(attempt)
            lower = row["comm_cost"] is None or attempt["comm_cost"] < row["comm_cost"]
            if lower and not attempt["over_bound"]:
                width = "<u1" if int(np.prod(hierarchy)) <= 256 else "<u4"
                row.update(
                    comm_cost=attempt["comm_cost"], found_by=attempt["by"], dtype=width,
                    mapping=f"{prepared.name}.{colons(hierarchy).replace(':', '-')}.xz",
                )
                self._folder.mkdir(exist_ok=True)
                packed = lzma.compress(pe.astype(width).tobytes(), preset=9)
                replace(self._folder / row["mapping"], packed)
            rows[name] = row
            text = "".join(json.dumps(rows[each]) + "\n" for each in sorted(rows))
            replace(self._lines, text.encode())
        return row

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        folder = os.open(self._folder.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def replace(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all."""
    partial = path.with_name(path.name + f".{os.getpid()}")
    partial.write_bytes(data)
    os.replace(partial, path)


def colons(numbers: tuple[int, ...]) -> str:
    """``4:8:6``."""
    return ":".join(map(str, numbers))


def key(instance: str, hierarchy: str) -> str:
    """What a row is found by."""
    return f"{instance} {hierarchy}"


def attempted(row: Row | None, attempt: Row) -> bool:
    """Whether such an attempt is on record, complete, with as much time or more."""
    same = ("tool", "seed", "versions")
    return any(
        all(other.get(name) == attempt[name] for name in same) and other["seconds"] >= 0.98 * attempt["limit"]
        for other in (row["attempts"] if row else [])
    )


def search(prepared: graphs.Prepared, options: argparse.Namespace, store: Store) -> None:
    """Make one attempt, unless it is on record."""
    tool, _, preset = options.tool.partition(":")
    attempt: Row = {
        "by": options.tool, "tool": options.tool, "seed": options.seed, "threads": options.threads,
        "limit": options.time_limit, "versions": TOOLS[tool].versions(),
    }  # fmt: skip
    name = key(prepared.name, colons(options.hierarchy))
    if attempted(store.rows().get(name), attempt):
        return
    best: Place | None = None
    lowest, seed, stopped = 0, options.seed, False
    began, cpu_before = time.monotonic(), children_cpu()
    while not stopped and (best is None or time.monotonic() < began + options.time_limit):
        task = Task(prepared.path, options.hierarchy, DISTANCE, preset, seed, options.threads, IMBALANCE)
        pe, stopped = answer(tool, task, options.time_limit if options.tool == "hopbytes:best" else None)
        seed += 1
        if pe is not None:
            judged = evaluate(prepared.arrays(), pe, options.hierarchy, DISTANCE, IMBALANCE)
            if not judged["over_rounded_down"] and (best is None or int(judged["comm_cost"]) < lowest):  # type: ignore[call-overload]
                best, lowest = pe, int(judged["comm_cost"])  # type: ignore[call-overload]
    if best is None:
        raise Stopped
    attempt.update(
        seconds=round(time.monotonic() - began, 1), cpu_seconds=round(children_cpu() - cpu_before, 1),
        when=time.strftime("%Y-%m-%d"), seeds=seed - options.seed,
    )
    row = store.offer(prepared, options.hierarchy, best, attempt)
    made = row["attempts"][-1]
    text = f"{name}: {made['comm_cost']} by {made['by']}, best known {row['comm_cost']}"
    print(text, file=sys.stderr, flush=True)
    if stopped:
        raise Stopped


def answer(tool: str, task: Task, limit: float | None) -> tuple[Place | None, bool]:
    """Run a tool; return its mapping, None when it left none, and whether it was stopped."""
    stopped = False
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "mapping")
        command = TOOLS[tool].command(task, out) + ([] if limit is None else ["--time-limit", f"{limit:g}"])
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )

        def stop(number: int, frame: object) -> None:
            nonlocal stopped
            stopped = True
            process.send_signal(signal.SIGINT)

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            said, complaint = process.communicate()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        try:
            return TOOLS[tool].answer(out, said.decode()).pe, stopped
        except (OSError, ValueError, IndexError):
            if not stopped:
                raise SystemExit(f"{task.graph}: {complaint.decode().strip()}") from None
            return None, True


def children_cpu() -> float:
    """CPU seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def check(store: Store, suite: str) -> int:
    """Judge every mapping that is kept again; return how many are not what their rows say."""
    wrong, made = 0, {instance.name: instance for instance in SUITES[suite]()}
    print("| instance | H | J | found by | seconds | CPU | attempts |\n|---|---|---|---|---|---|---|")
    for row in store.rows().values():
        prepared = graphs.prepare(made[row["instance"]])
        hierarchy = tuple(int(part) for part in row["hierarchy"].split(":"))
        judged = evaluate(prepared.arrays(), store.mapping(row), hierarchy, DISTANCE, row["imbalance"])
        right = judged["comm_cost"] == row["comm_cost"] and not judged["over_rounded_down"]
        wrong += not (right and prepared.digest == row["input_hash"])
        best = next(each for each in row["attempts"] if each["comm_cost"] == row["comm_cost"])
        print(
            f"| {row['instance']} | {row['hierarchy']} | {row['comm_cost']}"
            f" | `{row['found_by']}`, seed {best['seed']} | {best['seconds']:.0f} | {best['cpu_seconds']:.0f}"
            f" | {len(row['attempts'])} |"
        )
    print(f"{wrong} of {len(store.rows())} are not what their rows say")
    return wrong


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=sorted(SUITES), default="engine")
    parser.add_argument("--every", type=int, default=8, help="take every N-th instance of the suite")
    parser.add_argument("--instances", type=lambda text: text.split(","), help="these instead, by name")
    parser.add_argument("--hierarchy", type=lambda text: tuple(map(int, text.split(":"))), default=(4, 8, 6))
    parser.add_argument("--tool", default="hopbytes:best", help="tool:preset, of bench/rivals/tools.py")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=1800.0, help="seconds per instance")
    parser.add_argument(
        "--offer", nargs=2, metavar=("INSTANCE", "MAPPING"), help="a plain mapping made elsewhere"
    )
    parser.add_argument("--of", default="unknown", help="who made it")
    parser.add_argument("--check", action="store_true", help="judge all that are kept, print a table")
    return parser.parse_args()


def main() -> None:
    options, store = parse(), Store()
    suite = SUITES[options.suite]()
    if options.check:
        sys.exit(check(store, options.suite) > 0)
    wanted = [options.offer[0]] if options.offer else options.instances
    chosen = [each for each in suite if each.name in wanted] if wanted else suite[:: options.every]
    if said := TOOLS[options.tool.partition(":")[0]].absent():
        raise SystemExit(said)
    if options.offer:
        pe = np.loadtxt(options.offer[1], dtype=np.int64, ndmin=1)
        attempt = {"by": options.of, "tool": options.of, "seed": -1, "seconds": 0.0, "cpu_seconds": 0.0}
        print(store.offer(graphs.prepare(chosen[0]), options.hierarchy, pe, attempt)["comm_cost"])
        return
    for instance in chosen:
        try:
            search(graphs.prepare(instance), options, store)
        except Stopped:
            sys.exit(143)


if __name__ == "__main__":
    main()
