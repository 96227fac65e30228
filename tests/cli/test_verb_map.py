"""``hopbytes map`` and what can be done with its answer, on the example that ships with the project."""

import gzip
import json
import re

import pytest

from helpers.paths import EXAMPLES

EXAMPLE = EXAMPLES / "lammps_lj_64.csv"
MACHINE = "node:8@10 package:2@3 core:4@1"
ON = ("--on", MACHINE)

#: What scripts may rely on.
JSON_KEYS = {
    "comm_cost", "imbalance", "balance", "problem", "seconds", "seed", "threads", "mapper", "launch", "n",
    "k", "machine", "files", "notices", "version",
}  # fmt: skip


def placement_of(text):
    """Return the PEs in a plain placement."""
    return [int(line) for line in text.splitlines()]


def test_placement_goes_to_stdout_and_talk_to_stderr(hopbytes):
    done = hopbytes("map", EXAMPLE, *ON, code=0)
    assert sorted(placement_of(done.stdout)) == list(range(64))
    assert "processes: J " in done.stderr
    assert "random" not in done.stderr
    assert "below random" in hopbytes("map", EXAMPLE, *ON, "--all").stderr
    assert "8 tasks per node" in done.stderr
    assert "4 tasks per package" in done.stderr


def test_quiet_says_nothing(hopbytes):
    assert hopbytes("map", EXAMPLE, *ON, "--quiet").stderr == ""


def test_json_is_one_object_with_the_promised_keys(hopbytes):
    done = hopbytes("map", EXAMPLE, *ON, "--seed", 7, "--threads", 1, "--json", code=0)
    record = json.loads(done.stdout)
    assert record.keys() >= JSON_KEYS
    assert record["seconds"].keys() == {"read", "map", "verify"}
    assert (record["seed"], record["threads"], record["n"], record["k"]) == (7, 1, 64, 64)
    assert (record["problem"], record["balance"], record["launch"]) == ("processes", "met", "")


def test_json_cost_is_that_of_the_written_placement(hopbytes, tmp_path):
    record = json.loads(hopbytes("map", EXAMPLE, *ON, "-o", "placed.txt", "--json").stdout)
    assert record["files"] == ["placed.txt"]
    judged = json.loads(hopbytes("eval", EXAMPLE, "placed.txt", *ON, "--json").stdout)
    assert judged["comm_cost"] == record["comm_cost"]
    assert judged["comm_cost"] <= judged["in_order"]["comm_cost"]
    assert judged["comm_cost"] < judged["random"]["comm_cost"]["min"]


def test_eval_of_what_a_launcher_does(hopbytes):
    block = json.loads(hopbytes("eval", EXAMPLE, "--order", "default:block", *ON, "--json").stdout)
    cyclic = json.loads(hopbytes("eval", EXAMPLE, "--order", "cyclic", *ON, "--json").stdout)
    assert block["comm_cost"] == block["in_order"]["comm_cost"] < cyclic["comm_cost"]


def test_openmpi_writes_two_files_and_the_command(hopbytes, tmp_path):
    done = hopbytes("map", EXAMPLE, *ON, "--hosts", "n[1-8]", "-o", "rankfile", "--format", "openmpi", code=0)
    ranks = [line for line in (tmp_path / "rankfile").read_text().splitlines() if line.startswith("rank ")]
    hosts = (tmp_path / "rankfile.hosts").read_text()
    assert len(ranks) == 64
    assert all(f"n{node} slots=8" in hosts for node in range(1, 9))
    last = done.stderr.splitlines()[-1]
    # Where no MPI is installed, there is a line for each version.
    launcher = r"launch(, Open MPI [45])?: \S*(mpirun|mpiexec)\S*"
    assert re.match(rf"{launcher} -n 64 --hostfile rankfile.hosts ", last)
    assert "rankfile" in last


def test_map_once_write_often(hopbytes, tmp_path):
    hosts = ("--hosts", "a[1-8]")
    hopbytes("map", EXAMPLE, *ON, *hosts, "-o", "stored.json")
    hopbytes("map", EXAMPLE, *ON, *hosts, "-o", "direct", "--format", "openmpi")
    hopbytes("write", "stored.json", "-o", "later", "--format", "openmpi", code=0)
    assert (tmp_path / "later").read_text() == (tmp_path / "direct").read_text()
    hopbytes("write", "stored.json", "-o", "elsewhere", "--format", "openmpi", "--hosts", "b[1-8]", code=0)
    assert (tmp_path / "elsewhere").read_text() == (tmp_path / "direct").read_text().replace("=a", "=b")


def test_mapped_for_a_launcher_and_stored(hopbytes, tmp_path):
    """The name of the file wins: what is mapped for a launcher can be verified and written later."""
    hosts = ("--hosts", "a[1-8]")
    done = hopbytes("map", EXAMPLE, *ON, *hosts, "--for", "hydra", "-o", "stored.json")
    assert "mpiexec" not in done.stderr
    hopbytes("map", EXAMPLE, *ON, *hosts, "--for", "hydra", "-o", "direct")
    hopbytes("write", "stored.json", "-o", "later", "--format", "hydra", code=0)
    assert (tmp_path / "later").read_text() == (tmp_path / "direct").read_text()


@pytest.mark.parametrize("way", ["file", "gz", "stdin", "gz on stdin"])
def test_the_way_a_pattern_comes_in_does_not_matter(hopbytes, tmp_path, way):
    expected = hopbytes("map", EXAMPLE, *ON, "-q").stdout
    packed = gzip.compress(EXAMPLE.read_bytes())
    (tmp_path / "packed.csv.gz").write_bytes(packed)
    arguments, stdin = {
        "file": ([EXAMPLE], None),
        "gz": (["packed.csv.gz"], None),
        "stdin": (["-", "--input-format", "csv"], EXAMPLE.read_bytes()),
        "gz on stdin": (["-", "--input-format", "csv"], packed),
    }[way]
    done = hopbytes("map", *arguments, *ON, "-q", stdin=stdin)
    assert done.stdout == expected != "", done.stderr


def test_counts_per_node_and_level(hopbytes):
    done = hopbytes(
        "map", EXAMPLE, "--on", "node:16@10 package:2@3 core:8@1", "--tasks-per-node", 4,
        "--tasks-per", "package=2",
    )
    assert done.returncode == 0, done.stderr
    pes = placement_of(done.stdout)
    packages = [pe // 8 for pe in pes]
    assert {packages.count(package) for package in packages} == {2}


def test_summary_judges_by_the_weight_that_was_asked_for(hopbytes, tmp_path):
    """By bytes two pairs are heavy; counted by arcs, their order costs 32 as ranks in order do."""
    pattern = tmp_path / "app.edges"
    pattern.write_text("0 1 1000000\n2 3 1000000\n0 2 1\n0 3 1\n1 2 1\n")
    run = hopbytes("map", pattern, "--on", "node:2@10 core:2@1", "--weight", "unit", code=0)
    assert "J 32 (messages x distance), the same as in order" in run.stderr
