"""``map --stream``: what it writes and prints, and which options have a meaning with it."""

import json

import pytest

import hopbytes as hb

MACHINE = "node:2@10 core:2@1"


@pytest.fixture
def ring(tmp_path):
    path = tmp_path / "ring.graph"
    path.write_text("64 64\n" + "".join(f"{(i - 1) % 64 + 1} {(i + 1) % 64 + 1}\n" for i in range(64)))
    return path


def test_the_mapping_is_that_of_the_library(ring, tmp_path, hopbytes):
    target = tmp_path / "ring.json"
    done = hopbytes("map", ring, "--on", MACHINE, "--stream", "-o", target)
    mapping = hb.map_stream(ring, MACHINE)
    assert done.returncode == 0, done.stderr
    assert hb.read_mapping(target).pe.tolist() == mapping.pe.tolist()
    assert f"J {mapping.comm_cost:,}" in done.stderr


def test_json_has_the_facts(ring, hopbytes):
    done = hopbytes("map", ring, "--on", MACHINE, "--stream", "--buffer", 0, "--passes", 3, "--json")
    record = json.loads(done.stdout)
    assert record["mapper"] == "stream:passes=3,buffer=0"
    assert (record["n"], record["k"], record["balance"], record["work"]["passes"]) == (64, 4, "met", 4)


@pytest.mark.parametrize(
    "words",
    [
        ("--passes", "2"), ("--stream", "--pack"), ("--stream", "--objective", "hops"),
        ("--stream", "--processes"), ("--stream", "--refine", "swap"), ("--stream", "--time-limit", "5"),
        ("--stream", "--all"), ("--stream", "--compare-with", "block"),
    ],
)
def test_options_without_a_meaning_are_refused(ring, hopbytes, words):
    done = hopbytes("map", ring, "--on", MACHINE, *words, code=2)
    assert words[0] in done.stderr


def test_a_damaged_file_leaves_no_output(ring, tmp_path, hopbytes):
    ring.write_text(ring.read_text()[:-9])
    target = tmp_path / "out.json"
    done = hopbytes("map", ring, "--on", MACHINE, "--stream", "-o", target, code=1)
    assert str(ring) in done.stderr
    assert not target.exists()


def test_one_of_a_kind_is_no_plural(tmp_path, hopbytes):
    heavy = tmp_path / "heavy.graph"
    heavy.write_text("3 2 10\n90 2\n1 1 3\n1 2\n")
    done = hopbytes("map", heavy, "--on", "core:2", "--partition", "--stream", code=0)
    assert "1 task is heavier than a fair share and has a core\n" in done.stderr
    one = tmp_path / "one.graph"
    one.write_text("1 0\n\n")
    done = hopbytes("map", one, "--on", "core:1", "--partition", "--stream")
    assert "; 1 task on 1 core, at most" in done.stderr
