"""What map, eval, report and advise say about one mapping is the same, with SimGrid and without."""

from __future__ import annotations

import html
import json
import os

import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, SHARED
from helpers.thorough import most
from hopbytes.show.advice import advise
from hopbytes.show.page import Origin, page_of
from hopbytes.show.verdict import judged, verdict, verdict_of

README = ("node:8@10 package:2@3 core:6@1", EXAMPLES / "halo_96.pattern")
MACHINES = most(
    ["node:{nodes}@10 core:8@1", "node:{nodes}@10:bw=1e9:lat=5e-5 core:8@1:bw=1e10:lat=1e-7",
     "island:2@100 node:{half}@10 core:8@1", "torus:{half}x2@10 / core:8@1", "fattree:{half}x2 / core:8"],
    ["node:{nodes}@10 core:8@1", "torus:{half}x2@10 / core:8@1"],
)  # fmt: skip
PATTERNS = [
    EXAMPLES / "halo_96.pattern", EXAMPLES / "lammps_lj_64.csv", "stencil:8x8", "alltoall:32",
    "ml:tp=4,pp=2,dp=4",
]  # fmt: skip
RECORDED = most(
    ["mpip_commatrix", "ipm", "ompi_monitoring", "bgq"], ["ompi_monitoring", "mpip_commatrix"]
)


def on(machine, tasks):
    """Return a machine with enough nodes of eight cores."""
    nodes = max(4, -(-tasks // 16) * 2)
    return hb.allocate(machine.format(nodes=nodes, half=nodes // 2))


def check_agreement(graph, where):
    """Compare the verdicts on the mapping of preset fast, and the advice about all of them."""
    mapping = hb.map_tasks(graph, where, "fast", partition=False, threads=1)
    mapped = judged(graph, mapping)
    read = hb.Mapping(mapping.pe, where)  # as from a launch file
    evaluated = verdict(graph, read, hb.evaluate(graph, read, random_seeds=0))
    page = page_of(graph, {"fast": mapping}, "fill", Origin()).judged[0]
    advice = advise(graph, where, presets=("fast",), seeds=1)
    if "said_by" not in mapping.info:
        assert evaluated.to_dict() == mapped.to_dict()
    assert page.headline == mapped.sentence
    decisions = {mapped.decision, advice.verdict.decision}
    assert "not decided" not in decisions, "every machine here has links"
    if advice.verdict.decision == "keep":
        assert mapped.decision == "keep", (mapped.sentence, advice.verdict.sentence)
    if mapped.decision == "change":
        assert advice.verdict.decision == "change"
        assert advice.recommended.best <= mapped.predicted.seconds * 1.02
        assert not any(word in mapped.sentence for word in ("nothing", "Not"))
    assert advice.usual.best == mapped.usual.seconds


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_examples_and_generated_patterns(pattern, machine):
    graph = hb.read(str(pattern))
    check_agreement(graph, on(machine, graph.n))


@pytest.mark.shared
@pytest.mark.parametrize("folder", RECORDED)
def test_recordings(folder):
    found = 0
    for path in sorted((SHARED / "samples" / folder).iterdir()):
        try:
            graph = hb.read(path, holds="pattern")
        except hb.HopbytesError:
            continue
        if 2 < graph.n <= 256 and graph.m and graph.volumes is not None:
            check_agreement(graph, on(MACHINES[found % len(MACHINES)], graph.n))
            found += 1
        if found == most(40, 4):
            break
    assert found


@pytest.mark.parametrize("weight", ["messages", "unit", "time"])
def test_mappings_for_other_weights(weight):
    """What map said of messages, eval says of the same mapping, and both judge by the time of the bytes."""
    graph = hb.read(README[1])
    where = hb.allocate("node:8@10:bw=1e9:lat=1e-6 package:2@3:bw=5e9:lat=1e-6 core:6@1:bw=1e10:lat=1e-6")
    mapping = hb.map_tasks(graph, where, "fast", weight=weight)
    mapped = judged(graph, mapping)
    evaluated = verdict_of(graph, mapping, hb.evaluate(graph, mapping, random_seeds=0))
    assert evaluated.to_dict() == mapped.to_dict()
    assert mapped.unit == ("B" if weight == "time" else "messages")
    assert mapped.predicted.seconds == hb.simulate(graph, mapping).seconds


def test_partitions_and_processes_that_share_cores(hopbytes):
    """A mesh has no bytes and no launcher's order; a rank file holds processes, however many a core gets."""
    mesh, cores = "stencil:16x16", "node:4@10 core:4@1"
    said = []
    for words in (("map", "--partition", "-o", "part.txt", "--preset", "fast"), ("eval", "part.txt")):
        done = hopbytes(words[0], mesh, *words[1:], "--on", cores, code=0)
        said.append(next(line for line in (done.stdout + done.stderr).splitlines() if "Between" in line))
        assert not any(word in done.stdout + done.stderr for word in ("mpirun", "messages are predicted"))
    assert said[0] == said[1]
    assert "volume" in said[0]
    given = ("--on", "node:4@10 core:4@1", "--oversubscribe")
    made = hopbytes("map", "stencil:8x4", *given, "--hosts", "n[1-4]", "-o", "rf", "--format", "openmpi")
    assert made.returncode == 0, made.stderr
    words = ("rf", "--on", "node:4@10 core:4@1", "--hosts", "n[1-4]")
    done = hopbytes("eval", "stencil:8x4", *words, code=0)
    assert done.stdout.splitlines()[0] == next(each for each in made.stderr.splitlines() if "Between" in each)
    assert "bytes" in done.stdout.splitlines()[0]


@pytest.mark.parametrize("simgrid", [True, False], ids=["as it is", "without SimGrid"])
def test_the_example_of_the_readme_by_the_program(hopbytes, tmp_path, monkeypatch, simgrid):
    """From lower bounds, equal for all mappings, advise kept the order where map saw a large gain."""
    if not simgrid:
        monkeypatch.setattr("hopbytes.simulation.simgrid.PROGRAM", "no-such-smpirun")
        folders = os.environ["PATH"].split(os.pathsep)
        kept = [each for each in folders if not os.path.exists(os.path.join(each, "smpirun"))]
        monkeypatch.setitem(os.environ, "PATH", os.pathsep.join(kept))
    machine, pattern = README
    given = (pattern, "--on", machine)

    def answer(verb, *words):
        done = hopbytes(verb, *words, "--json", code=0)
        return json.loads(done.stdout)["verdict"]

    mapped = answer("map", *given, "--preset", "fast", "-o", "m.json")
    evaluated = answer("eval", pattern, "m.json")
    advised = answer("advise", *given, "--preset", "fast", "--seeds", 1)
    assert mapped == evaluated
    assert set(advised) == set(mapped)
    same = ("decision", "keep", "grade", "seconds", "seconds_in_order", "between_nodes", "comm_cost")
    assert [advised[name] for name in same] == [mapped[name] for name in same]
    assert (mapped["decision"], mapped["keep"], mapped["grade"]) == ("change", False, "flows")
    assert hopbytes("report", pattern, "m.json", "-o", "r.html").returncode == 0
    assert mapped["sentences"][1] in html.unescape((tmp_path / "r.html").read_text())
    assert mapped["sentences"][1] in hopbytes("eval", pattern, "m.json").stdout
