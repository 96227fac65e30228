"""How long small commands take as whole processes: median and range of several runs.

    python -m bench.studies.startup
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from bench import ROOT
from bench.rivals.measure import run_measured

RUNS = 11
HOPBYTES = str(Path(sys.executable).parent / "hopbytes")
EXAMPLE = str(ROOT / "examples" / "lammps_lj_64.csv")


def commands(folder: str) -> dict[str, list[str]]:
    """Return what is timed: a name for people and the command."""
    machine = "node:8@10 package:2@3 core:4@1"
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "hopbytes --help": [HOPBYTES, "--help"],
        "map of the 64-rank example": [
            HOPBYTES, "map", EXAMPLE, "--on", machine,
            "-o", str(Path(folder, "rankfile")), "--format", "openmpi", "--force",
        ],
    }


def main() -> None:
    """Time every command, the first run (cold files) left out."""
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(folder).items():
            measured = [run_measured(command, timeout=60) for _ in range(RUNS + 1)][1:]
            failed = next((run.error for run in measured if run.error), None)
            if failed:
                print(f"{name:28} FAILED: {failed.strip().splitlines()[-1]}")
                continue
            walls = [run.wall_seconds for run in measured]
            other = sum(run.other_cpu_seconds for run in measured) / sum(walls)
            print(
                f"{name:28} median {statistics.median(walls):.3f} s ({min(walls):.3f} to {max(walls):.3f}), "
                f"rest of the machine used {other:.2f} cores"
            )


if __name__ == "__main__":
    main()
