"""``hopbytes show`` on machines with links."""

from __future__ import annotations

import json


def test_show_tells_of_the_network(hopbytes):
    done = hopbytes("show", "torus:4x4:bw=5x6@10 / core:2")
    assert done.returncode == 0
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


def test_faults(hopbytes):
    for words, said in (
        (("torus:4", "--route", "0", "4"), "node '4', expected a number from 0 to 3"),
        (("node:4 core:2", "--route", "0", "1"), "needs a machine with links"),
        (("torus:4", "--route", "a", "1"), "node 'a', expected a number from 0 to 3, or n0 to n3"),
        (("torus:4", "--route", "n4", "1"), "node 'n4'"),
        (("torus:4", "--hosts", "n[0-1],x"), "1 of them none of n0 to n3 (x)"),
        (("node:4 core:2", "--hosts", "n[0-1]"), "2 hosts for 4 nodes"),
    ):
        done = hopbytes("show", *words)
        assert done.returncode == 1
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_eval_of_links_needs_links(hopbytes, tmp_path):
    """Without links the metrics of links are not there; asking to lower them says what would work."""
    (tmp_path / "p").write_text("0 1 5\n1 2 7\n")
    (tmp_path / "m").write_text("0\n1\n2\n")
    done = hopbytes("eval", str(tmp_path / "p"), str(tmp_path / "m"), "--on", "mesh:3", "--json",
                    "--input-format", "edges")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hop_bytes"] == 12
