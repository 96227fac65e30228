"""SimGrid's platforms: known answers and faults by line."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import SIMGRID, put
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.simgrid_file import read_simgrid


def test_simgrid(tmp_path):
    platform = read_simgrid(put(tmp_path, SIMGRID))
    assert platform.host_names == ("a0.x", "a1.x", "a2.x", "a7.x", "b0", "b1")
    one, other = platform.clusters.values()
    assert (one.bandwidth, one.backbone, one.shared) == (125_000_000, 2_250_000_000, False)
    assert (other.bandwidth, other.backbone, other.shared) == (125_000_000, None, True)
    assert (platform.links["wan"], platform.links["a0.x up"]) == (1024, 125_000_000)
    hops = platform.zones["w"].hops
    assert {pair: hop.links for pair, hop in hops.items()} == {("a", "b"): ("wan",), ("b", "a"): ("wan",)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</zone>", "", "file:8"),
        ('bw="1Gbps"', 'bw="fast"', "file:4 'fast'"),
        ('bw="1Gbps"', 'bw="0"', "file:4 '0'"),
        ('radical="0-2,7"', 'radical="2-0"', "file:4 '2-0'"),
        ('radical="0-2,7"', "", "file:4 radical="),
        ('prefix="b"', 'prefix="b b"', "file:5"),
        ('id="b"', 'id="a"', "file:5 'a'"),
        (
            'prefix="b" radical="0-1"',
            'prefix="a" radical="0-1" suffix=".x"',
            "file:5 'a0.x' 4",
        ),
        ("platform SYSTEM", 'platform [<!ENTITY e "x">] SYSTEM', "file:2"),
        ("<zone ", "<zo ", "file:8"),
    ],
)
def test_simgrid_faults(tmp_path, old, new, message):
    assert old in SIMGRID
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_simgrid(put(tmp_path, SIMGRID.replace(old, new, 1)))
    with pytest.raises(UnsupportedError, match="<peer> is not read"):
        read_simgrid(put(tmp_path, '<platform version="4.1"><peer id="a"/></platform>'))
