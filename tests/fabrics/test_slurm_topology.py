"""Slurm's topology.conf: known answers and faults by line."""

import sys

import pytest

from helpers.errors import mentions
from helpers.machine_files import SCONTROL, SLURM, YAML, put
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics import slurm
from hopbytes.fabrics.slurm import GridOfHosts, read_records, read_slurm_topology, read_slurm_yaml


@pytest.mark.parametrize("text", [SLURM, SCONTROL])
def test_slurm_trees(tmp_path, text):
    tree = read_slurm_topology(put(tmp_path, text)).leveled()
    assert tree.levels == ("leaf", "node")
    assert tree.counts == ((2,), (3, 2))
    assert tree.hosts == ("n1", "n2", "n3", "n4", "n5")


def test_uneven_heights_and_forests(tmp_path):
    text = "SwitchName=top Switches=mid,low\nSwitchName=mid Switches=in\nSwitchName=in Nodes=a,b\n"
    text += "SwitchName=low Nodes=c\nSwitchName=alone Nodes=d,a\nSwitchName=void Nodes=a\n"
    tree = read_slurm_topology(put(tmp_path, text)).leveled()
    # top stands two levels above the leaves; low and alone are padded to that depth. The level in which
    # nothing branches (mid - in, low - low) is left out.
    assert tree.levels == ("switch3", "switch2", "node")
    assert tree.counts == ((2,), (2, 1), (2, 1, 1))
    assert tree.hosts == ("a", "b", "c", "d")
    assert [notice.split(":")[0] for notice in tree.notices] == [
        "2 nodes are named more than once",
        "1 of 6 switches have no node below them",
        "2 switches have nothing above them",
    ]


@pytest.mark.parametrize(("text", "message"), [
    ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "file:2 'a' 1"),
    ("SwitchName=a Switches=b\n", "file:1 'b' 'a'"),
    ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "file:1 'a'"),
    (
        "SwitchName=a Switches=c,d\nSwitchName=b Switches=c,e\n"
        "SwitchName=c Nodes=n\nSwitchName=d Nodes=m\nSwitchName=e Nodes=o\n",
        "file:2 'c'",
    ),
    ("SwitchName=a Nodes=n[1-\n", "file:1"), ("SwitchName=a\n", "no node below any switch"),
    ("hello\n", "file:1 'hello' KEY=VALUE"),
    ("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", "both switches and blocks"),
    ("BlockName=b Nodes=n2\nBlockSizes=4,6\n", "file:2 6 4"),
    ("BlockName=b Nodes=n2\nBlockSizes=4,4\n", "file:2 size 4 after 4"),
    ("BlockName=b Nodes=n2\nBlockSizes=x\n", "file:2 BlockSizes=x"),
    ("BlockName=b Nodes=n2\nBlockSizes=0\n", "file:2 BlockSizes=0"),
    ("BlockName=b Nodes=n2\nBlockSizes=4,2\n", "file:2 2 4"), ("Topology=x\n", "file:1 topology="),
    ("BlockName=b Nodes=n2\nBlockSizes=4,8,24\n", "file:2 24 8 4"),
    ("# nothing\n", "SwitchName= BlockName="),
    ("SwitchName=a Nodes=n1 \\", "ends in a continued line"),
    ("SwitchName=a Nodes=\n", "no node below any switch"),
    ("SwitchName=a Nodes=n1 Switches=b\n", "file:1 'a' refuses"),
    ("SwitchName=a Nodes=n1 Speed=4\n", "file:1 Speed= Slurm"),
    ("SwitchName=a Nodes=\"n1\n", "file:1 Nodes"), ("SwitchName=a Nodes=n1 nodes=n2\n", "file:1 nodes"),
    ("BlockName=b Nodes=n2\nBlockSizes=4,12\n", "file:2 12 4 powers"),
    ("Include ../other\n", "file:1 ../other same folder"),
    ("Include absent\n", "file:1 absent same folder"),
])  # fmt: skip
def test_slurm_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_slurm_topology(put(tmp_path, text)).leveled()


