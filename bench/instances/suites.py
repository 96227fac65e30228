"""The inputs that belong together, by name.

``python -m bench.instances.suites --suite foundation`` writes all of a suite to ``bench/data`` (ignored by
git) and prints name, family, size, seed and hash, and at the end what is left out and where to get it.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import zlib
from collections.abc import Callable
from typing import TextIO

from bench.instances.graphs import (
    DEFAULT_SEED,
    FAMILIES,
    Instance,
    delaunay,
    graph_file,
    grid,
    prepare,
    random_geometric,
    read_metis,
    renumbered,
    sources,
)
from bench.instances.shapes import halo, random_graph, recursive_matrix

#: Graphs from the folder must be large enough for 128 blocks to mean something.
FEWEST_VERTICES = 10_000
IRREGULAR = ("astro-ph", "ibm13_c8", "PGPgiantcompo")
#: Sides of boxes whose number of cells doubles, from about 2^17 to 2^21.
SIDES = {17: 51, 18: 64, 19: 81, 20: 102, 21: 128}


def large_graphs() -> list[str]:
    """Names of the published graphs with at least 10 000 vertices, sorted bytewise."""
    return sorted(name for name, facts in sources().items() if facts["vertices"] >= FEWEST_VERTICES)


def recorded() -> list[str]:
    """Names of the graphs of recorded traffic."""
    return [name for name in sources() if name.startswith("mpi_")]


def chosen_graphs() -> list[str]:
    """Return eight graphs by a rule fixed before any result was seen: of every third large one the first."""
    return large_graphs()[::3][:8]


def _stored(name: str, family: str) -> list[Instance]:
    """Return the instance of a published graph; none where the graph is not at hand."""
    path = graph_file(name)
    return [] if path is None else [Instance(name, family, lambda seed: read_metis(path))]


def _shuffled(instance: Instance) -> Instance:
    # The name enters the seed, so that two graphs of equal size get different numberings.
    salt = zlib.crc32(instance.name.encode())
    return Instance(
        instance.name + ".shuffled", instance.family,
        lambda seed: renumbered(instance.make(seed), seed + salt),
    )


def foundation_suite() -> list[Instance]:
    """Three generated graphs and eight published ones, as far as they are at hand, each also renumbered."""
    plain = [
        Instance("del17", "2-D", lambda seed: delaunay(17, seed)),
        Instance("rgg17", "2-D", lambda seed: random_geometric(17, seed)),
        Instance("grid50", "3-D", lambda seed: grid(50, 50, 50)),
    ]
    for name in chosen_graphs():
        plain += _stored(name, FAMILIES.get(name, "irregular"))
    return [version for instance in plain for version in (instance, _shuffled(instance))]


def engine_suite() -> list[Instance]:
    """Generated graphs, published ones with at least 10 000 vertices, recorded traffic; each also renumbered.

    The position in the list without renumbered versions decides the half: settings are chosen on the even.
    """
    plain = [
        Instance("del17", "2-D", lambda seed: delaunay(17, seed)),
        Instance("rgg17", "2-D", lambda seed: random_geometric(17, seed)),
        Instance("grid50", "3-D", lambda seed: grid(50, 50, 50)),
        Instance("halo40", "MPI", lambda seed: halo(40, 40, 40)),
    ]
    for name in sorted(recorded() + large_graphs()):
        plain += _stored(name, "MPI" if name in recorded() else FAMILIES.get(name, "irregular"))
    return [version for instance in plain for version in (instance, _shuffled(instance))]


def smoke_suite() -> list[Instance]:
    """Three small graphs that take seconds: to try the harness."""
    return [
        Instance("del12", "2-D", lambda seed: delaunay(12, seed)),
        Instance("rgg12", "2-D", lambda seed: random_geometric(12, seed)),
        Instance("grid16", "3-D", lambda seed: grid(16, 16, 16)),
    ]


def scale_suite() -> list[Instance]:
    """The million-vertex graph of the end-to-end run (about half a minute and 1 GB to make)."""
    return [Instance("rgg20", "2-D", lambda seed: random_geometric(20, seed))]


def large_suite() -> list[Instance]:
    """Graphs of a million vertices: geometric, Delaunay and a box."""
    return [*scale_suite(), *(each for each in growth_suite() if each.name in ("del20", "box20"))]


def deep_suite() -> list[Instance]:
    """The three generated graphs of suite `foundation` in their own order."""
    return [each for each in foundation_suite() if each.name in ("del17", "rgg17", "grid50")]


def irregular_suite() -> list[Instance]:
    """Social graphs and a circuit, as far as they are at hand; random and recursive-matrix ones."""
    return [
        *(each for each in engine_suite() if each.name in IRREGULAR),
        Instance("random20k", "irregular", lambda seed: random_graph(20_000, 200_000, seed)),
        Instance("rmat14", "irregular", lambda seed: recursive_matrix(14, 16, seed)),
        Instance("rmat15", "irregular", lambda seed: recursive_matrix(15, 8, seed)),
    ]


def growth_suite() -> list[Instance]:
    """Delaunay graphs and boxes of 2^17 to 2^21 vertices, every one twice as large as the one before."""
    flat = [Instance(f"del{i}", "2-D", lambda seed, i=i: delaunay(i, seed)) for i in SIDES]
    return flat + [Instance(f"box{i}", "3-D", lambda seed, s=s: grid(s, s, s)) for i, s in SIDES.items()]


SUITES: dict[str, Callable[[], list[Instance]]] = {
    "foundation": foundation_suite,
    "engine": engine_suite,
    "smoke": smoke_suite,
    "scale": scale_suite,
    "large": large_suite,
    "deep": deep_suite,
    "irregular": irregular_suite,
    "growth": growth_suite,
}


def published(suite: str) -> list[str]:
    """Return the names of the published graphs of a suite, whether they are at hand or not."""
    if suite == "foundation":
        return chosen_graphs()
    return sorted({"engine": large_graphs() + recorded(), "irregular": [*IRREGULAR]}.get(suite, []))


def say_what_is_missing(suite: str, file: TextIO) -> None:
    """Name the inputs of a suite that are not at hand, with source and checksum of each."""
    from bench.instances.fetch import described

    absent = [name for name in published(suite) if graph_file(name) is None]
    if absent:
        missing = len(absent) * (1 if suite == "irregular" else 2)
        count = missing + len(SUITES[suite]())
        print(f"{missing} of {count} inputs are left out, because these graphs are not here:", file=file)
        print(*map(described, absent), sep="\n", file=file)
        print(f"to load them: python -m bench.instances.fetch --suite {suite}", file=file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=sorted(SUITES), default="foundation")
    parser.add_argument("--instance-seed", type=int, default=DEFAULT_SEED)
    parser.add_argument("--fresh", action="store_true", help="draw a new seed for the generated graphs")
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.fresh else options.instance_seed
    print(f"seed {seed}")
    for instance in SUITES[options.suite]():
        made = prepare(instance, seed)
        print(f"{made.name:24} {made.family:10} n={made.n:8} m={made.m:8} {made.digest[:16]}", flush=True)
    say_what_is_missing(options.suite, sys.stdout)


if __name__ == "__main__":
    main()
