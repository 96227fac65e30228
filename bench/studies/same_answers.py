"""Hashes of some hundred answers, to show that a change of the source changes none of them.

``python -m bench.studies.same_answers`` compares with the committed ``same_answers.txt`` and lists what
differs; ``--write`` replaces that file after a deliberate change; ``--quick`` leaves the cases out that take
most of the time. A case is one call of ``map_tasks``: every
preset, mapper, refiner, objective, kind of machine, constraint and launch format, on small and medium inputs.
The hash covers the PE of every task, J and the text of all files that a launch format writes, without
comments.
A refusal is an answer too: its class of error is hashed. Inputs ship with the project or are formulas.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import hopbytes as hb
import hopbytes_laboratory
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import HopbytesError
from hopbytes.formats.base import formats
from hopbytes.solve.presets import presets

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_suffix(".txt")
EXAMPLES = ROOT / "examples"

#: Machine spec, hosts, pattern: each asks for something else of mappers and refiners.
PROBLEMS = {
    "tree": ("node:8@10 package:2@3 core:4@1", "", "stencil:8x8"),
    "spare": ("node:6@10 package:2@3 core:6@1", "", f"{EXAMPLES}/lammps_lj_64.csv"),
    "torus": ("torus:4x4x2:nodes=2@4 / core:2@1", "sfc:nodes=24:holes=0.3", "stencil:8x6"),
    "fattree": ("fattree:4x3x2:up=1x2x2@5 / core:4@1", "scattered:nodes=12:seed=2", "butterfly:32"),
    "partition": ("node:3@10 core:[4,3,5]@1", "", "stencil:40x40"),
}
PRESET_PROBLEMS = PROBLEMS | {
    "medium processes": ("rack:4@100 node:16@10 core:16@1", "", "stencil:16x8x8"),
    "medium partition": ("node:4@100 package:8@10 core:6@1", "", "stencil:160x160:points=9"),
    "medium torus": ("torus:6x6x6@3 / core:2@1", "first:nodes=128", "alltoall:256:groups=16"),
    "one level": ("core:24", "", "stencil:70x70:points=9"),
    "torus partition": ("torus:4x4x2 / core:2@1", "", "stencil:40x40"),
    "training": ("node:32@10 gpu:8@1", "", "ml:tp=8,pp=4,dp=8,order=dp-tp-cp-ep-pp"),
    "rails": (
        "rails:16x4:domain=6:pod=6", "", "ml:tp=8,pp=2,dp=2,cp=2,hidden=1024,layers=8,seq=1024,micro=2",
    ),
    "one switch": (f"ib:{EXAMPLES}/fabric / package:2 core:2", "", "stencil:4x3"),
}
MACHINES = (
    "node:2@10 core:[1,2]@1", "rack:2 node:2 / core:2", "torus:4x3@10:nodes=2 / package:2@2 core:2@1",
    "torus:5:wrap=0 / core:[1,2,1,1,3]", "torus:3x5:nodes=2:order=hilbert / core:2", "torus:4x3:route=spread",
    "mesh:3x4:bw=2x5", "mesh:3x3:route=spread",
    "fattree:2x3x2:up=1x2x2:cables=1x2x1:nodes=10@5 / core:2@1", "fattree:3x3:route=spread:up=1x2",
    "fattree:2x2x2:route=smodk:bw=1x2x4 / core:[1,2,1,1,1,1,1,1]", "dragonfly:5x2x2:global=2 / core:2",
    "dragonfly:4x3x1:links=palmtree:global=2:route=spread", "dragonfly:4x2x2:route=valiant:bw=4x2x3",
    "dragonfly+:3x2x2 / core:2", "dragonfly+:4x2x1:spines=3:global=2:links=palmtree:bw=4x2x3",
    "dragonfly+:5x2x2:spines=2:global=3:route=spread@5", "hyperx:3x4:nodes=2 / core:2", "hyperx:4:bw=3x2",
    "synthetic:pack:2 numa:2 core:2 pu:2@n[1-2]:core=2", "synthetic:l3:2 core:3",
    f"hwloc:{ROOT}/tests/samples/hwloc/v2_smt_gpus.xml@n[1-2],hwloc:{ROOT}/tests/samples/hwloc/v3_hybrid.xml@m",
    f"ib:{EXAMPLES}/fabric:rails=spread / package:2 core:2", f"ib:{EXAMPLES}/fabric_ports@7:hosts=n[2-6]",
    f"slurm:{EXAMPLES}/topology.conf@n[003-010] / core:[2,1,1,1,1,1,1,1]",
    f"coordinates:{EXAMPLES}/coordinates.txt:dims=4x2@5 / core:2",
    f"simgrid:{EXAMPLES}/platform.xml / core:2",
)


def constrained(**given: Any) -> dict[str, Any]:
    """Return the keyword argument with constraints."""
    return {"constraints": hb.Constraints(**given)}


CONSTRAINTS: dict[str, tuple[str, dict[str, Any]]] = {
    "pack": ("spare", {"use": {"pack": True}}), "spread": ("spare", {"use": {"spread": True}}),
    "equal nodes": ("spare", {"use": {"equal_nodes": True}}),
    "eleven per node": ("spare", {"use": {"tasks_per_node": 11}}),
    "two per package": ("torus", {"use": {"tasks_per": "node=1"}}),
    "fixed": ("tree", constrained(fixed={0: 63, 5: 2, 17: 30})),
    "forbidden": ("tree", constrained(forbidden=[(t, p) for t in range(8) for p in range(32)])),
    "initial": ("tree", constrained(initial=list(range(63, -1, -1)), migration_price=3_000_000)),
    "fixed on a torus": ("torus", constrained(fixed={3: 1, 9: 40})),
    "fixed in a partition": ("partition", constrained(fixed={i: i % 12 for i in range(100)})),
    "initial partition": (
        "partition", constrained(initial=[i * 12 // 1600 for i in range(1600)], migration_price=5),
    ),
    "wide bound": ("partition", {"imbalance": 0.2}), "tight bound": ("partition", {"imbalance": 0.0}),
    "per cent": ("partition", {"imbalance": "10%"}),
    "oversubscribed": ("spare", {"use": {"oversubscribe": True}}),
    "many per PE": ("tree", {"partition": True}), "messages": ("spare", {"weight": "messages"}),
    "unit weights": ("tree", {"weight": "unit"}),
    "work limit": ("torus", {"limits": hb.Limits(work=200_000)}),
    "no work": ("partition", {"limits": hb.Limits(work=0)}), "another seed": ("partition", {"seed": 7}),
}
LAUNCHED = (
    ("node:2@10 package:2@3 core:2@1", ("n001", "n002"), "stencil:4x2", {}),
    ("torus:3x2x2:nodes=1@4 / core:4@1", (), "stencil:8x5", {}),
    ("node:3@10 gpu:4@1", ("g1", "g2", "g3"), "ml:tp=4,pp=1,dp=3,order=dp-tp-cp-ep-pp", {}),
    (f"hwloc:{ROOT}/tests/samples/hwloc/v2_smt_gpus.xml@n[1-4]", (), "stencil:4x2", {"equal_nodes": True}),
)
#: Words in the names of cases that take most of the time of all.
LONG = ("strong", "preset routed", "preset best", "medium", "chains", "n_square", "format")
#: Formats of patterns, which hold no mapping.
NO_LAUNCH = frozenset({
    "csv", "dense", "dumpi", "edges", "ipm", "metis", "mm", "monitoring", "mpip", "npz", "otf2", "pattern",
    "simgrid", "tau",
})


def digest(*parts: bytes | str) -> str:
    """Return 16 hexadecimal digits for these texts and bytes."""
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode() if isinstance(part, str) else part)
        made.update(b"\0")
    return made.hexdigest()[:16]


def mapped(problem: tuple[str, str, str], **options: Any) -> hb.Mapping:
    """Read the sides of a problem and map."""
    spec, hosts, pattern = problem
    where = hb.allocate(spec, **({"hosts": hosts} if hosts else {}))
    use = options.pop("use", None)
    where = where if use is None else hb.allocate(where, **use)
    return hb.map_tasks(hb.read(pattern), where, **({"seed": 1, "threads": 1} | options))


def answer(problem: tuple[str, str, str], options: dict[str, Any]) -> str:
    """Return the hash of PEs and J, or of the class of error."""
    try:
        mapping = mapped(problem, **options)
    except HopbytesError as error:
        return digest(type(error).__name__) + " " + type(error).__name__
    return digest(mapping.pe.tobytes(), str(mapping.info["comm_cost"]))


def files(launched: tuple[str, Any, str, dict[str, Any]], name: str) -> str:
    """Return the hash of everything that a launch format writes."""
    spec, hosts, pattern, options = launched
    where = hb.allocate(spec, **({"hosts": list(hosts)} if hosts else {}))
    mapping = hb.map_tasks(hb.read(pattern), hb.allocate(where, **options), seed=1, threads=1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            written = hb.write(mapping, f"{folder}/placed", format=name)
        except HopbytesError as error:
            return digest(type(error).__name__) + " " + type(error).__name__
        texts = []
        for path in sorted(written.paths):
            texts += [Path(path).name, without_comments(name, Path(path).read_text())]
        commands = [written.launch, *(line.command for line in written.lines)]
        return digest(*texts, *(command.replace(folder, "") for command in commands))


def without_comments(name: str, text: str) -> str:
    """Drop what is written for people; of a stored mapping keep the PEs, since it names versions."""
    if name == "json":
        return str(json.loads(text)["pe"])
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def cases() -> Iterator[tuple[str, Callable[..., str], tuple[Any, ...]]]:
    """Yield name, function and arguments of every case; those of the laboratory are among them."""
    hopbytes_laboratory.register()
    for preset in presets:
        limit = {"limits": hb.Limits(work=3_000_000)} if preset == "best" else {}
        for name, problem in PRESET_PROBLEMS.items():
            if preset == "best" and name.startswith("medium"):
                continue
            yield f"preset {preset}, {name}", answer, (problem, {"method": preset} | limit)
    for name, problem in PROBLEMS.items():
        for mapper in mappers:
            yield f"mapper {mapper}, {name}", answer, (problem, {"method": mapper})
        for refiner in refiners:
            options = {"method": ["random", refiner], "limits": hb.Limits(work=3_000_000)}
            yield f"refiner {refiner}, {name}", answer, (problem, options)
    for spec in MACHINES:
        for preset in ("fast", "eco"):
            label = spec.replace(f"{ROOT}/", "")
            yield f"machine {label}, {preset}", answer, ((spec, "", "stencil:3x2"), {"method": preset})
    for objective in objectives:
        for name in ("torus", "fattree", "one switch"):
            for preset in ("fast", "strong"):
                options = {"objective": objective, "method": preset}
                yield f"objective {objective}, {preset}, {name}", answer, (PRESET_PROBLEMS[name], options)
    for name, (problem, options) in CONSTRAINTS.items():
        for preset in ("fast", "strong"):
            yield f"constraint {name}, {preset}", answer, (PROBLEMS[problem], {"method": preset} | options)
    for number, launched in enumerate(LAUNCHED):
        for name in formats:
            if name not in NO_LAUNCH:
                yield f"format {name}, {number}", files, (launched, name)


def quick_cases() -> Iterator[tuple[str, Callable[..., str], tuple[Any, ...]]]:
    """Yield the cases whose names have none of the words in :data:`LONG`."""
    return (case for case in cases() if not any(word in case[0] for word in LONG))


def stored_answers() -> dict[str, str]:
    """Return the committed hash of every case by its name."""
    pairs = (line.split("  ", 1) for line in STORED.read_text().splitlines())
    return {name: value for value, name in pairs}


def _run(case: tuple[str, Callable[..., str], tuple[Any, ...]]) -> tuple[str, str]:
    hopbytes_laboratory.register()  # where processes do not begin as copies of the first one
    name, function, arguments = case
    try:
        return name, function(*arguments)
    except Exception as error:
        raise RuntimeError(name) from error


def main() -> int:
    """Run every case and compare, or write the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the committed hashes")
    parser.add_argument("--quick", action="store_true", help="leave the cases out that take long")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error("--write needs all cases, --quick leaves some out")
    with ProcessPoolExecutor(options.workers) as pool:
        found = dict(pool.map(_run, quick_cases() if options.quick else cases(), chunksize=1))
    if options.write:
        STORED.write_text("".join(f"{value}  {name}\n" for name, value in found.items()))
    stored = stored_answers()
    if options.quick:
        stored = {name: value for name, value in stored.items() if name in found}
    differing = [name for name in found.keys() | stored.keys() if found.get(name) != stored.get(name)]
    for name in sorted(differing):
        print(f"{name}: {stored.get(name, 'not stored')} is now {found.get(name, 'no longer there')}")
    refusals = sum(" " in value for value in found.values())
    print(f"{len(found)} cases, {len(differing)} differ, {refusals} refusals")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
