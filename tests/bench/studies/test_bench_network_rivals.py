"""Rivals on generated networks: instances, errors as rows, the table of means."""

import hopbytes as hb
from bench.studies import network_rivals


def small():
    instance = network_rivals.Instance("torus:4x4", "first:nodes=4", "stencil:4x4", True)
    where = hb.allocate("torus:4x4@10 / core:4@1", hosts=instance.hosts)
    return instance, where, instance.graph()


def test_shuffling_changes_numbers_and_nothing_else():
    instance, _, graph = small()
    plain = network_rivals.Instance(*instance.key[:3], shuffled=False).graph()
    assert (graph.n, graph.m, graph.total_volume) == (plain.n, plain.m, plain.total_volume)
    assert graph.targets.tolist() != plain.targets.tolist()


def test_rows_and_their_means():
    instance, where, graph = small()
    rows = [network_rivals.run(instance, name, where, graph) for name in ("identity", "ug", "multi_jagged")]
    assert "needs coordinates of tasks" in rows[2]["error"]  # shuffled tasks have lost theirs
    means = network_rivals.means(rows)
    assert set(means) == {"identity", "ug"}
    assert means["identity"]["hop_bytes"] == 1
    assert means["ug"]["hop_bytes"] < 1


def test_every_contender_is_there():
    from hopbytes.algorithms.base import mappers

    known = {how["mapper"].partition(":")[0] for how in network_rivals.CONTENDERS.values() if "mapper" in how}
    assert known <= set(mappers)
    found = network_rivals.instances([64], 1)
    assert len(found) == len({instance.key for instance in found}) == 2 * 5
