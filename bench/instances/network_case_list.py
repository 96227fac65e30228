"""The cases of ``network_cases.py``: a network, the nodes of it that a job got, and a pattern.

Networks of every kind the package generates and the real InfiniBand fabrics of the developers' samples;
allocations along a curve with holes, scattered, the first nodes; patterns by formula, recorded and random;
jobs with fewer tasks than cores and than nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from hopbytes.machines.spec import parse_machine
from hopbytes.patterns.base import pattern

#: Several cases on one machine: its spec, the nodes of the job, the patterns.
GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("torus:8x8x8:nodes=2 / core:4", "sfc:nodes=64:holes=0.3", (
        "stencil:8x8x4", "stencil:16x16", "alltoall:256:groups=16", "alltoall:256:groups=16:members=strided",
        "transpose:16x16", "butterfly:256", "ml:tp=4,pp=8,dp=8", "sparse:256:6", "shuffled:16x16",
    )),
    ("torus:6x6x6 / core:8", "scattered:nodes=32:seed=2", (
        "stencil:8x8x4:points=27", "alltoall:256:groups=8", "shuffled:8x8x4", "sparse:256:10",
    )),
    ("torus:4x4x4x4x2 / core:8", "sfc:nodes=64:holes=0.2:seed=3", (
        "stencil:8x8x8", "ml:tp=8,pp=8,dp=8", "alltoall:512:groups=16:members=strided", "transpose:16x32",
        "sparse:512:8",
    )),
    ("torus:8x8:bw=1x4 / core:4", "", ("stencil:16x16", "sparse:256:5", "butterfly:256")),
    ("mesh:6x6x4 / core:4", "first:nodes=64", ("stencil:8x8x4:periodic=xyz", "ml:tp=8,pp=4,dp=8")),
    ("fattree:8x8x4 / core:4", "scattered:nodes=64:seed=1", (
        "stencil:8x8x4", "alltoall:256:groups=16:members=strided", "sparse:256:6", "butterfly:256",
        "recorded:lulesh_64",
    )),
    ("fattree:8x4x4:up=1x2x2 / core:8", "sfc:nodes=48:holes=0.3", (
        "stencil:8x8x6", "alltoall:384:groups=24", "transpose:16x24", "shuffled:24x16",
    )),
    ("fattree:16x18:up=1x6:route=spread / core:8", "scattered:nodes=40:seed=4", (
        "stencil:20x16", "ml:tp=8,pp=5,dp=8", "sparse:320:12",
    )),
    ("dragonfly:9x4x4 / core:4", "scattered:nodes=64:seed=5", (
        "stencil:8x8x4", "alltoall:256:groups=32", "transpose:16x16", "sparse:256:6",
    )),
    ("dragonfly:5x4x2 / core:4", "sfc:nodes=30:holes=0.2", ("stencil:10x12", "hierarchical:5x6x4")),
    ("hyperx:4x4x4:nodes=2 / core:4", "scattered:nodes=64:seed=6", (
        "stencil:8x8x4", "butterfly:256", "sparse:256:6",
    )),
    ("ib:{}/infiniband/avakas / core:8", "drawn:16:1", (
        "recorded:lulesh_64", "recorded:npb_mg_C_64", "stencil:16x8", "alltoall:128:groups=8",
    )),
    ("ib:{}/infiniband/ndr_dgx_40sw:tables=dump_fts_dfsssp.txt.gz:rails=same / core:8", "drawn:32:2", (
        "ml:tp=8,pp=4,dp=8", "stencil:16x16", "sparse:256:8", "alltoall:256:groups=8:members=strided",
    )),
    ("ib:{}/infiniband/ndr_dgx_40sw:tables=dump_fts_minhop.txt.gz:rails=spread / core:8", "drawn:16:3", (
        "recorded:cloverleaf_64", "hierarchical:4x4x8",
    )),
    # Fewer tasks than cores, and than nodes.
    ("torus:6x6x6 / core:8", "sfc:nodes=32:holes=0.2", ("stencil:10x10", "sparse:150:6")),
    ("torus:8x8x8 / core:1", "", ("stencil:4x4x4",)),
    ("fattree:8x8x4 / core:4", "scattered:nodes=64:seed=8", ("alltoall:96:groups=6", "recorded:npb_cg_C_64")),
    ("dragonfly:9x4x4 / core:4", "", ("stencil:8x8",)),
)
RECORDED = "mpip_commatrix/{}.mpiP.gz"


@dataclass(frozen=True)
class Case:
    """A pattern on some nodes of a network."""

    machine: str
    hosts: str
    pattern: str

    @property
    def key(self) -> str:
        """What names the case, whatever folder the samples are in."""
        return " | ".join((self.machine, self.hosts or "all", self.pattern))

    @property
    def needs_samples(self) -> bool:
        return "{}" in self.machine or self.pattern.startswith("recorded:")

    def where(self, samples: Path | None) -> hb.Allocation:
        """Return the job's cores; ``drawn:N:SEED`` are N hosts of a fabric at random."""
        machine = parse_machine(self.machine.format(samples))
        if not self.hosts.startswith("drawn:"):
            return hb.allocate(machine, **({"hosts": self.hosts} if self.hosts else {}))
        count, seed = map(int, self.hosts.split(":")[1:])
        named = [host for host in machine.known_hosts.names if not host.startswith("guid-")]
        chosen = np.random.default_rng(seed).choice(len(named), count, replace=False)
        return hb.allocate(machine, hosts=[named[i] for i in sorted(chosen.tolist())])

    def graph(self, samples: Path | None) -> hb.CommGraph:
        """Return the pattern; ``sparse:N:D`` sends to D random others, ``shuffled:AxB`` renumbers a halo."""
        kind, _, rest = self.pattern.partition(":")
        if kind == "recorded":
            assert samples is not None
            return hb.read(samples / RECORDED.format(rest))
        if kind == "sparse":
            n, degree = map(int, rest.split(":"))
            rng = np.random.default_rng(n + degree)
            sources = np.repeat(np.arange(n), degree)
            volumes = rng.integers(1, 1000, len(sources)) * 1000
            return hb.CommGraph.from_edges(sources, rng.integers(0, n, len(sources)), volumes, n=n)
        if kind != "shuffled":
            return pattern(self.pattern)
        graph = pattern(f"stencil:{rest}")
        order = np.random.default_rng(5).permutation(graph.n)
        return hb.CommGraph.from_edges(
            order[graph.sources()], order[graph.targets], graph.volumes, graph.messages, n=graph.n
        )

    def read(self, samples: Path | None) -> tuple[hb.CommGraph, hb.Allocation]:
        """Return pattern and cores."""
        return self.graph(samples), self.where(samples)


def cases(samples: Path | None) -> Iterator[Case]:
    """Yield all cases; those of the samples only where these are."""
    for machine, hosts, patterns in GROUPS:
        for text in patterns:
            case = Case(machine, hosts, text)
            if samples is not None or not case.needs_samples:
                yield case


def describe(case: Case, graph: Any, where: Any) -> str:
    """Return tasks, cores and nodes of a case in a few words."""
    return f"{graph.n} tasks on {where.k} cores of {len(np.unique(where.node_of_pe))} nodes"
