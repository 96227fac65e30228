"""All metrics once more, by slow code that shares nothing: its own parser, routes and sums."""

from __future__ import annotations

import gzip
import re
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from helpers.paths import SHARED_SAMPLES
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

SHARED = SHARED_SAMPLES / "infiniband"


class Fabric:
    """Cables and tables straight from the text; devices are GUIDs of nodes."""

    def __init__(self, discovery: str, tables: str) -> None:
        self.cable, self.lid, self.guid_of = {}, {}, defaultdict(list)
        device = None
        for line in discovery.splitlines():
            head = re.match(r'(?:Switch|Ca)\t\d+ "[SH]-(\w+)"\s*# "(.*?)"', line)
            if head:
                device, name = head[1], head[2]
                if line.startswith("Ca") and "Aggregation" not in name:
                    self.guid_of[name].append(device)
            end = re.match(r'\[(\d+)\](?:\(\w+\))?\s*"[SH]-(\w+)"\[(\d+)\].*?# ?(?:lid (\d+))?', line)
            if end:
                self.cable[device, int(end[1])] = end[2]
                if end[4]:
                    self.lid[device] = int(end[4])
        self.table = {}
        for line in tables.splitlines():
            head = re.match(r"Unicast lids .* guid 0x(\w+)", line)
            if head:
                device = head[1]
            row = re.match(r"0x(\w+) (\d+) :", line)
            if row:
                self.table[device, int(row[1], 16)] = int(row[2])

    def route(self, source: str, target: str) -> list[tuple[str, int]]:
        """Links as (device, port they leave by)."""
        links = [(source, 1)]
        while (here := self.cable[links[-1]]) != target:
            links.append((here, self.table[here, self.lid[target]]))
        return links


def by_hand(fabric, graph, adapter_of_task, node_of_task, pe_of_task, capacity):
    """Return the metrics of one placement."""
    volume_on, messages_on, total = Counter(), Counter(), Counter()
    sent = {what: Counter() for what in ("pe_volume", "pe_messages", "in_volume", "in_messages")}
    hops_of_flow = Counter()
    for arc, (a, b) in enumerate(zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)):
        if a == b:
            continue
        volume = 1 if graph.volumes is None else int(graph.volumes[arc])
        messages = 1 if graph.messages is None else int(graph.messages[arc])
        if pe_of_task[a] != pe_of_task[b]:
            sent["pe_volume"][pe_of_task[a]] += volume
            sent["pe_messages"][pe_of_task[a]] += messages
        if node_of_task[a] == node_of_task[b]:
            total["intra_volume"] += volume
            total["intra_messages"] += messages
            total["comm_cost"] += volume * (pe_of_task[a] != pe_of_task[b])  # cores of a node: distance 1
            continue
        sent["in_volume"][node_of_task[b]] += volume
        sent["in_messages"][node_of_task[b]] += messages
        path = fabric.route(adapter_of_task[a], adapter_of_task[b])
        hops_of_flow[len(path)] += 1
        back = fabric.route(adapter_of_task[b], adapter_of_task[a])
        total["comm_cost"] += volume * 10 * max(len(path), len(back))  # 10 per hop of the longer way
        for link in path:
            volume_on[link] += volume
            messages_on[link] += messages
        total["hops"] += messages * len(path)
        total["hop_bytes"] += volume * len(path)
    congestion = [Fraction(volume, capacity) for link, volume in volume_on.items() if messages_on[link]]
    mean = sum(congestion, Fraction(0)) / len(congestion)
    return {
        "comm_cost": total["comm_cost"],
        "hops": total["hops"],
        "hop_bytes": total["hop_bytes"],
        "max_messages": max(messages_on.values()),
        "avg_messages": float(Fraction(sum(messages_on.values()), len(messages_on))),
        "max_congestion": float(max(congestion)),
        "avg_congestion": float(mean),
        "var_congestion": float(sum((c - mean) ** 2 for c in congestion) / len(congestion)),
        "used_links": len(messages_on),
        "max_send_volume": max(sent["pe_volume"].values()),
        "total_send_volume": sum(sent["pe_volume"].values()),
        "max_send_messages": max(sent["pe_messages"].values()),
        "total_send_messages": sum(sent["pe_messages"].values()),
        "inter_node_volume": sum(sent["in_volume"].values()),
        "inter_node_messages": sum(sent["in_messages"].values()),
        "intra_node_volume": total["intra_volume"],
        "intra_node_messages": total["intra_messages"],
        "max_node_receive_volume": max(sent["in_volume"].values()),
        "max_node_receive_messages": max(sent["in_messages"].values()),
        "dilation": dict(hops_of_flow),
        "hottest": max(volume_on.values()) / capacity,
    }


