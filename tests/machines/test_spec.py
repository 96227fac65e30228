"""The text form of machines: known answers, round trips, and one-line errors for everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import EXAMPLES, ROOT, SHARED_SAMPLES
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.machines.base import Level
from hopbytes.machines.spec import from_hierarchy, kind_of_file, parse_machine, with_distances
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.show.describe import explain


def test_names_counts_and_distances():
    tree = parse_machine("island:2@100 node:[3,1]@10:bw=1e9:lat=2e-6 core:4@1")
    assert tree == Tree(
        (Level("island", 100), Level("node", 10, 1e9, 2e-6), Level("core", 1)), (2, (3, 1), 4)
    )
    assert tree.n_cores == 16
    with pytest.raises(FormatError, match="a tree without levels"):
        Tree((), ())


def test_omitted_distances_are_powers_of_ten_from_the_inside():
    assert [level.distance for level in parse_machine("a:2 b:2 c:2").levels] == [100, 10, 1]
    assert parse_machine("node:2@40 core:2").spec() == "node:2@40 core:2@1"


def test_blanks_inside_a_list_are_harmless():
    assert parse_machine(" node:2  core:[4, 3] ") == parse_machine("node:2 core:[4,3]")


def test_papers_notation_is_innermost_first():
    tree = from_hierarchy("4:2:3", "1:10:100")
    assert tree.spec() == "level3:3@100 level2:2@10 level1:4@1"
    distance = tree.distance().matrix()
    # Worked check of the process mapping paper (its blocks 1, 4, 6 and 14 are places 0, 3, 5 and 13).
    assert [distance[0, place] for place in (3, 5, 13)] == [1, 10, 100]


def test_distances_can_be_replaced_by_level():
    tree = parse_machine("node:2@9 core:2@1")
    assert with_distances(tree, "core=3, node=12").spec() == "node:2@12 core:2@3"


def test_groups_merge_levels_of_equal_distance_and_leave_out_what_does_not_split():
    where = Allocation.whole(parse_machine("island:1@50 node:2@10 package:2@10 core:[3,1,2,1]@1"))
    assert [grouping.tolist() for grouping in where.groups()] == [
        [0, 0, 0, 1, 2, 2, 3],
        [0, 1, 2, 3, 4, 5, 6],
    ]
    assert [grouping.tolist() for grouping in Allocation.whole(parse_machine("core:1")).groups()] == [[0]]


@pytest.mark.parametrize(("text", "words"), [
    ("", "empty spec"), ("core", "'core', expected NAME:COUNT"),
    ("core:0", "count '0', expected an integer >= 1"), ("core:-3", "count '-3'"), ("core:nan", "count 'nan'"),
    ("core:1e12", "count '1e12'"), ("core:1000000000000", "more than 16777216 units"),
    ("core:" + "9" * 5000, "count '999"),
    ("node:4096 core:4097", "more than 16777216 units at level core"),
    ("node:[8,8,6]@10 core:2", "expected one for each of the 1 unit outside it: 3 unequal nodes"),
    ("node:2 core:[1,2,3]", "core lists 3 counts, expected one for each of the 2 units outside it"),
    ("node:2 core:[]", "count ''"), ("node:2 node:2", "'node' twice"),
    ("node:2@1 core:2@5", "distance 1 of node is below 5 of core"),
    ("core:2@1.5", "distance '1.5', expected an integer"),
    ("core:2@", "distance ''"), ("core:2@99999999999999999999", "distance '9999"),
    ("core:2@9000000000000000000", "distance 9000000000000000000 of core"),
    ("core:2:bw=fast", "'bw=fast', expected a number"), ("core:2:bw=nan", "bw=nan of core"),
    ("core:2:lat=-1", "lat=-1.0 of core"), ("core:2:bw=1:bw=2", "each once"),
    ("core:2:colour=red", "'colour=red', expected bw=NUMBER, lat=NUMBER, over=NUMBER or cap=N"),
    (" ".join(f"l{i}:1" for i in range(65)), "65 levels"),
    ("node:4:rails gpu:8", "expected them at gpu"), ("gpu:8:rails", "hosts right above"),
    ("node:4 package:2 gpu:4:rails", "hosts right above"),
    ("node:4@11 gpu:8:rails", "distance 11"), ("node:4@0 gpu:8:rails", "distance 0"),
    ("rack:2@40 node:4 gpu:8:rails", "distance above the hosts"),
    ("a:2 b:2 node:4 gpu:2:rails", "'a b'"),
    ("domain:2 pod:2 node:2 gpu:2:rails", "'domain pod'"),
    ("node:4 gpu:[2,2,2,3]:rails", "unequal counts"), ("node:4:rails gpu:8:rails", "expected them at gpu"),
    ("node:4 gpu:8:rails:rails", "'rails'"), ("node:4 gpu:8:rails=8", "'rails=8'"),
    ("node:99999 gpu:99:rails", "tables"),
    ("trea:foo", "did you mean tree"), ("zzz:foo", "'zzz' is not a machine kind (known: "),
    ("ñ:2", "level name"),
])  # fmt: skip
def test_errors_name_the_part_and_what_was_expected(text, words):
    with pytest.raises(FormatError) as caught:
        parse_machine(text)
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert len(message) < 400


def test_more_label_bits_than_a_word_holds():
    # Every level has one unit of 5 children among units of 1: 3 bits each, yet few cores.
    levels, units = ["a:5@1"], 5
    for number in range(21):
        levels.append(f"b{number}:[5" + ",1" * (units - 1) + "]@1")
        units += 4
    for last, bits in (("[5", 66), ("[3", 65)):
        levels[-1] = levels[-1].replace("[5", last)
        with pytest.raises(FormatError, match=f"{bits} bits of label"):
            parse_machine(" ".join(levels))


@pytest.mark.parametrize(("hierarchy", "distance", "words"), [
    ("4:8", "1:10:100", "3 2"), ("4:x", None, "'x' '4:x'"), ("4:0", None, "'0' '4:0'"),
    ("", None, "'' in ''"),
    ("4:8", "10:1", "expected distances that do not shrink outwards"),
    (":".join(["1"] * 70), None, "70 levels"),
])  # fmt: skip
def test_errors_of_the_papers_notation(hierarchy, distance, words):
    with pytest.raises(FormatError, match=mentions(*words.split())):
        from_hierarchy(hierarchy, distance)


def test_trees_nest():
    assert parse_machine("rack:2@20 node:2@10 / package:2@2 core:[1,2]@1").spec() == (
        "rack:2@20 node:2@10 package:2@2 core:[1,2,1,2,1,2,1,2]@1"
    )
    assert parse_machine("node:2@10 / core:[1,2]@1").spec() == "node:2@10 core:[1,2]@1"


def test_a_table_has_no_inside(tmp_path):
    (tmp_path / "t").write_text("0 1\n1 0\n")
    with pytest.raises(UnsupportedError, match="expected a network"):
        parse_machine(f"table:{tmp_path}/t / core:2")


pieces = st.sampled_from(
    ["node", "core", ":", "@", "[", "]", ",", "=", "bw", " ", " / ", "2", "0", "-1", "1e9", "10", "é", "\n"]
)


@given(st.one_of(st.text(max_size=40), st.lists(pieces, max_size=14).map("".join)), st.text(max_size=12))
def test_any_text_is_a_machine_or_an_error_of_ours(text, distance):
    readers = (
        lambda: parse_machine(text), lambda: with_distances(parse_machine(text), distance),
        lambda: from_hierarchy(text),
    )  # fmt: skip
    for read in readers:
        try:
            machine = read()
        except HopbytesError as error:
            assert "\n" not in str(error)  # noqa: PT017 - both outcomes are fine, no raise is required
        else:
            assert parse_machine(machine.spec()) == machine


@pytest.mark.parametrize(("levels", "spec"), [
    ("node:4 gpu:8:rails", "rails:4x8@10 / gpu:8@1"),
    ("node:4@20 gpu:8@1:rails", "rails:4x8@10 / gpu:8@1"),
    ("pod:2 node:4 gpu:8:rails", "rails:8x8:pod=4@10 / gpu:8@1"),
    ("rack:2 node:4 gpu:2:rails core:3", "rails:8x2:pod=4@100 / gpu:2@10 core:3@1"),
    ("pod:2 domain:3 node:2 gpu:4:rails", "rails:12x4:domain=2:pod=6@10 / gpu:4@1"),
    ("nodes:64 gpus:8:rails", "rails:64x8:pod=64@10 / gpu:8@1"),
    (
        "node:4:bw=50e9 gpu:8:rails:bw=450e9:lat=1e-6",
        "rails:4x8:bw=450000000000x50000000000x50000000000@10 / gpu:8@1:bw=4.5e+11:lat=1e-06",
    ),
    ("node:4 gpu:8:rails / core:4", "rails:4x8@100 / gpu:8@10 core:4@1"),
])  # fmt: skip
def test_levels_are_a_machine_with_rails(levels, spec):
    machine = parse_machine(levels)
    assert machine.spec() == spec
    assert parse_machine(spec) == machine


def test_distances_depend_on_the_rail():
    """Host 0 of 2 x 2 hosts with two GPUs: its own, then per host the same rail and the other one."""
    where = hb.allocate("pod:2 node:2@20 gpu:2@1:rails")
    assert where.distance.matrix()[0].tolist() == [0, 1, 20, 40, 40, 40, 40, 40]


def test_hosts_of_a_file_may_be_inside():
    file = ROOT / "tests/samples/hwloc/v2_smt_gpus.xml"
    gpus = parse_machine(f"hwloc:{file}").inventory.tree(0).gpus
    where = hb.allocate(f"node:3 gpu:{len(gpus)}:rails / hwloc:{file}")
    assert where.machine.network() is not None
    assert len(set(where.node_of_pe.tolist())) == 3


#: Samples that alone are nothing, and what is said instead of a list of formats.
SAID = {
    "bin": "dumpi2ascii", "def": "NAME.otf2", "evt": "NAME.otf2",
    "mpiP": "without a communication matrix", "rankfile": "the machine with these nodes",
    "ibsim_net": "routes=shortest", "2sw2path4hca": "routes=shortest",
    "testtrace-0000.txt": "ranks are missing",
    "_count.csv": "the message counts of",
}  # fmt: skip
#: Folders whose files are all of one kind; and what is no file to show, or part of something else.
FOLDERS = ("hwloc", "slurm", "simgrid", "scotch", "topograph")
OTHERS = (
    "README.md", "sample.slurm.json", "resources.txt", "scorep.cfg", "testtrace.meta", "sample.xtdb2proc",
    "IB-fe80_0000_0000_0001-nodes.txt",
)  # fmt: skip
PARTS = ("torus", "bgq", "mappings", "ibroutes", "ndr_dgx_40sw", "avakas_sim", "avakas")


@pytest.mark.parametrize(("name", "kind"), [
    ("platform.xml", "simgrid"), ("topology.conf", "slurm"), ("fabric/ibnetdiscover.txt", "ib"),
])  # fmt: skip
def test_examples_without_their_kind(name, kind):
    assert kind_of_file(str(EXAMPLES / name)) == kind
    if kind != "ib":
        assert hb.allocate(str(EXAMPLES / name)).machine == hb.allocate(f"{kind}:{EXAMPLES / name}").machine


@pytest.mark.parametrize(("text", "kind"), [
    ("# switches\n\n---\n- topology: a\n  flat: true\n", "slurm"),
    ("blocks:\n- nodes: [a]\n", "topograph"), ("tleaf 1 4 1\n", "scotch"), ("0 1 5\n1 0 5\n", None),
    ("rank 0=a slot=0\n", None), ("", None), ('{"a": 1}', None), ("<ipm>\n", None),
])  # fmt: skip
def test_beginnings(tmp_path, text, kind):
    path = tmp_path / "file"
    path.write_text(text)
    assert kind_of_file(str(path)) == kind


def test_long_beginnings_of_nothing_are_no_work(tmp_path):
    path = tmp_path / "file"
    for piece in ("\n", " \n", "# a\n", "<", "1 2\n", 'Ca 1\n'):  # ends, unlike a search of all ways
        path.write_text(piece * 5000)
        assert kind_of_file(str(path)) is None


def test_what_to_do_instead(tmp_path):
    path = tmp_path / "trace.bin"
    path.write_bytes(b"\xff\xaa\xddDUMPI\0\n")
    with pytest.raises(FormatError, match=mentions("dumpi2ascii")):
        hb.read(path)


@pytest.mark.shared
def test_every_sample_loads_or_says_what_to_do():
    unexplained = []
    for path in sorted(SHARED_SAMPLES.rglob("*")):
        if not path.is_file() or path.name in OTHERS or path.parent.name in PARTS:
            continue
        assert path.parent.name not in FOLDERS or kind_of_file(str(path)) == path.parent.name, path
        try:
            explain(str(path))
        except HopbytesError as error:
            known = [said for part, said in SAID.items() if part in path.name]
            if not any(said in str(error) for said in known) or "\n" in str(error):
                unexplained.append(f"{path.relative_to(SHARED_SAMPLES)}: {error}"[:150])
    assert not unexplained


def test_levels_that_are_oversubscribed():
    """Units send 1/N of what their nodes could send outwards; without a distance they are farther."""
    spec = "leaf:2@400:over=4 node:4@10:bw=1e+09:lat=1e-06 core:4@1"
    machine = parse_machine("leaf:2:over=4 node:4:bw=1e9:lat=1e-6 core:4")
    assert machine.spec() == spec
    assert parse_machine("leaf:2@50:over=2.5 node:4@10 core:4@1").levels[0].distance == 50
    graph = hb.CommGraph.from_edges(range(16), range(16, 32), [10**6] * 16)
    known = hb.simulate(graph, hb.Mapping(range(32), hb.allocate(machine)))
    assert known.seconds == pytest.approx(16e-3, rel=1e-2)
    for wrong in ("0.5", "x", "nan", "1e300"):
        with pytest.raises(FormatError, match="over="):
            parse_machine(f"leaf:2:over={wrong} node:4 core:4")
