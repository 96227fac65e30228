"""Topograph's models of clusters."""

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.machine_files import put
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.topograph import read_topograph


def test_topograph(tmp_path):
    text = "switches:\n  top: {switches: [l1, l2]}\nblocks:\n"
    text += "- {switch: l1, nodes: ['n[1-2]'], annotations: {a/domain: nvl1}}\n- {switch: l1, nodes: [n3]}\n"
    text += "- {switch: l2, nodes: [n4]}\n"
    tree = read_topograph(put(tmp_path, text)).leveled()
    assert (tree.levels, tree.counts) == (("leaf", "block", "node"), ((2,), (2, 1), (2, 1, 1)))
    with pytest.raises(FormatError, match=mentions("file:4", "'l9'")):
        read_topograph(put(tmp_path, text.replace("switch: l1, nodes: ['n", "switch: l9, nodes: ['n")))


SWITCHES = """switches:
  core: {switches: [spine-1, spine-2, spine-3]}
  spine-1: {switches: [leaf-1, leaf-2]}
  spine-2: {switches: [leaf-3, leaf-4]}
  spine-3: {switches: [leaf-5, leaf-6]}
blocks:
"""
LABEL = (
    "- {{switch: leaf-{0}, nodes: ['{1}[1-3]'], labels: {{network.topology.nvidia.com/accelerator: {2}}}}}\n"
)
NOTE = (
    "- {{switch: leaf-{0}, nodes: ['{1}[1-3]'], "
    "annotations: {{a.b/domain: {2}, a.b/sub-domain: leaf-{0}}}}}\n"
)


def model(tmp_path, form, domains):
    path = tmp_path / "model.yaml"
    blocks = [form.format(leaf + 1, "abcdef"[leaf], domain) for leaf, domain in enumerate(domains)]
    path.write_text(SWITCHES + "".join(blocks))
    return str(path)


@pytest.mark.parametrize("form", [LABEL, NOTE])
def test_a_domain_of_several_spines_is_a_level_above_them(tmp_path, form):
    path = model(tmp_path, form, ["nvl-1"] * 4 + ["nvl-2"] * 2)
    tree = read_topograph(path).leveled()
    assert tree.levels == ("domain", "switch2", "leaf", "node")
    assert tree.hosts == tuple(f"{rack}{number}" for rack in "abcdef" for number in (1, 2, 3))
    assert not tree.notices
    apart = hb.allocate(f"topograph:{path}").machine.distance()
    assert [apart.between(0, other) for other in (1, 3, 6, 12)] == [40, 60, 80, 100]


def test_a_domain_that_is_all_of_a_spine_is_that_spine(tmp_path):
    tree = read_topograph(model(tmp_path, NOTE, ["d1", "d1", "d2", "d2", "d3", "d3"])).leveled()
    assert tree.levels == ("switch2", "leaf", "node")
    assert tree.counts == ((3,), (2, 2, 2), (3,) * 6)


def test_parts_of_a_switch_in_different_domains(tmp_path):
    """NVLink is nearer than the switch: leaf 3 goes with spine 1 and leaf 4 with spine 3."""
    path = model(tmp_path, LABEL, ["nvl-1"] * 3 + ["nvl-2"] * 3)
    where = hb.allocate(f"topograph:{path}")
    apart = where.machine.distance()
    assert [where.hosts[i] for i in (6, 9)] == ["c1", "d1"]
    assert apart.between(0, 6) < apart.between(6, 9)
    assert apart.between(12, 9) < apart.between(6, 9)
    said = "NVLink domain nvl-1 has only a part of the nodes of spine-2"
    assert any(said in notice for notice in where.notices)


def test_domains_without_switches(tmp_path):
    path = tmp_path / "model.yaml"
    blocks = [f"- {{nodes: [n{i}], annotations: {{x/domain: d{i // 2}}}}}\n" for i in range(4)]
    path.write_text("blocks:\n" + "".join(blocks))
    apart = hb.allocate(f"topograph:{path}").machine.distance()
    assert apart.between(0, 1) < apart.between(1, 2) == apart.between(0, 3)


def test_a_rack_named_like_a_switch_and_a_domain_named_like_both(tmp_path):
    tree = read_topograph(model(tmp_path, LABEL, ["core"] * 4 + ["leaf-5", "leaf-6"])).leveled()
    assert len(tree.hosts) == 18