def random_pattern(tasks, arcs, seed, plain=False):
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, tasks, arcs), rng.integers(0, tasks, arcs)
    if plain:
        return CommGraph.from_edges(sources, targets, n=tasks)
    volumes, messages = rng.integers(1, 10**6, arcs), rng.integers(1, 50, arcs)
    return CommGraph.from_edges(sources, targets, volumes, messages, n=tasks)


def compare(fabric, spec, hosts, graph, seed, capacity):
    where = hb.allocate(spec, hosts=hosts)
    pe = np.random.default_rng(seed).permutation(where.k)[: graph.n].astype(np.int32)
    endpoint = where.machine.network_use.endpoint_of_core()[where.first_core]
    names = [where.machine.network().name_endpoint(int(e)) for e in endpoint]
    guids = {name: fabric.guid_of[name][0] for name in set(names)}
    nodes = where.node_of_pe
    expected = by_hand(
        fabric,
        graph,
        [guids[names[p]] for p in pe],
        nodes[pe].tolist(),
        pe.tolist(),
        capacity,
    )
    mapping = Mapping(pe, where)
    found = hb.evaluate(graph, mapping, random_seeds=1)
    facts = found.to_dict()
    dilation = {row["hops"]: row["flows"] for row in facts["dilation"] if row["hops"]}
    for key, value in expected.items():
        if key == "dilation":
            assert dilation == value
        elif key == "hottest":
            assert facts["hottest_links"][0]["congestion"] == pytest.approx(value, rel=1e-12)
        elif isinstance(value, float):
            assert facts[key] == pytest.approx(value, rel=1e-12), key
        else:
            assert facts[key] == value, key


@pytest.mark.parametrize("rails", ["first", "same", "spread"])
@pytest.mark.parametrize("plain", [False, True])
def test_small_fabric(tmp_path, rails, plain):
    text = two_level_fabric(leaves=3, spines=2, hosts=3, parallel=2, rails=2)
    folder = text.write(tmp_path)
    fabric = Fabric(text.discovery(), "".join(text.table(name, True) for name in text.switches))
    for seed in range(3):
        graph = random_pattern(30, 400, seed, plain)
        compare(fabric, f"ib:{folder}:rails={rails} / core:4", None, graph, seed, 25_000_000_000)


@pytest.mark.shared
@pytest.mark.parametrize("rails", ["first", "spread"])
@pytest.mark.parametrize("tables", ["dump_fts_dfsssp.txt.gz", "dump_fts_minhop.txt.gz"])
def test_real_fabric(rails, tables):
    folder = SHARED / "ndr_dgx_40sw"
    content = gzip.decompress((folder / tables).read_bytes()).decode()
    fabric = Fabric((folder / "ibnetdiscover.txt").read_text(), content)
    where = hb.allocate(f"ib:{folder}:tables={tables}")
    named = [name for name in where.hosts if not name.startswith("guid-")]
    hosts = np.random.default_rng(1).choice(named, 40, replace=False).tolist()
    graph = random_pattern(300, 5000, 7)
    compare(fabric, f"ib:{folder}:tables={tables}:rails={rails} / core:8", hosts, graph, 3, 50_000_000_000)
