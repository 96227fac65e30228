"""``hopbytes show``: lists of what is registered, networks, routes, pictures; and what ``probe`` stores."""

import json
import os
import subprocess
from xml.etree import ElementTree

import pytest

import hopbytes as hb
from helpers.errors import assert_refused
from helpers.paths import PROGRAM, hwloc_sample
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.formats.base import formats
from hopbytes.machines.base import machines
from hopbytes.show.catalogue import catalogue, describe

NODE = hwloc_sample("v2_smt_gpus.xml")
ON = ("--on", "node:2@10 core:8@1", "--hosts", "left,right")
MOST_UNGROUPED = 10


@pytest.mark.parametrize(
    ("kind", "registry"),
    [("mappers", mappers), ("refiners", refiners), ("machines", machines), ("formats", formats)],
)
def test_names_are_those_of_the_registry(hopbytes, kind, registry):
    rows = json.loads(hopbytes("show", kind, "--json").stdout)
    assert [row["name"] for row in rows] == list(registry)
    assert all(row["summary"] for row in rows)


@pytest.mark.parametrize("kind", ["mappers", "refiners"])
def test_many_options_are_shown_in_groups(kind):
    """Every option of such an algorithm is in exactly one group."""
    for row in catalogue(kind):
        grouped = [name for names in row.get("option_groups", {}).values() for name in names]
        if grouped or len(row["options"]) > MOST_UNGROUPED:
            assert sorted(grouped) == sorted(row["options"]), row["name"]


def test_show_tells_of_the_network(hopbytes):
    done = hopbytes("show", "torus:4x4:bw=5x6@10 / core:2", code=0)
    assert "network    16 endpoints, 16 switches, 64 links" in done.stdout
    assert "hops       2.13 on average, at most 4" in done.stdout
    facts = json.loads(hopbytes("show", "torus:4x4:bw=5x6@10 / core:2", "--json").stdout)
    assert facts["network"]["capacities"] == {"5": 32, "6": 32}
    assert "network" not in json.loads(hopbytes("show", "node:2 core:2", "--json").stdout)


def test_routes_by_number_and_by_name(hopbytes, tmp_path):
    done = hopbytes("show", "fattree:2x2:bw=4x3", "--route", "0", "3")
    assert done.stdout.splitlines() == [
        "n0 to n3: 4 hops (capacities as given)", "  n0 -> leaf0      4", "  leaf0 -> s2.0.1  3",
        "  s2.0.1 -> leaf1  3", "  leaf1 -> n3      4",
    ]
    (tmp_path / "net").write_text("host alpha beta\nswitch s\nlink alpha s 7\nlink beta s\n")
    facts = json.loads(hopbytes("show", f"links:{tmp_path}/net", "--route", "alpha", "beta", "--json").stdout)
    assert [link["name"] for link in facts["links"]] == ["alpha -> s", "s -> beta"]
    assert [link["capacity"] for link in facts["links"]] == [7, 1]


def test_nodes_of_generated_networks_go_by_the_names_routes_have(hopbytes):
    by_number = hopbytes("show", "fattree:2x2", "--route", "0", "3")
    assert hopbytes("show", "fattree:2x2", "--route", "n0", "n3").stdout == by_number.stdout
    facts = json.loads(hopbytes("show", "torus:2x4 / core:2", "--hosts", "n[1,6]", "--json").stdout)
    assert facts["pes"] == 4
    assert facts["hosts"] == [f"n{node}" for node in range(8)]
    words = ("--on", "torus:2x4 / core:2", "--hosts", "n[1,6]", "--format", "slurm")
    chosen = hopbytes("map", "alltoall:4", *words)
    assert chosen.stdout.split()[-4:] == ["n1", "n1", "n6", "n6"]


def test_other_distances_of_levels(hopbytes):
    asked = ("show", "torus:4x4 / package:2 core:2", "--distance", "package=7,core=2", "--json")
    levels = json.loads(hopbytes(*asked).stdout)["levels"]
    assert [(level["name"], level["distance"]) for level in levels][-2:] == [("package", 7), ("core", 2)]
    for given, said in (("package", "--distance: 'package', expected"), ("rack=3", "rack")):
        done = hopbytes("show", "node:2 package:2 core:2", "--distance", given)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert said in done.stderr


def test_shares_of_several_paths(hopbytes):
    done = hopbytes("show", "fattree:2x2:route=spread", "--route", "0", "3")
    assert done.stdout.count("1/2 of the flow") == 4
    done = hopbytes("show", "mesh:2x2x2:route=spread", "--route", "0", "7")
    assert done.stdout.count("  33.333 % of the flow") == 6


