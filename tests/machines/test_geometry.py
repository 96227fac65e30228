"""Coordinates of places: opened rings, and hosts with coordinates of a file."""

import numpy as np

import hopbytes as hb
from hopbytes.machines.geometry import geometry_of, occupied


def test_the_widest_gap_of_a_ring_opens_it():
    assert occupied(np.array([6, 7, 0, 1]), 8, True) == (6, 4)
    assert occupied(np.array([6, 7, 0, 1]), 8, False) == (0, 8)
    assert occupied(np.arange(8), 8, True) == (0, 8)


def test_hosts_with_coordinates_of_a_file_are_places_of_a_grid(tmp_path):
    table = tmp_path / "table.txt"
    table.write_text("a 0 0\nb 0 1\nc 1 0\nd 1 1\n")
    machine = hb.allocate(f"coordinates:{table}:dims=2x2").machine
    found = geometry_of(machine)
    assert found.sizes == (2, 2)
    assert dict(zip(machine.known_hosts.names, found.places.T.tolist(), strict=True)) == {
        "a": [0, 0], "b": [0, 1], "c": [1, 0], "d": [1, 1]
    }