#: Three pods of two leaves and two spines; each of two planes of cores joins one spine of every pod.
PLANES = "".join(
    f"SwitchName=p{pod}l{leaf} Nodes=n[{4 * pod + 2 * leaf}-{4 * pod + 2 * leaf + 1}]\n"
    for pod in range(3) for leaf in range(2)
) + "".join(f"SwitchName=p{pod}s{spine} Switches=p{pod}l[0-1]\n" for pod in range(3) for spine in range(2)
) + "".join(f"SwitchName=c{plane}{core} Switches=p[0-2]s{plane}\n" for plane in range(2) for core in range(2))


def test_several_spines_above_the_same_leaves(tmp_path):
    """Slurm's second example, and what slurmibtopology prints of a fat tree of three levels."""
    spines = "".join(f"SwitchName=s{spine} Switches=s[0-1] LinkSpeed=1800\n" for spine in (2, 3, 4))
    text = "SwitchName=s0 Nodes=n[0-1] LinkSpeed=900\nSwitchName=s1 Nodes=n[2-3] LinkSpeed=900\n" + spines
    tree = read_slurm_topology(put(tmp_path, text)).leveled()
    assert (tree.levels, tree.counts) == (("leaf", "node"), ((2,), (2, 2)))
    assert tree.notices == ("switches above the same switches are one: s2, s3, s4",)
    lost = text.replace("SwitchName=s3 Switches=s[0-1]", "SwitchName=s3 Switches=s1")  # a cable is missing
    again = read_slurm_topology(put(tmp_path, lost)).leveled()
    assert (again.counts, again.notices) == (tree.counts, tree.notices)
    tree = read_slurm_topology(put(tmp_path, PLANES)).leveled()
    assert (tree.levels, tree.counts) == (("switch2", "leaf", "node"), ((3,), (2,) * 3, (2,) * 6))
    assert tree.hosts == tuple(f"n{node}" for node in range(12))


@pytest.mark.parametrize("text", [
    "SwitchName = s1 Nodes = n[1-2]\nSwitchName= s2 Nodes ='n[3-4]'\n"
    "SWITCHNAME=s3 switches='s[1-2]' # top\n",
    "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 \\\n Nodes=n[3-4]\nSwitchName=s4\n"
    "SwitchName=s3 Switches=s[1-2,4]",
    "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4] LinkSpeed=9\n"
    "SwitchName=s4 Level=0 LinkSpeed=1 Nodes= \nSwitchName=s5 Nodes= LinkSpeed=1\n"
    "SwitchName=s3 Switches=s[1-2]\n",
])  # fmt: skip
def test_blanks_quotes_and_switches_without_nodes(tmp_path, text):
    tree = read_slurm_topology(put(tmp_path, text.replace("'", '"'))).leveled()
    assert (tree.levels, tree.hosts) == (("leaf", "node"), ("n1", "n2", "n3", "n4"))


def test_an_included_file_lies_beside_the_first_and_is_not_quoted(tmp_path):
    path = put(tmp_path, "SwitchName=s1 Nodes=n1\nINCLUDE more.conf\n")
    (tmp_path / "more.conf").write_text("SwitchName=s2 Nodes=n2\nSwitchName=s3 Switches=s[1-2]\n")
    assert read_slurm_topology(path).leveled().hosts == ("n1", "n2")
    (tmp_path / "more.conf").write_text("SwitchName=s2 Nodes=n2\nsecret words\n")
    with pytest.raises(FormatError, match=r"more\.conf:2: ") as caught:
        read_slurm_topology(path)
    assert "secret" not in str(caught.value)
    (tmp_path / "more.conf").write_text("Include more.conf\n")
    with pytest.raises(FormatError, match=r"more\.conf:1: "):
        read_slurm_topology(path)