def test_a_picture_needs_no_other_package(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError\n")

    def drawn(*command):
        return subprocess.run(
            [PROGRAM, *command], cwd=tmp_path, timeout=60, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        )  # fmt: skip

    for command, name in (
        (("show", NODE, "--hosts", "a,b"), "node.svg"),
        (("eval", "stencil:4x4", "--order", "cyclic", "--on", "node:2 core:8"), "eval.svg"),
        (("show", "stencil:4x4"), "pattern.svg"),
    ):
        shown = drawn(*command, "-o", name)
        assert (shown.returncode, shown.stderr) == (0, f"{name} written\n")
        ElementTree.parse(tmp_path / name)
    text = (tmp_path / "node.svg").read_text()
    assert "2 x node a, b" in text
    assert "GPU 0 cuda0" in text
    for target in ("node.png", "node.pdf"):
        shown = drawn("show", NODE, "-o", target)
        assert shown.returncode == 1
        form = target[-3:].upper()
        assert shown.stderr.startswith(f"hopbytes: pictures as {form} need matplotlib: pip install")
        assert shown.stderr.count("\n") == 1


def test_a_picture_may_be_drawn_again(hopbytes, tmp_path):
    for hosts in ("n[1-2]", "m[1-2]"):
        done = hopbytes("show", "node:2 core:4", "--hosts", hosts, "-o", "x.svg")
        assert (done.returncode, done.stderr) == (0, "x.svg written\n")
        assert f"node {hosts[0]}2<" in (tmp_path / "x.svg").read_text()


def test_patterns_are_drawn(hopbytes, tmp_path):
    hb.convert("stencil:4x4", tmp_path / "app.pattern")
    for thing in ("app.pattern", "stencil:4x4"):
        done = hopbytes("show", thing, "-o", "x.svg", "--force")
        assert (done.returncode, done.stderr) == (0, "x.svg written\n")
        assert "rank 0 to rank 1: " in (tmp_path / "x.svg").read_text()


@pytest.fixture
def mapping_files(tmp_path):
    """Write a mapping as m.json, with its machine, and as m.txt, without."""
    where = hb.allocate("node:2@10 core:8@1", hosts="left,right")
    mapping = hb.map_tasks("stencil:4x4", where, "identity")
    hb.write(mapping, tmp_path / "m.json")
    hb.write(mapping, tmp_path / "m.txt", "plain")


def test_mappings_are_drawn_with_their_ranks(hopbytes, tmp_path, mapping_files):
    assert hopbytes("show", "m.json", "-o", "x.svg").returncode == 0
    assert hopbytes("show", "m.txt", *ON, "-o", "y.svg").returncode == 0
    text = (tmp_path / "x.svg").read_text()
    assert text == (tmp_path / "y.svg").read_text()
    assert "node right<" in text
    assert all(f">{rank}</text>" in text for rank in range(16))


def test_evaluations_are_drawn_beside_their_table(hopbytes, tmp_path, mapping_files):
    plain = hopbytes("eval", "stencil:4x4", "m.json")
    done = hopbytes("eval", "stencil:4x4", "m.json", "-o", "x.svg")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert done.stderr.endswith("x.svg written\n")
    text = (tmp_path / "x.svg").read_text()
    assert all(words in text for words in ("before: ranks in order", "after: this mapping", "between nodes"))


def test_probe_writes_a_file_that_on_takes(hopbytes, tmp_path):
    target = tmp_path / "job.machine.json"
    done = hopbytes("probe", "-o", target, "--", "env")
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 node of one kind" in done.stderr
    shown = json.loads(hopbytes("show", target, "--json").stdout)
    assert shown["hosts"] == [os.uname().nodename]
    assert shown["pes"] == json.loads(hopbytes("show", "local", "--json").stdout)["pes"]


def test_probe_without_answers_leaves_nothing(hopbytes, tmp_path):
    target = tmp_path / "job.machine.json"
    done = hopbytes("probe", "-o", target, "--", "true", code=1)
    assert_refused(done, "probe", "node")
    assert not target.exists()


def test_groups_of_options_are_printed():
    (row,) = [row for row in catalogue("mappers") if row["name"] == "multisection"]
    text = " ".join(describe([row], columns=100).split())
    assert "options for coarsening: contraction_limit=1500, shared_hierarchies=8" in text
    assert "options: " not in text


def test_a_folder_without_permission(hopbytes, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "closed").mkdir(mode=0o500)
    done = hopbytes("show", "node:2", "-o", "closed/x.svg")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no permission" in done.stderr


def test_options_that_do_not_belong_together(hopbytes):
    for more in (("--json", "-o", "x.svg"), ("--on", "core:2")):
        assert hopbytes("show", "node:2", *more).returncode == 2
