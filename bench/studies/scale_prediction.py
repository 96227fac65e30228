"""Time and memory of 10^6 PEs on 10^9 edges, predicted from small graphs, and how far that is wrong.

    python -m bench.studies.scale_prediction --out scale.jsonl
    python -m bench.studies.scale_prediction --out scale.jsonl --held-out

Every row is a process of its own with one thread: processor seconds of mapping, without reading, and its
peak memory. Measured are random geometric graphs and cubes of 2^14 to 2^18 vertices with 256 vertices per PE,
about as many as in the case that is predicted, and 2^16 vertices on machines of other levels. Fitted by least
squares of relative errors are seconds = m (a + b log2 k) for every family and bytes = u m + v n + w for all.
--held-out measures graphs of 2^20 vertices, which the fit does not see, and prints what was predicted beside
what was measured. The program goes on where a file of rows ends.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

#: Vertices per PE.
PER_PE = 256
#: Other machines with 256 PEs, by name.
MACHINES = {
    "1 level": "core:256@1",
    "6 levels": "pod:2@500 island:4@100 rack:2@50 node:4@10 package:2@4 core:2@1",
}
FIT = [14, 15, 16, 17, 18]
HELD_OUT = 20
#: What is predicted: edges, and PEs.
EDGES, PES = 10**9, 10**6
LIMIT = 1500
PROGRAM = """
import json, resource, sys, time, warnings
import numpy as np
import hopbytes as hb
from hopbytes.mpi.distributed.files import generated_slab
warnings.simplefilter("ignore")
spec, machine, preset = sys.argv[1:]
slab = generated_slab(spec, 0, 1)
graph = hb.CommGraph(slab.indptr, slab.targets.astype(np.int32), undirected=True)
where = hb.allocate(machine)
del slab
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
began = time.process_time()
found = hb.map_tasks(graph, where, preset, partition=True, threads=1)
seconds = time.process_time() - began
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
said = {"n": graph.n, "m": graph.m, "k": where.k, "seconds": seconds, "peak": peak * 1024}
print(json.dumps(said))
"""


def spec_of(family: str, exponent: int) -> str:
    """Return the generator's word for a graph of about 2^exponent vertices."""
    if family == "geometric":
        return f"geometric:{2**exponent}"
    side = round(2 ** (exponent / 3))
    return f"grid:{side}x{side}x{side}"


def machine_of(exponent: int, name: str) -> str:
    """Return the machine for a graph of about 2^exponent vertices."""
    return MACHINES.get(name) or f"island:{2**exponent // PER_PE // 32}@100 node:8@10 core:4@1"


def wanted(preset: str, *, held_out: bool) -> list[tuple[str, int, str, str]]:
    """Return family, exponent, machine and preset of every row."""
    families = ("geometric", "cube")
    if held_out:
        return [(family, HELD_OUT, "3 levels", preset) for family in families]
    rows = [(family, exponent, "3 levels", preset) for family in families for exponent in FIT]
    return rows + [("geometric", 16, machine, preset) for machine in MACHINES]


def measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows that are there and those that are missing."""
    path = options.out
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["family"], row["exponent"], row["machine"], row["preset"]) for row in rows}
    for held_out in (False, True)[: 1 + options.held_out]:
        for preset in options.presets:
            for family, exponent, machine, _ in wanted(preset, held_out=held_out):
                if (family, exponent, machine, preset) in done:
                    continue
                words = [sys.executable, "-c", PROGRAM, spec_of(family, exponent)]
                words += [machine_of(exponent, machine), preset]
                said = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True).stdout
                which = {"family": family, "exponent": exponent, "machine": machine, "preset": preset}
                rows.append({**which, **json.loads(said)})
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    return rows


class Fit:
    """What is fitted to the rows of a preset; see the head of this file."""

    def __init__(self, rows: list[dict[str, Any]], preset: str) -> None:
        rows = [row for row in rows if row["preset"] == preset and row["machine"] == "3 levels"]
        rows = [row for row in rows if row["exponent"] != HELD_OUT]
        self.time = {}
        for family in {row["family"] for row in rows}:
            own = [row for row in rows if row["family"] == family]
            self.time[family] = relative_fit(
                [[row["m"], row["m"] * np.log2(row["k"])] for row in own], [row["seconds"] for row in own]
            )
        self.memory = relative_fit([[row["m"], row["n"], 1.0] for row in rows], [row["peak"] for row in rows])

    def seconds(self, family: str, m: float, k: float) -> float:
        """Return processor seconds of a graph with m arcs."""
        return float(self.time[family] @ [m, m * np.log2(k)])

    def peak(self, m: float, n: float) -> float:
        """Return bytes."""
        return float(self.memory @ [m, n, 1.0])


def relative_fit(table: list[list[float]], values: list[float]) -> Any:
    """Return the factors >= 0 of the columns of a table with the least squares of relative errors."""
    from scipy.optimize import nnls

    scaled = np.array(table, float) / np.array(values, float)[:, None]
    size = np.abs(scaled).max(axis=0)
    return nnls(scaled / size, np.ones(len(values)))[0] / size


def show(rows: list[dict[str, Any]], presets: list[str]) -> None:
    """Print what was measured, the slopes, and what is predicted."""
    print("| family | vertices | PEs | machine | preset | s | us per arc | MiB | bytes per arc |")
    print("|---" * 9 + "|")
    for row in rows:
        print(
            f"| {row['family']} | 2^{row['exponent']} | {row['k']} | {row['machine']} | {row['preset']} "
            f"| {row['seconds']:.2f} | {1e6 * row['seconds'] / row['m']:.2f} | {row['peak'] / 2**20:.0f} "
            f"| {row['peak'] / row['m']:.0f} |"
        )
    for preset in presets:
        show_fit(rows, preset)


def show_fit(rows: list[dict[str, Any]], preset: str) -> None:
    """Print the slopes of a preset, its error on graphs that were not fitted, and what it predicts."""
    fit = Fit(rows, preset)
    u, v, rest = fit.memory
    print(f"\n{preset}: bytes = {u:.0f} m + {v:.0f} n + {rest / 2**20:.0f} MiB")
    for family, (a, b) in sorted(fit.time.items()):
        print(f"  {family}: microseconds per arc = {1e6 * a:.2f} + {1e6 * b:.3f} log2 k")
    for row in (each for each in rows if each["exponent"] == HELD_OUT and each["preset"] == preset):
        seconds = fit.seconds(row["family"], row["m"], row["k"])
        peak = fit.peak(row["m"], row["n"])
        print(
            f"  2^{HELD_OUT} {row['family']} on {row['k']}: predicted {seconds:.1f} s, measured "
            f"{row['seconds']:.1f} ({seconds / row['seconds']:.2f}); predicted {peak / 2**20:.0f} MiB, "
            f"measured {row['peak'] / 2**20:.0f} ({peak / row['peak']:.2f})"
        )
    for family in ("geometric", "cube"):
        largest = max((row for row in rows if row["family"] == family), key=lambda row: row["m"])
        m, n = 2 * EDGES, 2 * EDGES * largest["n"] / largest["m"]
        print(
            f"  10^9 edges, 10^6 PEs, {family}: {fit.seconds(family, m, PES) / 3600:.1f} h of one core, "
            f"{fit.peak(m, n) / 2**30:.0f} GiB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--presets", nargs="*", default=["turbo"])
    parser.add_argument("--held-out", action="store_true", help="measure the graphs that are predicted, too")
    options = parser.parse_args()
    show(measured(options), options.presets)


if __name__ == "__main__":
    main()
