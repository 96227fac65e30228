"""SimGrid's platforms: known answers and faults by line."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from helpers.errors import mentions
from helpers.machine_files import SIMGRID, put
from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.simgrid import PlatformRoutes, bytes_per_second, read_simgrid
from hopbytes.machines.spec import parse_machine


def test_simgrid(tmp_path):
    platform = read_simgrid(put(tmp_path, SIMGRID))
    assert platform.host_names == ("a0.x", "a1.x", "a2.x", "a7.x", "b0", "b1")
    one, other = platform.clusters.values()
    assert (one.bandwidth, one.shared) == (125_000_000, False)
    assert (other.bandwidth, other.shared) == (125_000_000, True)
    assert (platform.links["wan"], platform.links["a0.x up"]) == (1024, 125_000_000)
    hops = platform.zones["w"].hops
    assert {pair: hop.links for pair, hop in hops.items()} == {("a", "b"): ("wan",), ("b", "a"): ("wan",)}


@pytest.mark.parametrize(("old", "new", "message"), [
    ("</zone>", "", "file:8"), ('bw="1Gbps"', 'bw="fast"', "file:4 'fast'"),
    ('bw="1Gbps"', 'bw="0"', "file:4 '0'"), ('radical="0-2,7"', 'radical="2-0"', "file:4 '2-0'"),
    ('radical="0-2,7"', "", "file:4 radical="), ('prefix="b"', 'prefix="b;b"', "file:5"),
    ('id="b"', 'id="a"', "file:5 'a'"),
    ('prefix="b" radical="0-1"', 'prefix="a" radical="0-1" suffix=".x"', "file:5 'a0.x' 4"),
    ("platform SYSTEM", 'platform [<!ENTITY e "x">] SYSTEM', "file:2"),
    ("<zone ", "<zo ", "file:8"),
])  # fmt: skip
def test_simgrid_faults(tmp_path, old, new, message):
    assert old in SIMGRID
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_simgrid(put(tmp_path, SIMGRID.replace(old, new, 1)))
    zone = '<zone id="z" routing="Full"><host id="a;b" speed="1Gf"/></zone>'
    with pytest.raises(FormatError, match="a;b"):
        read_simgrid(put(tmp_path, f'<platform version="4.1">{zone}</platform>'))
    with pytest.raises(UnsupportedError, match="<peer> is not read"):
        read_simgrid(put(tmp_path, '<platform version="4.1"><peer id="a"/></platform>'))


@pytest.mark.parametrize(("text", "value"), [
    ("125MBps", 125_000_000), ("1Gbps", 125_000_000), ("1.5kBps", 1500), ("7", 7), (" 2 KiBps ", 2048),
    ("12bps", 1), (".5MiBps", 2**19), ("1e3Bps", 1000), ("2.5E-1TBps", 25 * 10**10),
    ("8Tibps", 2**40),
    ("1PBps", 10**15), (f"{2**53 - 1}", 2**53 - 1), (f"{2**53}", None), ("7bps", None), ("1M", None),
    ("1MB", None), ("1mBps", None), ("MBps", None), ("-1", None), ("0.5", None), ("1s", None),
])  # fmt: skip
def test_bandwidths(text, value):
    if value is not None:
        assert bytes_per_second("file", 3, text) == value
    else:
        with pytest.raises(FormatError, match=mentions("file:3", repr(text))):
            bytes_per_second("file", 3, text)


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
    ('gw_dst="f-g_router"', 'gw_dst="x"', "file:6 'x'"), ('gw_dst="f-g_router"', "", "file:6 'fr' gw_dst"),
    ('dst="fr"', 'dst="gr"', "file:6 'gr'"), ('src="us"', 'src="we"', "file:6 'we'"),
    ('<link_ctn id="l"/>', '<link_ctn id="k"/>', "file:6 'k'"),
    ('<link_ctn id="l"/>', '<link_cnt id="l"/>', "file:6 link_cnt"),
    ('<host id="h" speed="1Gf"/>', '<hots id="h" speed="1Gf"/>', "file:4 hots"),
    ('<host id="h" speed="1Gf"/>', '<host id="h" core="0"/>', "file:4 '0'"),
    ('<host id="h" speed="1Gf"/>', '<host id="h" core="many"/>', "file:4 'many'"),
    ('<host id="h" speed="1Gf"/>', '<host_link id="g" up="l" down="l"/>', "file:1 'g'"),
    ('<host id="h" speed="1Gf"/>', '<host id="h"/><host_link id="h" up="m" down="l"/>', "file:4 'm'"),
    ('routing="Full"><cluster id="g"', 'routing="Wifi"><cluster id="g"', "file:3 'WIFI'"),
    ('<host id="h" speed="1Gf"/>', '<host id="h" core="65537"/>', "file:4 '65537' 65536"),
    ('<host id="h" speed="1Gf"/>', '<host id="h"/>\n<host id="h"/>', "file:5 'h' 4"),
    ('<host id="h" speed="1Gf"/>', '<host id="us"/>', "file:4 'us' distinct"),
    ('<host id="h" speed="1Gf"/>', '<zone id="us"/>', "file:4 zone 'us'"),
    ('<host id="h" speed="1Gf"/>', '<host id="a b"/>\n<host id="a_b"/>', "file blanks"),
    ('<host id="h" speed="1Gf"/>', "<host/>", "file:4 id="),
    ('<link id="l"', '<link id="l" bandwidth="1"/><link id="l"', "file:5 'l'"),
    ('bw="1GBps"/></zone>\n<host', 'bw="1GBps" bb_bw="x"/></zone>\n<host', "file:3 'x'"),
    ("</zoneRoute>", '</zoneRoute><zoneRoute src="fr" dst="us" gw_src="f-g_router" gw_dst="u-c_router"/>',
     "file:6 second 'fr' 'us'"),
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
    text = ZONES.replace('id="h"', 'id="a b"', 1).replace('<link id', '<host id="c  d" speed="1Gf"/><link id')
    platform = read_simgrid(put(tmp_path, text))
    assert platform.host_names[-2:] == ("a_b", "c__d")
    (blanks,) = platform.notices
    assert "names of 2 hosts" in blanks


def test_links_of_hosts_by_hand(tmp_path):
    """SPLITDUPLEX links have two directions; a symmetrical route back crosses them the other way round."""
    head = '<platform version="4.1"><zone id="w" routing="Cluster">'
    host = '<host id="h{0}" core="{1}"/><host_link id="h{0}" up="u{0}" down="d{0}"/>'
    hosts = host.format(0, 1) + host.format(1, 2)
    links = "".join(f'<link id="{kind}{n}" bandwidth="{n + 2}"/>' for kind in "ud" for n in (0, 1))
    platform = read_simgrid(put(tmp_path, f'{head}{links}{hosts}<router id="r"/></zone></platform>'))
    zone = platform.zones["w"]
    assert (zone.up, zone.down, zone.router) == ({"h0": "u0", "h1": "u1"}, {"h0": "d0", "h1": "d1"}, "r")
    assert (platform.cores, platform.zone_of["h0"], platform.zone_of["w"]) == ({"h0": 1, "h1": 2}, "w", "")
    routes = PlatformRoutes(platform)
    assert (routes.route("h0", "h1"), routes.route("h1", "h1")) == (["u0", "d1"], [])
    text = ZONES.replace('<link id="l"', '<link id="l" sharing_policy="splitduplex"').replace(
        '<link_ctn id="l"/>', '<link_ctn id="l" direction="Up"/><link_ctn id="k"/>').replace(
        "<host id", '<link id="k" bandwidth="1"/><host id')  # fmt: skip
    platform = read_simgrid(put(tmp_path, text))
    hops = platform.zones["w"].hops
    assert (platform.split, platform.clusters["c"].bandwidth) == ({"l"}, 10**9)
    assert (hops["us", "fr"].links, hops["fr", "us"].links) == (("l_UP", "k"), ("k", "l_DOWN"))
    assert (hops["fr", "us"].from_point, hops["fr", "us"].to_point) == ("f-g_router", "u-c_router")
    one_way = text.replace("<zoneRoute", '<zoneRoute symmetrical="no"')
    assert set(read_simgrid(put(tmp_path, one_way)).zones["w"].hops) == {("us", "fr")}


def test_older_documents(tmp_path):
    """Version 3: zones are AS, speeds power; its first files crossed links by link:ctn."""
    text = ZONES.replace("zoneRoute", "ASroute").replace("<zone", "<AS").replace("</zone", "</AS")
    text = text.replace("speed=", "power=").replace("link_ctn", "link:ctn").replace("4.1", "3")
    old, new = read_simgrid(put(tmp_path, text)), read_simgrid(put(tmp_path, ZONES))
    assert old.zones["w"].hops == new.zones["w"].hops
    assert old.hosts == new.hosts
    assert old.notices == ()


SAMPLES = SHARED_SAMPLES / "simgrid"
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
CLUSTER = '<cluster id="{0}" prefix="{0}" suffix="" radical="{1}" speed="1Gf" bw="1GBps" lat="1us" {2}/>'

TWO = """<zone id="two" routing="Dijkstra">
<host id="p" speed="1Gf"/><host id="q" speed="1Gf"/><host id="r" speed="1Gf"/>
<link id="pq" bandwidth="2GBps" latency="1us"/><link id="qr" bandwidth="2GBps" latency="1us"/>
<link id="long" bandwidth="2GBps" latency="1us"/><link id="longer" bandwidth="2GBps" latency="1us"/>
<route src="p" dst="q"><link_ctn id="pq"/></route><route src="q" dst="r"><link_ctn id="qr"/></route>
<route src="p" dst="r"><link_ctn id="long"/><link_ctn id="longer"/><link_ctn id="pq"/></route></zone>"""
#: Two sites below a Floyd zone: clusters behind routers, a site with a cluster inside a zone, a host alone.
SITES = f"""{HEAD}<platform version="4.1"><zone id="world" routing="Floyd">
<zone id="backbone" routing="Floyd"><router id="x"/><router id="y"/><router id="z"/>
<link id="xy" bandwidth="10GBps" latency="1ms"/><link id="yz" bandwidth="5GBps" latency="1ms"/>
<route src="x" dst="y"><link_ctn id="xy"/></route><route src="y" dst="z"><link_ctn id="yz"/></route></zone>
<zone id="one" routing="Full"><zone id="gz" routing="Full"><router id="gate"/></zone>
{CLUSTER.format("a", "0-2", 'bb_bw="4GBps" bb_lat="1us"')}
{CLUSTER.format("b", "5-6", 'sharing_policy="SHARED"')}
<link id="ga" bandwidth="3GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="gb" bandwidth="3GBps" latency="1us"/>
<zoneRoute src="a" dst="b" gw_src="aa_router" gw_dst="bb_router"><link_ctn id="ga" direction="UP"/>
<link_ctn id="gb"/></zoneRoute>
<zoneRoute src="a" dst="gz" gw_src="aa_router" gw_dst="gate"><link_ctn id="ga" direction="UP"/></zoneRoute>
<zoneRoute src="b" dst="gz" gw_src="bb_router" gw_dst="gate"><link_ctn id="gb"/></zoneRoute></zone>
{TWO}
<link id="up1" bandwidth="6GBps" latency="1us"/><link id="up2" bandwidth="6GBps" latency="1us"/>
<zoneRoute src="one" dst="backbone" gw_src="gate" gw_dst="x"><link_ctn id="up1"/></zoneRoute>
<zoneRoute src="two" dst="backbone" gw_src="q" gw_dst="z"><link_ctn id="up2"/></zoneRoute>
</zone></platform>
"""
#: A cluster put together from cabinets, its router, and another one whose gateway is a host.
CABINETS = f"""{HEAD}<platform version="4.1"><zone id="all" routing="Full">
<zone id="c" routing="Cluster">
<cabinet id="k1" prefix="h-" suffix="" speed="1Gf" bw="125MBps" lat="1us" radical="1-3"/>
<cabinet id="k2" prefix="h-" suffix="" speed="1Gf" bw="125MBps" lat="1us" radical="4-5"/>
<router id="door"/><backbone id="bb" bandwidth="1GBps" latency="1us"/></zone>
{CLUSTER.format("d", "0-3", "")}
<link id="way" bandwidth="1GBps" latency="1us"/>
<zoneRoute src="c" dst="d" gw_src="door" gw_dst="d2"><link_ctn id="way"/></zoneRoute></zone></platform>
"""


def shaped(topology, parameters, hosts):
    text = CLUSTER.format("n", f"0-{hosts - 1}", f'topology="{topology}" topo_parameters="{parameters}"')
    return f'{HEAD}<platform version="4.1"><zone id="w" routing="Full">{text}</zone></platform>'


def machine_of(tmp_path, text):
    path = tmp_path / "platform.xml"
    path.write_text(text)
    return parse_machine(f"simgrid:{path}")


def names(machine, source, target):
    network, hosts = machine.network(), machine.known_hosts.names
    ends = machine.network_use.endpoint_of_core()[[hosts.index(source), hosts.index(target)]]
    return [network.name_link(int(link)) for link in network.routes(ends[:1], ends[1:]).links]


def test_sites_joined_by_gateways(tmp_path):
    machine = machine_of(tmp_path, SITES)
    assert names(machine, "a0", "a2") == ["a0 up", "a backbone", "a2 down"]
    assert names(machine, "a0", "b6") == ["a0 up", "a backbone", "ga_UP", "gb", "b6 link"]
    assert names(machine, "b6", "a0") == ["b6 link", "gb", "ga_DOWN", "a backbone", "a0 down"]
    assert names(machine, "p", "r") == ["pq", "qr"]
    far = ["a1 up", "a backbone", "ga_UP", "up1", "xy", "yz", "up2", "qr"]
    assert names(machine, "a1", "r") == far
    back = [{"ga_UP": "ga_DOWN", "a1 up": "a1 down"}.get(name, name) for name in reversed(far)]
    assert names(machine, "r", "a1") == back
    hosts = machine.known_hosts.names
    assert hosts == ("a0", "a1", "a2", "b5", "b6", "p", "q", "r")
    assert [part.tolist() for part in machine.split(np.arange(8))] == [[0, 1, 2, 3, 4], [5, 6, 7]]
    assert [part.tolist() for part in machine.split(np.arange(5))] == [[0, 1, 2], [3, 4]]
    assert not any("route" in notice for notice in machine.notices())


def test_of_equally_long_ways_the_first_one_found_is_taken(tmp_path):
    ways = [("p", "q"), ("p", "s"), ("q", "t"), ("s", "t")]
    text = "".join(f'<host id="{name}" speed="1Gf"/>' for name in "pqst")
    text += "".join(f'<link id="{a}{b}" bandwidth="1GBps" latency="1us"/>' for a, b in ways)
    text += "".join(f'<route src="{a}" dst="{b}"><link_ctn id="{a}{b}"/></route>' for a, b in ways)
    zone = f'<zone id="z" routing="Dijkstra">{text}</zone>'
    machine = machine_of(tmp_path, f'{HEAD}<platform version="4.1">{zone}</platform>')
    assert names(machine, "p", "t") == ["pq", "qt"]


def test_cabinets_and_a_host_as_gateway(tmp_path):
    machine = machine_of(tmp_path, CABINETS)
    assert names(machine, "h-1", "h-5") == ["h-1 up", "bb", "h-5 down"]
    assert names(machine, "h-1", "d2") == ["h-1 up", "bb", "way"]
    assert names(machine, "h-1", "d0") == ["h-1 up", "bb", "way", "d2 up", "d0 down"]
    assert names(machine, "d3", "d2") == ["d3 up", "d2 down"]


def test_a_dragonfly_cluster(tmp_path):
    machine = machine_of(tmp_path, shaped("DRAGONFLY", "2,7;3,5;4,3;2", 48))
    # Host 9 is at group 0, chassis 1, blade 0; host 47 at group 1, chassis 2, blade 3.
    assert names(machine, "n9", "n47") == [
        "n9 up", "group 0, chassis 1: blade 0 -> blade 1", "group 0, blade 1: chassis 1 -> chassis 0",
        "group 0 -> group 1", "group 1, chassis 0: blade 0 -> blade 3",
        "group 1, blade 3: chassis 0 -> chassis 2", "n47 down",
    ]  # fmt: skip
    network = machine.network()
    assert sorted(set(network.capacity.tolist())) == [10**9 * cables for cables in (1, 3, 5, 7)]
    assert network.describe()["links"] == 2 * (48 + 2 * 3 * 6 + 2 * 4 * 3 + 1)
    assert [len(part) for part in machine.split(np.arange(48))] == [24, 24]
    assert [len(part) for part in machine.split(np.arange(24))] == [8, 8, 8]
    with pytest.raises(FormatError, match=mentions("48", "72")):
        machine_of(tmp_path, shaped("DRAGONFLY", "3,7;3,5;4,3;2", 48))
    with pytest.raises(FormatError, match=mentions("5", "4")):
        machine_of(tmp_path, shaped("DRAGONFLY", "5,7;3,5;4,3;2", 120))
    with pytest.raises(FormatError, match="expected '3,4;4,3;5,1;2' of a DRAGONFLY"):
        machine_of(tmp_path, shaped("DRAGONFLY", "5,7;3,5", 120))


def test_gateways_outside_their_zones_are_refused(tmp_path):
    """They would lead in a circle."""
    text = SITES.replace('gw_src="gate" gw_dst="x"', 'gw_src="p" gw_dst="x"')
    with pytest.raises(FormatError, match=mentions("'p'", "outside", "'one'")) as caught:
        machine_of(tmp_path, text)
    assert caught.value.line == 1 + text[: text.index('gw_src="p"')].count("\n")


def test_a_torus_beside_others_is_refused(tmp_path):
    both = shaped("TORUS", "3,2", 6).replace("<zone ", CLUSTER.format("m", "0-3", "") + "<zone ", 1)
    with pytest.raises(UnsupportedError, match="a TORUS cluster beside others; keep one"):
        machine_of(tmp_path, both)


@pytest.fixture(scope="module")
def simgrid(tmp_path_factory):
    """The program that prints the routes of SimGrid."""
    compiler, source = shutil.which("cc"), Path(__file__).with_name("simgrid_routes.c")
    if compiler is None or not Path("/usr/include/simgrid/host.h").exists():
        pytest.skip("no SimGrid (libsimgrid-dev)")
    program = tmp_path_factory.mktemp("simgrid") / "routes"
    built = subprocess.run(
        [compiler, str(source), "-o", str(program), "-lsimgrid"], capture_output=True, text=True, check=False
    )
    if built.returncode:
        pytest.skip(f"SimGrid's C interface is not as expected: {built.stderr[-200:]}")
    return program


def agree(program, path):
    """Compare all routes; names differ, but one link of ours is one link of SimGrid in all routes."""
    done = subprocess.run(
        [program, path, "--log=root.thres:critical"], capture_output=True, text=True, check=True, timeout=120
    )
    machine = parse_machine(f"simgrid:{path}")
    network, hosts = machine.network(), machine.known_hosts.names
    ends = dict(zip(hosts, machine.network_use.endpoint_of_core().tolist(), strict=True))
    ours: dict[str, int] = {}
    theirs: dict[int, str] = {}
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(hosts) * (len(hosts) - 1)
    for source, target, *links in lines:
        crossed = [link for link in links if "limiter" not in link and "loopback" not in link]
        found = network.routes([ends[source]], [ends[target]]).links.tolist()
        assert len(found) == len(crossed), (source, target, crossed)
        for link, name in zip(found, crossed, strict=True):
            same = (ours.setdefault(name, link), theirs.setdefault(link, name))
            assert same == (link, name), (source, target)


@pytest.mark.parametrize("text", [
    # SimGrid puts the links of a Dijkstra zone at the end of a route before all others.
    SITES.replace("Dijkstra", "Floyd"), f'{HEAD}<platform version="4.1">{TWO}</platform>', CABINETS,
    shaped("DRAGONFLY", "2,7;3,5;4,3;2", 48), shaped("DRAGONFLY", "4,1;2,2;4,5;1", 32),
    shaped("TORUS", "3,5,2", 30), shaped("FAT_TREE", "2;4,4;1,2;1,1", 16),
    shaped("FAT_TREE", "3;2,3,4;1,2,3;1,1,1", 24), shaped("FLAT", "", 5),
], ids=["sites", "search", "cabinets", "dragonfly", "groups", "torus", "tree", "higher", "flat"])  # fmt: skip
def test_routes_are_those_of_simgrid(tmp_path, simgrid, text):
    path = tmp_path / "platform.xml"
    path.write_text(text)
    agree(simgrid, str(path))


@pytest.mark.shared
@pytest.mark.parametrize("name", ["griffon", "cluster_backbone", "cluster_torus"])
def test_routes_of_samples_are_those_of_simgrid(simgrid, name):
    agree(simgrid, str(SAMPLES / f"{name}.xml"))


def test_hosts_outside_clusters_are_units_of_their_own(tmp_path):
    alone = "".join(f'<host id="{name}" speed="1Gf"/>' for name in "xyz")
    zones = CLUSTER.format("a", "0-1", "") + CLUSTER.format("b", "0-1", "")
    whole = f'{HEAD}<platform version="4.1"><zone id="w" routing="Full">{alone}{zones}</zone></platform>'
    machine = machine_of(tmp_path, whole)
    assert machine.known_hosts.names == ("x", "y", "z", "a0", "a1", "b0", "b1")
    assert [part.tolist() for part in machine.split(np.arange(7))] == [[0], [1], [2], [3, 4], [5, 6]]