def test_records_and_their_lines(tmp_path, monkeypatch):
    """Continued lines count from their first; keys are written in any case, values in quotes or not."""
    text = 'SwitchName=a \\\n\nNodes="n 1" # no\n# x \\\nswitchname=b nodes= LinkSpeed=1\n LEVEL = 2 \\\n'
    text += ' Topology=""'
    path = put(tmp_path, text)
    assert list(read_records(path)) == [
        (path, 1, {"switchname": "a"}), (path, 3, {"nodes": "n 1"}),
        (path, 5, {"switchname": "b", "nodes": "", "linkspeed": "1"}),
        (path, 6, {"level": "2", "topology": ""}),
    ]  # fmt: skip
    monkeypatch.setattr(slurm, "LONGEST_LINE", 20)
    assert len(list(read_records(put(tmp_path, "Nodes=n \\\nLevel=3 \\\n  # x\n")))) == 1
    with pytest.raises(FormatError, match=mentions("file:2", "20")):
        list(read_records(put(tmp_path, "\nNodes=n \\\nLevel=3 \\\nSwitches=\\\na\n")))
    with pytest.raises(FormatError, match=mentions("file:2", "21", "20")):
        list(read_records(put(tmp_path, f"\n{'#' * 21}\n")))


@pytest.mark.parametrize(("sizes", "counts", "levels"), [
    ("", ((6,), (1,) * 6), ("block",)), ("1", ((6,), (1,) * 6), ("block",)),
    ("1,2", ((3,), (2, 2, 2), (1,) * 6), ("block2", "block")),
    ("2,4,16", ((3,), (2, 2, 2), (1,) * 6), ("block4", "block")),
    ("3,12", ((2,), (4, 2), (1,) * 6), ("block12", "block")),
    ("1,2,4", ((2,), (2, 1), (2, 2, 2), (1,) * 6), ("block4", "block2", "block")),
])  # fmt: skip
def test_groups_of_blocks(tmp_path, sizes, counts, levels):
    """A size is in nodes, the first is that of a block; the last group may have fewer."""
    text = "".join(f"BlockName=b{n} Nodes=n{n}\n" for n in range(6)) + f"BlockSizes={sizes}\n" * bool(sizes)
    tree = read_slurm_topology(put(tmp_path, text)).leveled()
    assert (tree.levels, tree.counts) == ((*levels, "node"), counts)
    shown = "".join(
        f"BlockName=b{n} BlockIndex={n} Nodes=n{n} BlockSize={sizes.partition(',')[0]}\n" for n in range(6)
    ) + "".join(f"AggregatedBlock=x Nodes=n0 BlockSize={size}\n" for size in sizes.split(",")[:0:-1])
    if sizes:
        tree = read_slurm_topology(put(tmp_path, shown)).leveled()
        assert (tree.levels, tree.counts) == ((*levels, "node"), counts)


def test_slurm_yaml_says_the_same(tmp_path):
    path = put(tmp_path, YAML)
    assert read_slurm_yaml(path).leveled().counts == ((2,), (3, 2))
    blocks = read_slurm_yaml(path, "blocks").leveled()
    # Groups of two blocks; the last one is a block short.
    assert (blocks.levels, blocks.counts) == (("block4", "block", "node"), ((2,), (2, 1), (2, 2, 2)))
    assert read_slurm_yaml(path, "pod") == GridOfHosts((2, 1, 2), ("t1", "t2", "t3", "t4"))
    with pytest.raises(FormatError, match=mentions("'x'", "topology=NAME")):
        read_slurm_yaml(path, "x")


