"""Nodes at places told node by node: labels of Kubernetes, tables of switches, addresses of Slurm."""

import json

import pytest

import hopbytes as hb
from helpers.errors import refused
from hopbytes.errors import FormatError

NVIDIA = "network.topology.nvidia.com"


def machine(folder, content):
    path = folder / "places"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return hb.allocate(f"labels:{path}").machine


def shape(found):
    return [level.name for level in found.levels], found.known_hosts.names


def test_labels_of_topograph(tmp_path):
    """A domain of two leaves lies outside them, as it has fewer values."""
    items = [
        {"metadata": {"name": f"n{node}", "labels": {
            f"{NVIDIA}/accelerator": f"nvl{node // 4}", f"{NVIDIA}/leaf": f"s{node // 2}",
            f"{NVIDIA}/core": "c", "other": "x",
        }}}
        for node in range(8)
    ]  # fmt: skip
    found = machine(tmp_path, {"kind": "List", "items": items})
    assert shape(found) == (["domain", "leaf", "node"], tuple(f"n{node}" for node in range(8)))
    assert found.ancestors(0).tolist() == [0] * 4 + [1] * 4
    assert found.ancestors(1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_tiers_of_topograph(tmp_path):
    tier = "fabric.topograph.run/tier-"
    nodes = {f"n{node}": {f"{tier}1": f"a{node // 4}", f"{tier}0": f"b{node // 2}"} for node in range(8)}
    found = machine(tmp_path, nodes)
    assert shape(found) == (["tier1", "tier0", "node"], tuple(nodes))
    assert found.ancestors(1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_table_of_addresses_and_switches(tmp_path):
    found = machine(tmp_path, {"10.0.0.1": "sw1", "10.0.0.2": "sw2", "10.0.0.3": "sw1"})
    assert shape(found) == (["leaf", "node"], ("10.0.0.1", "10.0.0.3", "10.0.0.2"))
    lists = {"a": ["r1", "s"], "b": ["r2", "s"], "c": ["r1", "t"], "d": ["r2", "t"]}
    found = machine(tmp_path, lists)
    assert found.ancestors(0).tolist() == [0, 0, 1, 1]  # the two switches called s are different ones
    assert found.known_hosts.names == ("a", "c", "b", "d")


@pytest.mark.parametrize("lines", [
    "root.s1.n1 switch.switch.node\nroot.s1.n2 switch.switch.node\nroot.s2.n3 switch.switch.node\n",
    "n1 root.s1.n1\nn2 root.s1.n2\nn3 root.s2.n3\n",
    "# from srun\nroot.s1.n1\n\nroot.s1.n2\nroot.s2.n3\n",
])  # fmt: skip
def test_addresses_of_slurm(tmp_path, lines):
    found = machine(tmp_path, lines)
    assert shape(found) == (["leaf", "node"], ("n1", "n2", "n3"))
    assert found.ancestors(0).tolist() == [0, 0, 1]


def test_names_with_domains(tmp_path):
    lines = "s1.n1.x.org switch.node\ns2.n2.x.org switch.node\n"
    assert machine(tmp_path, lines).known_hosts.names == ("n1.x.org", "n2.x.org")
    assert machine(tmp_path, "n1\nn2\n").known_hosts.names == ("n1", "n2")  # topology/default


@pytest.mark.parametrize(("content", "words"), [
    ("", "empty"), ("{", "not JSON"), ("{}", "no node"), ('{"a": 3}', "expected a switch"),
    ('{"a": {"x": "y"}}', "no node has a known label"), ('{"items": [3]}', "item 0 has no metadata"),
    ({"a": ["r", "s"], "b": ["s"]}, "lies in 1 units, expected 2"),
    ("s1.a\ns2.a\n", ":2: node 'a'"), ("a b c d\n", "does not end with"), ("n1 s1.n2\n", ":1: address"),
    ("s1.a\nb\n", ":2: node 'b'"),
    ('{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}', "a second time"),
    ("[" * 100000, "damaged JSON"), ('{"a":' * 100000, "damaged JSON"),
    ({"kind": "List", "items": [{"kind": "HyperNode", "metadata": {"name": "h1"}}]}, "item 0 is a HyperNode"),
    *((text, ":1: YAML or a table of kubectl, expected JSON: kubectl get nodes -o json") for text in (
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n", "---\napiVersion: v1\nkind: List\n",
        "NAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    <none>   3d    v1.31.0\n",
        "NAME   BLOCK\nn1     b1\n", "Name:   n1\nRoles:  <none>\n",
        "# mine\n- apiVersion: v1\n  kind: Node\n",
    )),
])  # fmt: skip
def test_bad_files_are_one_line(tmp_path, content, words):
    with refused(FormatError, words):
        machine(tmp_path, content)


#: Labels by cloud, outermost first, as its documentation lists them; the last row has the kinds expected.
CLOUDS = {
    "EKS": ("topology.k8s.aws/network-node-layer-1", "topology.k8s.aws/network-node-layer-2",
            "topology.k8s.aws/network-node-layer-3"),
    "EKS, four layers": ("topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3",
                         "topology.k8s.aws/network-node-layer-4"),
    "EKS, UltraServer": ("topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3",
                         "topology.k8s.aws/ultraserver-id"),
    "GKE": ("topology.kubernetes.io/zone", "cloud.google.com/gce-topology-block",
            "cloud.google.com/gce-topology-subblock"),
    "GKE, older": ("topology.gke.io/cluster", "topology.gke.io/rack", "topology.gke.io/host"),
    "OKE": ("oci.oraclecloud.com/rdma.hpc_island_id", "oci.oraclecloud.com/rdma.network_block_id",
            "oci.oraclecloud.com/rdma.local_block_id"),
    "OKE, GB200": ("oci.oraclecloud.com/rdma.network_block_id", "oci.oraclecloud.com/rdma.local_block_id",
                   "oci.oraclecloud.com/host.gpu_memory_fabric_id"),
    "CoreWeave": ("backend.coreweave.cloud/fabric", "backend.coreweave.cloud/superpod",
                  "backend.coreweave.cloud/leafgroup"),
    "CoreWeave, InfiniBand": ("ib.coreweave.cloud/fabric", "ib.coreweave.cloud/superpod",
                              "ds.coreweave.com/nvlink.domain"),
    "Nebius": ("topology.nebius.com/gpu-cluster-id", "topology.nebius.com/tier-2",
               "topology.nebius.com/tier-1"),
    "Crusoe": ("topology.kubernetes.io/zone", "crusoe.ai/ib.partition.id", "crusoe.ai/pod.id"),
    "ACK Lingjun": ("topology.kubernetes.io/zone", "alibabacloud.com/point-of-delivery",
                    "alibabacloud.com/asw-id"),
    "Volcano": ("topology.kubernetes.io/zone", "volcano.sh/hypercluster", "volcano.sh/hypernode"),
    "topograph 0.0": ("network.topology.kubernetes.io/datacenter", "network.topology.kubernetes.io/spine",
                      "network.topology.kubernetes.io/block"),
    "topograph 0.1": (f"{NVIDIA}/datacenter", f"{NVIDIA}/spine", f"{NVIDIA}/block"),
    "topograph 0.5": (f"{NVIDIA}/core", f"{NVIDIA}/spine", f"{NVIDIA}/leaf"),
    "topograph 1.0": ("fabric.topograph.run/tier-1", "fabric.topograph.run/tier-0",
                      "accelerator.topograph.run/domain"),
    "topograph, first": ("topology.kubernetes.io/network-level-3", "topology.kubernetes.io/network-level-2",
                         "topology.kubernetes.io/network-level-1"),
    "GPUStack": ("topology.gpustack.ai/room", "topology.gpustack.ai/row", "topology.gpustack.ai/rack"),
}  # fmt: skip


def kubernetes(labels_of_nodes):
    """What ``kubectl get nodes -o json`` prints."""
    return {"kind": "List", "items": [
        {"kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}}
        for name, labels in labels_of_nodes.items()
    ]}  # fmt: skip


@pytest.mark.parametrize("cloud", CLOUDS)
def test_labels_of_clouds(tmp_path, cloud):
    """Sixteen nodes, two in each innermost unit; units of all levels are numbered from 0."""
    sizes = (8, 4, 2)
    nodes = {
        f"n{node:02}": {label: str(node // size) for label, size in zip(CLOUDS[cloud], sizes, strict=True)}
        for node in range(16)
    }
    found = machine(tmp_path, kubernetes(nodes))
    assert len(found.levels) == 4, "none of the labels is left aside"
    for level, size in enumerate(sizes):
        assert found.ancestors(level).tolist() == [node // size for node in range(16)]
    assert len({level.name for level in found.levels}) == 4


ZONE, BLOCK = "topology.kubernetes.io/zone", "cloud.google.com/gce-topology-block"
LEAF, CLIQUE = f"{NVIDIA}/leaf", "nvidia.com/gpu.clique"


def test_nodes_without_the_labels_of_the_others_are_left_out(tmp_path):
    nodes = {f"g{node}": {ZONE: "z", BLOCK: f"b{node // 2}"} for node in range(4)}
    found = machine(tmp_path, kubernetes({"cp": {ZONE: "z"}, **nodes, "login": {}}))
    assert found.known_hosts.names == ("g0", "g1", "g2", "g3")
    assert "2 of 6 nodes without the labels of the others are left out: cp, login" in found.notices()[0]
    # A label of few nodes is no reason to leave the others out.
    nodes["g0"]["topology.gpustack.ai/rack"] = "tried"
    found = machine(tmp_path, kubernetes(nodes))
    assert found.known_hosts.names == ("g0", "g1", "g2", "g3")
    assert any("gpustack.ai/rack is not used: 3 nodes" in notice for notice in found.notices())
    nodes["g1"]["topology.gpustack.ai/rack"] = "tried"  # that of half of the nodes is
    assert machine(tmp_path, kubernetes(nodes)).known_hosts.names == ("g0", "g1")


def test_nodes_without_nvlink_beside_others_with_it(tmp_path):
    nodes = {f"g{node}": {LEAF: f"s{node // 4}", CLIQUE: f"c{node // 2}"} for node in range(4)}
    nodes |= {f"c{node}": {LEAF: "s1"} for node in range(2)}
    found = machine(tmp_path, kubernetes(nodes))
    assert found.known_hosts.names == ("g0", "g1", "g2", "g3", "c0", "c1")
    assert [level.name for level in found.levels] == ["leaf", "domain", "node"]
    assert found.ancestors(1).tolist() == [0, 0, 1, 1, 2, 3]
    assert any("2 nodes without nvidia.com/gpu.clique (c0 …)" in notice for notice in found.notices())


def test_unknown_labels_are_named_where_known_ones_tell_nothing(tmp_path):
    nodes = {f"n{node}": {ZONE: "z", "cloud.example/rack": f"r{node // 2}", "example/leaf": "one"}
             for node in range(4)}  # fmt: skip
    (notice,) = machine(tmp_path, kubernetes(nodes)).notices()
    assert "same topology.kubernetes.io/zone" in notice
    assert "cloud.example/rack may name switches" in notice
    assert "example/leaf" not in notice.split("labels ")[1].partition(" may")[0].split(", ")
    for labels in nodes.values():
        del labels[ZONE]
    with pytest.raises(FormatError, match=r"no known label|label that names its.*cloud\.example/rack"):
        machine(tmp_path, kubernetes(nodes))
    # Not said where known labels tell nodes apart, or where nothing else might.
    near = {name: {LEAF: labels["cloud.example/rack"], **labels} for name, labels in nodes.items()}
    assert not any("may name switches" in notice for notice in machine(tmp_path, kubernetes(near)).notices())
    assert machine(tmp_path, kubernetes({"a": {ZONE: "z"}, "b": {ZONE: "z"}})).notices() == ()


def test_a_value_of_its_own_for_every_node_is_no_level(tmp_path):
    nodes = {f"n{node}": {BLOCK: f"b{node // 2}", "cloud.google.com/gce-topology-host": f"h{node}"}
             for node in range(4)}  # fmt: skip
    assert [level.name for level in machine(tmp_path, kubernetes(nodes)).levels] == ["block", "node"]


def test_equal_lines_count_once(tmp_path):
    """`srun sh -c` prints a line for every task of a node."""
    found = machine(tmp_path, "n1 s1.n1\nn1 s1.n1\nn2 s2.n2\nn2 s2.n2\nn3 s1.n3\n")
    assert found.known_hosts.names == ("n1", "n3", "n2")
    with pytest.raises(FormatError, match="places:3: node 'n1' a second time"):
        machine(tmp_path, "n1 s1.n1\nn2 s2.n2\nn1 s2.n1\n")


def test_one_node_of_kubernetes(tmp_path):
    items = kubernetes({"n1": {LEAF: "s"}, "n2": {LEAF: "s"}})["items"]
    assert machine(tmp_path, items[0]).known_hosts.names == ("n1",)
    assert machine(tmp_path, items).known_hosts.names == ("n1", "n2")


@pytest.mark.parametrize("kind", ["Pod", "Topology", "JobSet", "Status"])
def test_other_objects_of_kubernetes_are_named(tmp_path, kind):
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}}))
    with refused(FormatError, "nodes.json", kind, "kubectl get nodes"):
        hb.allocate(f"labels:{path}")


@pytest.mark.parametrize("content", [[], {"apiVersion": "v1", "kind": "List", "items": []}])
def test_a_list_without_nodes(tmp_path, content):
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(content))
    with refused(FormatError, "nodes.json", "without nodes", "kubectl get nodes"):
        hb.allocate(f"labels:{path}")
