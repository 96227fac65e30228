"""How long grade flows of `simulate` takes: 1024 and 4096 ranks with 26 neighbours in order and at random.

    python -m bench.studies.simulation_time                    # two minutes
    python -m bench.studies.simulation_time --agreement        # SimGrid beside our solution of its model

Times are CPU seconds of one core, of `simulate` and of SimGrid under it. Random order: flows go between
nearly all pairs of nodes. `--agreement` simulates the same flows by SimGrid, by our solution in its steps of
0.1 %, and with every end of a flow as a step.
"""

from __future__ import annotations

import argparse
import resource

import hopbytes as hb
from bench.rivals.needed import need
from hopbytes.simulation import bound
from hopbytes.simulation.bound import phase_of, round_on
from hopbytes.simulation.links import NAMED, USUAL, node_links
from hopbytes.simulation.simgrid import actions, platform_of, simulated_seconds

CASES = (
    ("stencil:16x8x8:points=27", "torus:4x4x4 / core:16"), ("stencil:16x8x8:points=27", "torus:16x8x8"),
    ("stencil:16x16x16:points=27", "torus:8x8x4 / core:16"),
    ("stencil:16x16x16:points=27", "fattree:16x16:up=1x8 / core:16"),
    ("stencil:16x16x16:points=27", "node:256 core:16"), ("stencil:16x16x16:points=27", "torus:16x16x16"),
)  # fmt: skip
SMALL = (
    ("stencil:8x8x4:points=27", "torus:4x4x4 / core:4"),
    ("hierarchical:4x4x16", "fattree:8x8:up=1x2 / core:4"),
    ("stencil:8x8x8:points=27", "dragonfly:5x4x4 / core:8"), ("stencil:8x8x8:points=27", "node:64 core:8"),
)  # fmt: skip


def seconds() -> float:
    """Return the CPU seconds of this process and of those that it started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def mapped(pattern: str, machine: str, order: str) -> tuple[hb.CommGraph, hb.Mapping]:
    """Return a pattern and its mapping in order or at random."""
    graph, where = hb.read(pattern), hb.allocate(machine)
    if order == "random":
        return graph, hb.map_tasks(graph, where, "random", seed=1)
    return graph, hb.map_tasks(graph, hb.allocate(where, pack=True), "identity")


def times() -> None:
    """Print a row per case and order."""
    print("| ranks | machine | order | flows | CPU seconds | simulated | bound |")
    print("|---|---|---|---|---|---|---|")
    for pattern, machine in CASES:
        for order in ("in order", "random"):
            graph, mapping = mapped(pattern, machine, order)
            before = seconds()
            found = hb.simulate(graph, mapping, grade="flows", time_limit=900)
            took, bound = seconds() - before, max(found.parts.values())
            row = f"{found.flows:,} | {took:.1f} | {found.seconds * 1e3:.4f} ms | {bound * 1e3:.4f} ms"
            print(f"| {graph.n} | `{machine}` | {order} | {row} |", flush=True)


def by_simgrid(graph: hb.CommGraph, mapping: hb.Mapping) -> float:
    """Return the seconds of one round that SimGrid finds for the flows of grade ``flows``."""
    phase, speeds = phase_of(graph, iterations=1), NAMED[USUAL]
    load = round_on(phase, mapping, node_links(mapping.where, speeds), speeds)
    platform, flows = platform_of(mapping, load, speeds), load.flows
    text = platform.text(flows.sources, flows.targets)
    acts = actions(flows.sources, flows.targets, flows.bytes, len(load.ports.node))
    found = simulated_seconds(text, platform.hosts, acts, timeout=600)
    return max(found, load.parts["copy"], load.inside.longest)


def agreement() -> None:
    """Print the times by SimGrid and by our solution, all in random order."""
    print("| pattern | machine | flows | SimGrid | CPU | ours, steps | CPU | ours, exact | CPU |")
    print("|---|---|---|---|---|---|---|---|---|")
    for pattern, machine in SMALL:
        graph, mapping = mapped(pattern, machine, "random")
        before = seconds()
        cells = [f"{by_simgrid(graph, mapping) * 1e3:.5f} ms", f"{seconds() - before:.2f} s"]
        for tolerance in (1e-3, 0.0):
            bound.TOLERANCE = tolerance
            before = seconds()
            found = hb.simulate(graph, mapping, grade="flows")
            cells += [f"{found.seconds * 1e3:.5f} ms", f"{seconds() - before:.2f} s"]
        print(f"| {pattern} | `{machine}` | {found.flows:,} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print one of the two tables."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--agreement", action="store_true")
    given = parser.parse_args()
    if given.agreement:
        need("smpirun")
        return agreement()
    times()


if __name__ == "__main__":
    main()
