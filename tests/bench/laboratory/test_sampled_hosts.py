"""Allocations drawn on a machine."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.spec import parse_machine
from hopbytes_laboratory.sampled_hosts import sample_nodes


def test_kinds_of_draws():
    machine = parse_machine("torus:8x8x8:nodes=2 / core:2")
    for text in ("first:nodes=100", "scattered:nodes=100:seed=3", "sfc:nodes=100:holes=0.3:seed=3"):
        used = sample_nodes(machine, text)
        assert used.sum() == 100
        assert np.array_equal(used, sample_nodes(machine, text))
        assert hb.allocate(machine, hosts=text).k == 200
    assert np.flatnonzero(sample_nodes(machine, "first:nodes=3")).tolist() == [0, 1, 2]
    drawn = [sample_nodes(machine, f"sfc:nodes=100:holes=0.3:seed={seed}") for seed in (3, 4)]
    assert not np.array_equal(*drawn)


def test_numbers_on_any_machine():
    where = hb.allocate("node:8 core:2", hosts="nodes:0-1,7")
    assert where.first_core.tolist() == [0, 1, 2, 3, 14, 15]
    assert hb.allocate("fattree:4x4", hosts="scattered:nodes=5").k == 5


@pytest.mark.parametrize(("text", "said"), [
    ("sfc:nodes=0", "nodes=0"), ("sfc:nodes=17", "from 1 to 16"), ("sfc:holes=0.1", "without nodes=N"),
    ("sfc:nodes=4:holes=1", "holes=1"), ("sfc:nodes=4:holes=x", "holes=x"), ("sfc:nodes=4:run=0", "run=0"),
    ("sfc:nodes=4:seed=-1", "seed=-1"), ("sfc:nodes=4:nodes=5", "expected each once"),
    ("first:nodes=4:seed=1", "'seed=1'"), ("nodes:", "expected numbers"), ("nodes:3-1", "'3-1'"),
    ("nodes:16", "below 16"), ("scattered:", "expected each once"),
])
def test_faults_are_one_line(text, said):
    with pytest.raises(HopbytesError) as caught:
        hb.allocate("torus:4x4", hosts=text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_fewer_names_than_nodes_say_what_to_do():
    with pytest.raises(FormatError, match="nodes:0-15"):
        hb.allocate("node:16 core:2", hosts="a,b")
    with pytest.raises(FormatError, match="nodes:0-15"):
        hb.allocate("torus:4x4", hosts="a,n1")
