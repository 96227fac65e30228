"""Reports of three recorded applications on three machines: size, time to make, load time, axe's findings.

    python -m bench.studies.report_pages --out FOLDER          # needs chromium and the extra test

The pages stay in the folder. Mappings are by preset eco, on the torus for the busiest link. Load time: from
opening the file until all charts are drawn in Chromium without a window. axe-core looks at the page with all
parts open, light and dark.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import hopbytes as hb
from bench import ROOT
from bench.instances.graphs import shared_folder

sys.path.insert(0, str(ROOT / "tests"))

#: Title → recording, machine, hosts, objective.
CASES = {
    "LULESH, 1000 ranks, torus": (
        "graphs/mpi_lulesh_1000.graph.xz", "torus:8x4x4 / core:8", None, "max_congestion",
    ),
    "CloverLeaf, 1152 ranks, fat tree 4:1": (
        "graphs/mpi_CloverLeaf_1152.graph.xz", "fattree:12x12:up=1x3 / core:8", None, "comm_cost",
    ),
    "NPB SP class D, 1024 ranks, InfiniBand cluster of Avakas": (
        "samples/graphs/npb_sp_D_1024.topo", "ib:{}/samples/infiniband/avakas / core:8", "node[001-130]",
        "comm_cost",
    ),
}  # fmt: skip
SERIOUS = ("serious", "critical")


def made(title: str, shared: Path, path: Path) -> float:
    """Write the report of a case and return the seconds that took after mapping."""
    recording, machine, hosts, objective = CASES[title]
    graph = hb.read(str(shared / recording), holds="pattern")
    where = hb.allocate(machine.format(shared), hosts=hosts)
    mapping = hb.map_tasks(graph, where, "eco", objective=objective, partition=False)
    began = time.perf_counter()
    hb.write_report(graph, mapping, path, force=True)
    return time.perf_counter() - began


def looked_at(started: Any, path: Path, scheme: str) -> tuple[float, list[str], int, list[str]]:
    """Return load seconds, messages of the console, all findings of axe, and the serious ones by name."""
    from axe_playwright_python.sync_playwright import Axe

    from helpers.browser import shown_in

    shown = shown_in(started, color_scheme=scheme, bypass_csp=True)
    began = time.perf_counter()
    shown.open(path)
    took = time.perf_counter() - began
    shown.tab.screenshot(path=path.with_name(f"{path.stem}-{scheme}.png"), full_page=True)
    for details in shown.tab.locator("details").all():
        details.evaluate("element => element.open = true")
    found = Axe().run(shown.tab).response["violations"]
    shown.tab.close()
    return took, shown.messages, len(found), [one["id"] for one in found if one["impact"] in SERIOUS]


def main() -> None:
    """Print a row per report."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--out", type=Path, default=Path("reports"))
    given = parser.parse_args()
    from helpers.browser import browser

    graphs = shared_folder()
    if graphs is None:
        raise SystemExit("no folder of developers' samples (HOPBYTES_SHARED)")
    given.out.mkdir(parents=True, exist_ok=True)
    print("| report | MB | made in | loads in (light, dark) | console | axe: all, serious |")
    print("|---|---|---|---|---|---|")
    with browser() as started:
        for number, title in enumerate(CASES):
            path = (given.out / f"report{number}.html").resolve()
            seconds = made(title, graphs.parent, path)
            seen = [looked_at(started, path, scheme) for scheme in ("light", "dark")]
            loads = ", ".join(f"{took:.1f} s" for took, *_ in seen)
            messages = sum(len(messages) for _, messages, _, _ in seen)
            serious = [name for *_, names in seen for name in names]
            findings = f"{sum(count for _, _, count, _ in seen)}, {', '.join(serious) or 'none'}"
            size = f"{path.stat().st_size / 1e6:.2f} | {seconds:.1f} s"
            print(f"| {title} | {size} | {loads} | {messages} | {findings} |", flush=True)


if __name__ == "__main__":
    main()
