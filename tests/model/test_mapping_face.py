"""Mapping: what it is made of, its J and its table."""

import dataclasses
import pickle
import sys

import numpy as np
import pytest

import hopbytes as hb

WHERE = hb.allocate("node:2@10 core:2@1", hosts="a,b")


@pytest.mark.parametrize("pe", [[0, 2, 1], (0, 2, 1), np.array([0, 2, 1]), np.array([0, 2, 1], np.uint8)])
def test_any_integers(pe):
    mapping = hb.Mapping(pe, WHERE)
    assert mapping.pe.dtype == np.int32
    assert mapping.pe.tolist() == [0, 2, 1]
    assert not mapping.pe.flags.writeable


@pytest.mark.parametrize("pe", [[0.0, 1.0], [[0], [1]], [[0], [1, 2]], [0, 4], [-1], [2**40], "abc", [True]])
def test_other_content_is_refused(pe):
    with pytest.raises(hb.FormatError):
        hb.Mapping(pe, WHERE)


def test_a_place_of_another_kind():
    """A machine and its spec are places, as for map_tasks; a number is none."""
    assert hb.Mapping([0], WHERE.machine).where.k == hb.Mapping([0], WHERE.machine.spec()).where.k
    with pytest.raises(TypeError, match="expected an Allocation"):
        hb.Mapping([0], 5)


def test_copies_keep_everything():
    mapping = hb.map_tasks("stencil:2x2", WHERE)
    for again in (pickle.loads(pickle.dumps(mapping)), dataclasses.replace(mapping)):
        assert again.pe.tolist() == mapping.pe.tolist()
        assert again.comm_cost == mapping.comm_cost == mapping.info["comm_cost"]


def test_a_mapping_made_by_hand_has_no_cost():
    with pytest.raises(hb.UnsupportedError, match="computes it"):
        _ = hb.Mapping([0, 1], WHERE).comm_cost


def test_table_of_tasks():
    pytest.importorskip("pandas")
    where = hb.allocate("synthetic:pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)@n[1-2]:core=2")
    frame = hb.Mapping([0, 3], where).to_frame()
    assert list(frame.columns) == ["task", "pe", "node", "host", "core", "cpus"]
    assert frame["cpus"].tolist() == [where.os_pus(0), where.os_pus(3)]
    assert hb.Mapping([0, 2], WHERE).to_frame()["host"].tolist() == ["a", "b"]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(hb.MissingPackageError, match="needs the package pandas"):
        hb.Mapping([0], WHERE).to_frame()
