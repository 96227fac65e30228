"""Routes that ibtracert printed, in place of forwarding tables: the same links, and what is refused."""

import re
import shutil
import subprocess
from itertools import permutations

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import assert_refused, mentions
from helpers.fabric_text import device_of, route, two_level_fabric
from helpers.paths import PROGRAM, SHARED_SAMPLES
from hopbytes.errors import FormatError
from hopbytes.fabrics.fabric import follow, read_fabric, unrouted

SHARED = SHARED_SAMPLES / "infiniband/ndr_dgx_40sw"


def traces(fabric, pairs, *, simple=False):
    """Print routes as ibtracert does."""
    lines = []
    for source, target in pairs:
        ends = [fabric.adapters[source], fabric.adapters[target]]
        steps = []
        for link in route(fabric, source, target):
            far = device_of(fabric, int(fabric.link_target[link]))
            out, into = fabric.link_source_port[link], fabric.link_target_port[link]
            kind = "switch" if far.is_switch else "ca"
            steps.append(
                f"[{out}] -> {{0x{far.guid:016x}}}[{into}]" if simple else
                f'[{out}] -> {kind} port {{0x{far.guid:016x}}}[{into}] lid {far.lid}-{far.lid} "{far.name}"'
            )
        first, last = (
            f"{word} {{0x{end.node_guid:016x}}}[{end.port}]" if simple else
            f'{word} ca {{0x{end.node_guid:016x}}} portnum {end.port} lid {end.lid}-{end.lid} "{end.name}"'
            for word, end in zip(("From", "To"), ends, strict=True)
        )
        lines += [first, *steps, last]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with a discovery file and tables."""
    (tmp_path / "tables").mkdir()
    two_level_fabric().write(tmp_path / "tables")
    return tmp_path / "tables"


def traced(folder, tmp_path, text):
    """Make a folder with the same discovery file, and routes in place of tables."""
    found = tmp_path / "traced"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir()
    for name in folder.iterdir():
        if "Unicast" not in name.read_text():
            shutil.copy(name, found)
    (found / "routes.txt").write_text(text)
    return found


@pytest.mark.parametrize("simple", [False, True])
def test_all_routes_are_those_of_the_tables(folder, tmp_path, simple):
    fabric = read_fabric(str(folder))
    pairs = list(permutations(range(len(fabric.adapters)), 2))
    found = read_fabric(str(traced(folder, tmp_path, traces(fabric, pairs, simple=simple))))
    for a, b in pairs:
        assert route(found, a, b) == route(fabric, a, b)
    assert not len(unrouted(found, follow(found)))
    one = hb.map_tasks("stencil:2x4", f"ib:{folder} / core:1", ["ptram", "ptram"], seed=1)
    two = hb.map_tasks("stencil:2x4", f"ib:{tmp_path / 'traced'} / core:1", ["ptram", "ptram"], seed=1)
    assert np.array_equal(one.pe, two.pe)


def test_pairs_that_were_not_traced_have_no_route(folder, tmp_path):
    fabric = read_fabric(str(folder))
    names = [adapter.name.split()[0] for adapter in fabric.adapters]
    some = [names.index(name) for name in ("n1", "n2", "n8")]
    found = traced(folder, tmp_path, traces(fabric, permutations(some, 2)))
    where = hb.allocate(f"ib:{found} / core:1", hosts="n1,n2,n8")
    assert hb.map_tasks("stencil:3", where, "ptram").where.k == 3
    with pytest.raises(hb.HopbytesError, match="route"):
        hb.map_tasks("alltoall:4", hb.allocate(f"ib:{found} / core:1", hosts="n1,n2,n5,n8"), "ptram")


@pytest.mark.shared
def test_recorded_routes(tmp_path):
    for name in ("ibnetdiscover.txt", "ibtracert_dfsssp.txt"):
        shutil.copy(SHARED / name, tmp_path)
    found, tables = read_fabric(str(tmp_path)), read_fabric(str(SHARED), "dump_fts_dfsssp.txt.gz")
    text = (SHARED / "ibtracert_dfsssp.txt").read_text()
    by_lid = {adapter.lid: number for number, adapter in enumerate(found.adapters)}
    pairs = re.findall(r"From ca .*? lid (\d+)-.*?To ca .*? lid (\d+)-", text, re.DOTALL)
    assert len(pairs) == 3
    for source, target in pairs:
        a, b = by_lid[int(source)], by_lid[int(target)]
        assert route(found, a, b) == route(tables, a, b)
    named = read_fabric(str(SHARED), "ibtracert_*")  # chosen by name beside tables
    assert np.array_equal(named.forward, found.forward)


@pytest.mark.parametrize(("change", "words"), [
    (lambda text: text.replace("lid 1-", "lid 77-"), ("routes.txt:", "LID 77", "another fabric")),
    (lambda text: re.sub(r"^\[(\d+)\] -> switch", "[38] -> switch", text, count=1, flags=re.M),
     ("routes.txt:2", "port 38", "another fabric")),
    (lambda text: text[: text.rindex("To ca")], ("routes.txt:", "cut")),
    (lambda text: text + "ibwarn: no route\n", ("routes.txt:", "ibwarn", "From")),
    (lambda text: text.replace("-> switch", "=> switch", 1), ("routes.txt:2", "ibtracert")),
    (lambda text: text.replace("{0xe4", "{0xf4", 1), ("routes.txt:1", "another fabric")),
])  # fmt: skip
def test_routes_of_another_fabric_and_damaged_ones_are_one_line(folder, tmp_path, change, words):
    fabric = read_fabric(str(folder))
    text = change(traces(fabric, [(0, 7), (3, 4)]))
    found = traced(folder, tmp_path, text)
    with pytest.raises(FormatError, match=mentions(*words)):
        read_fabric(str(found))
    output = tmp_path / "mapping.json"
    command = [PROGRAM, "map", "stencil:2x4", "--on", f"ib:{found} / core:1", "-o", output]
    assert_refused(subprocess.run(command, capture_output=True, text=True, check=False), "routes.txt")
    assert not output.exists()


def test_routes_that_contradict_each_other(folder, tmp_path):
    text = two_level_fabric()
    fabric = read_fabric(str(folder))
    names = [adapter.name.split()[0] for adapter in fabric.adapters]
    pair = names.index("n1"), names.index("n8")
    (tmp_path / "other").mkdir()
    table, lid = text.tables["leaf1"], text.lid("n8 mlx5_0")
    uplinks = {port for port, far, _ in text.ends("leaf1") if far.device in text.switches}
    table[lid] = next(iter(uplinks - {table[lid]}))
    other = read_fabric(text.write(tmp_path / "other"))
    found = traced(folder, tmp_path, traces(fabric, [pair]) + traces(other, [pair]))
    with pytest.raises(FormatError, match=mentions("routes.txt:9", "leaf1", "n8", "routes.txt:3")):
        read_fabric(str(found))
    (found / "dump_fts.txt").write_text((folder / "dump_fts.txt").read_text())
    assert np.array_equal(read_fabric(str(found)).forward, fabric.forward)  # tables say more
    with pytest.raises(FormatError, match="routes of ibtracert beside"):
        read_fabric(str(found), "*.txt")
