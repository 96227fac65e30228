"""SimGrid's platforms: known answers and faults by line."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import SIMGRID, put
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.simgrid import read_simgrid


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
        ('prefix="b"', 'prefix="b;b"', "file:5"),
        ('id="b"', 'id="a"', "file:5 'a'"),
        ('prefix="b" radical="0-1"', 'prefix="a" radical="0-1" suffix=".x"', "file:5 'a0.x' 4"),
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


ZONES = """<platform version="4.1"><zone id="w" routing="Full">
<zone id="us" routing="Full"><cluster id="c" prefix="u-" radical="1-2" speed="1Gf" bw="1GBps"/></zone>
<zone id="fr" routing="Full"><cluster id="g" prefix="f-" radical="1-2" speed="1Gf" bw="1GBps"/></zone>
<host id="h" speed="1Gf"/>
<link id="l" bandwidth="1GBps"/>
<zoneRoute src="us" gw_src="u-c_router" dst="fr" gw_dst="f-g_router"><link_ctn id="l"/></zoneRoute>
</zone></platform>
"""


@pytest.mark.parametrize(("old", "new", "message"), [
    ('gw_src="u-c_router"', 'gw_src="u-c_ruoter"', "file:6 u-c_ruoter"),
    ('gw_dst="f-g_router"', 'gw_dst="x"', "file:6 'x'"),
    ('gw_dst="f-g_router"', "", "file:6 'fr' gw_dst"),
    ('dst="fr"', 'dst="gr"', "file:6 'gr'"),
    ('src="us"', 'src="we"', "file:6 'we'"),
    ('<link_ctn id="l"/>', '<link_ctn id="k"/>', "file:6 'k'"),
    ('<link_ctn id="l"/>', '<link_cnt id="l"/>', "file:6 link_cnt"),
    ('<host id="h" speed="1Gf"/>', '<hots id="h" speed="1Gf"/>', "file:4 hots"),
    ('<host id="h" speed="1Gf"/>', '<host id="h" core="0"/>', "file:4 '0'"),
    ('<host id="h" speed="1Gf"/>', '<host id="h" core="many"/>', "file:4 'many'"),
    ('<host id="h" speed="1Gf"/>', '<host_link id="g" up="l" down="l"/>', "file:1 'g'"),
    ('<host id="h" speed="1Gf"/>', '<host id="h"/><host_link id="h" up="m" down="l"/>', "file:4 'm'"),
    ('routing="Full"><cluster id="g"', 'routing="Wifi"><cluster id="g"', "file:3 'WIFI'"),
])  # fmt: skip
def test_references_and_what_is_not_read(tmp_path, old, new, message):
    assert old in ZONES
    read_simgrid(put(tmp_path, ZONES))
    with pytest.raises((FormatError, UnsupportedError), match=mentions(*message.split())):
        read_simgrid(put(tmp_path, ZONES.replace(old, new, 1)))


def test_what_has_no_effect_is_said(tmp_path):
    assert read_simgrid(put(tmp_path, ZONES)).notices == ()
    text = ZONES.replace('<host id="h" speed="1Gf"/>', '<host id="h" speed="2Gf, 1Gf" cores="4"/>')
    text = text.replace('<link id="l"', '<link id="l" sharing_policy="FATPIPE" bandwidth_file="b"')
    unread, speeds = read_simgrid(put(tmp_path, text)).notices
    for word in ("cores= of <host>", "bandwidth_file= of <link>", "FATPIPE"):
        assert word in unread
    assert "2 speeds" in speeds


def test_older_documents(tmp_path):
    """Version 3: zones are AS, speeds power; its first files crossed links by link:ctn."""
    text = ZONES.replace("zoneRoute", "ASroute").replace("<zone", "<AS").replace("</zone", "</AS")
    text = text.replace("speed=", "power=").replace("link_ctn", "link:ctn").replace("4.1", "3")
    old, new = read_simgrid(put(tmp_path, text)), read_simgrid(put(tmp_path, ZONES))
    assert old.zones["w"].hops == new.zones["w"].hops
    assert old.hosts == new.hosts
    assert old.notices == ()
