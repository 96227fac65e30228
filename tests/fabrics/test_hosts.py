"""Which adapters belong to which host, and hosts found by name."""

import pytest

from helpers.errors import mentions
from helpers.machine_files import put
from hopbytes.errors import FormatError
from hopbytes.fabrics.ibnetdiscover import Device
from hopbytes.machines.kinds.ib import group_hosts, read_node_name_map
from hopbytes.text.hostlist import match_hosts


def ports(*names):
    return [Device(str(number), False, name, node_guid=16 + number) for number, name in enumerate(names)]


def test_hosts_and_their_adapters(tmp_path):
    adapters = ports(
        "n10 mlx5_1", "n2 mlx5_0", "n10 mlx5_0", "MT4129 ConnectX7   Mellanox Technologies", "n2 ib9"
    )
    hosts = group_hosts(adapters)
    assert [(host.name, host.adapters, host.named) for host in hosts] == [
        ("n2", (4, 1), True),
        ("n10", (2, 0), True),
        ("guid-0000000000000013", (3,), False),
    ]
    names = read_node_name_map(put(tmp_path, '# ours\n0x13 "n2 mlx5_1"\n0x99 other\n'))
    assert [host.name for host in group_hosts(adapters, names)] == ["n2", "n10"]
    assert [host.adapters for host in group_hosts(adapters, wanted="mlx5_[0-3]")] == [(1,), (2, 0)]
    assert [host.adapters for host in group_hosts(adapters, wanted="ib*")] == [(4,)]
    with pytest.raises(FormatError, match=mentions("'mlx4_0'")):
        group_hosts(adapters, wanted="mlx4_0")
    with pytest.raises(FormatError, match=mentions("file:1")):
        read_node_name_map(put(tmp_path, "n1 0x13\n"))
    with pytest.raises(FormatError, match=mentions("file:2", "0x13")):
        read_node_name_map(put(tmp_path, '0x13 "a"\n0x13 "b"\n'))


def test_names_of_adapters_and_their_ports(tmp_path):
    adapters = [
        Device("1", False, "n1  mlx5_10", 1, 10), Device("2", False, "n1 mlx5_2", 2, 10, port=2),
        Device("3", False, "n1 mlx5_2", 3, 10, port=1), Device("4", False, "n1", 4, 11, port=1),
        Device("5", False, "", 5, 0, port=3), Device("key", False, "a;b", 0, 0),
    ]  # fmt: skip

    def shown(names=None, wanted=None):
        hosts = group_hosts(adapters, names, wanted)
        return [(host.name, host.adapters, host.adapter_names) for host in hosts]

    assert shown() == [
        ("n1", (3, 2, 1, 0), ("HCA-1", "mlx5_2", "mlx5_2/2", "mlx5_10")),
        ("guid-0000000000000005", (4,), ("HCA-1/3",)), ("nameless-key", (5,), ("HCA-1",)),
    ]  # fmt: skip
    assert shown(wanted="mlx5_2")[0][1] == (2, 1)
    assert shown(wanted="*/2,x") == shown(wanted="mlx5_2/2") == [("n1", (1,), ("mlx5_2/2",))]
    assert shown(wanted="mlx5_[1-2,10] , HCA?1") == [("n1", (3, 2, 1, 0), shown()[0][2]), *shown()[2:]]
    names = {10: "other mlx5_9", 3: "third", 5: "fifth ib0"}
    assert [(host.name, host.adapters) for host in group_hosts(adapters, names)] == [
        ("fifth", (4,)), ("n1", (3,)), ("other", (0, 1)), ("third", (2,)), ("nameless-key", (5,))
    ]
    with pytest.raises(FormatError, match=mentions("'x*'", "HCA-1, HCA-1/3, mlx5_2, mlx5_2/2, mlx5_10")):
        shown(wanted="x*")
    text = '  \n# ours\n0x1 "a b"  # one\n0x2  c d # two\n0xff "e#f"\n0xFFFFFFFFFFFFFFFF x'
    assert read_node_name_map(put(tmp_path, text)) == {1: "a b", 2: "c d", 255: "e#f", 2**64 - 1: "x"}
    for fault in ('0x1 ""', "0x1 # a", "0x1", '0x1 "a', "0x10000000000000000 a", "g1 a"):
        with pytest.raises(FormatError, match=mentions("file:2")):
            read_node_name_map(put(tmp_path, f"0x5 a\n{fault}\n"))


@pytest.mark.parametrize(("description", "named"), [
    ("MT4129 ConnectX7   Mellanox Technologies", False), ("MT25408 ConnectX Mellanox Technologies", False),
    ("localhost HCA-2", False), ("localhost", False), ("Mellanox Technologies", False), ("", False),
    ("MT01 mlx5_0", True), ("localhost2 mlx5_0", True), ("intel01 hfi1_0", True), ("n1", True),
])  # fmt: skip
def test_descriptions_that_name_no_host(description, named):
    assert group_hosts(ports(description))[0].named == named


def test_hosts_of_an_allocation():
    known = ["n1.site", "n2", "n3"]
    assert match_hosts(["n3", "n1", "n2.site.org"], known) == [2, 0, 1]
    with pytest.raises(FormatError, match=mentions("3", "4")):
        match_hosts(["a", "b", "n1", "c"], known, "; look again")
    with pytest.raises(FormatError, match=mentions("'n2.site.org'", "'n2'")):
        match_hosts(["n2", "n2.site.org"], known)
    with pytest.raises(FormatError, match="1 of 1 hosts"):
        match_hosts(["n1"], ["n1.a", "n1.b"])
    assert match_hosts(["11.0.0.2"], ["10.0.0.1", "11.0.0.2"]) == [1]
    for absent in ("10.0.0.9", "10"):  # an address has no domain
        with pytest.raises(FormatError, match=mentions(absent, "10.0.0.1")):
            match_hosts([absent], ["10.0.0.1", "11.0.0.2"])