@pytest.mark.parametrize(("text", "message"), [
    ("- topology: a\n  tree: {switches: [{switch: s, nodes: n, children: t}]}\n", "file:2"),
    ("- topology: a\n  tree: {switches: [{switch: s, node: n}]}\n", "file:2 node: nodes"),
    ("- topology: a\n  flat: true\n  block: {blocks: [{block: b, nodes: n}]}\n", "file:1 block flat"),
    ("- topology: a\n  flat: false\n", "file:1 none"),
    ("- topology: a\n  wide: 1\n  flat: true\n", "file:2 wide"),
    ("- topology: a\n  ring: {rings: [{ring: r, nodes: n, wrap: 1}]}\n", "file:2 wrap"),
    ("- topology: a\n  ring: {size: 2, rings: [{ring: r, nodes: n}]}\n", "file:2 size"),
    ("- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-17]'}]}\n", "file:2 17 16"),
    ("- topology: a\n  block: {block_sizes: [4, 12], blocks: []}\n", "file:2 12"),
    ("- topology: a\n", "file:1"), ("a: [1\n", "file:2"), ("&x [*x]\n", "file:1"),
    ("- topology: a\n  tree: 5\n", "file:2 '5'"), ("[" * 60 + "]" * 60, "more than 50 levels"),
    ("- topology: a\n  torus3d: {toruses: [{dims: {x: 2, y: 2, z: 2}, nodes: 'n[1-7]'}]}\n", "7 2"),
    ("a: 1\na: 2\n", "file:2"), ("- topology: a\n  tree: {}\n", "file:2 switches:"),
    ("- tree: {switches: []}\n", "file:1 topology:"),
    ("- topology: a\n  block: {sizes: 1, blocks: []}\n", "file:2 sizes: block_sizes"),
    ("- topology: a\n  tree: {root: x, switches: []}\n", "file:2 root: switches"),
    ("- topology: a\n  ring: {rings: [{ring: r}]}\n", "file:2 nodes"),
    ("- topology: a\n  flat: true\n- topology: a\n  flat: true\n", "file:3 'a'"),
    ("- topology: a\n  flat: true\n- topology: b\n  flat: true\n", "default topology=NAME a, b"),
    ("- topology: a\n  block: {blocks: [{nodes: n}]}\n", "file:2 block:"),
    ("- topology: a\n  block: {blocks: [{block: b, node: n}]}\n", "file:2 node"),
    ("- topology: a\n  tree: {switches: [{nodes: n}]}\n", "file:2 switch:"), ("[]", "no topology none"),
    ("- topology: a\n  torus3d: {toruses: [{dims: {x: 2, y: 2}, nodes: 'n[1-4]'}]}\n", "file:2 dims"),
    ("- topology: a\n  torus3d: {toruses: [{dims: {x: 4097, y: 1, z: 1}, nodes: n}]}\n", "file:2 4096"),
])  # fmt: skip
def test_yaml_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_slurm_yaml(put(tmp_path, text))


def test_flat_and_rings(tmp_path):
    with pytest.raises(UnsupportedError, match="flat topology"):
        read_slurm_yaml(put(tmp_path, "- topology: a\n  flat: true\n"))
    text = "- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-16]'}]}\n"  # the largest one
    assert read_slurm_yaml(put(tmp_path, text)) == GridOfHosts((16,), tuple(f"n{i}" for i in range(1, 17)))


@pytest.mark.parametrize(("body", "words"), [
    ("ring: {rings: [{ring: r, nodes: a}, {ring: s, nodes: b}]}", "2 rings"),
    ("ring: {rings: []}", "0 rings"),
    ("torus3d: {toruses: [{name: t, dims: {x: 1, y: 1, z: 1}}]}", "regions"),
    ("torus3d: {toruses: [{name: t, nodes: a}]}", "regions"),
])  # fmt: skip
def test_what_of_yaml_is_not_read(tmp_path, body, words):
    with pytest.raises(UnsupportedError, match=mentions("file:2", words)):
        read_slurm_yaml(put(tmp_path, f"- topology: a\n  {body}\n"))


def test_of_several_defaults_the_first_counts(tmp_path):
    text = "".join(
        f"- topology: {name}\n  cluster_default: {default}\n"
        f"  tree: {{switches: [{{switch: s, nodes: {name}}}, {{switch: empty}}, {{switch: t, nodes: }}]}}\n"
        for name, default in (("a", "False"), ("b", "True"), ("c", "yes"))
    )
    assert read_slurm_yaml(put(tmp_path, text)).leveled().hosts == ("b",)


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UnsupportedError, match=r"needs PyYAML: pip install pyyaml$"):
        read_slurm_yaml(put(tmp_path, YAML))
