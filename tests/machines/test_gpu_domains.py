"""Domains of GPUs with fast links, and the rails of the network that they send through."""

import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from hopbytes.machines.gpu_domains import gpu_domains, has_rails

DOMAIN = "NVLink domain"


@pytest.mark.parametrize(("spec", "domain", "rail", "name", "several"), [
    ("rails:4x2:domain=2", [0, 0, 0, 0, 1, 1, 1, 1], [0, 1] * 4, DOMAIN, True),
    ("rails:2x3", [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, DOMAIN, True),
    ("node:2 gpu:3", [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, "node", False),
    ("torus:2x1 / gpu:2", [0, 0, 1, 1], [0, 1] * 2, "node", False),
    ("node:2 core:2", [0, 0, 1, 1], None, "node", False),
    # Hosts with two adapters: by default tasks send through the first one.
    ("ib:{}:hosts=n[1-2] / gpu:2", [0, 0, 1, 1], [0] * 4, "node", True),
    ("ib:{}:hosts=n[1-2]:rails=spread / gpu:2", [0, 0, 1, 1], [0, 1] * 2, "node", True),
    ("ib:{}:hosts=n[1-2]:rails=spread / core:2", [0, 0, 1, 1], [0, 1] * 2, "node", False),
    ("ib:{}:hosts=n[1-2]:adapters=mlx5_0 / gpu:2", [0, 0, 1, 1], None, "node", False),
])  # fmt: skip
def test_domains_and_rails(tmp_path, spec, domain, rail, name, several):
    where = hb.allocate(spec.format(two_level_fabric(hosts=2, rails=2).write(tmp_path)))
    found = gpu_domains(where)
    assert (found.domain.tolist(), found.name, has_rails(where)) == (domain, name, several)
    assert (None if found.rail is None else found.rail.tolist()) == rail
    some = gpu_domains(where.select(hb.allocate(spec.format(tmp_path)).cores[1:]))
    assert some.domain.tolist() == domain[1:]


def test_rails_of_gpus_are_those_of_the_nearest_adapters(tmp_path):
    """Of hosts whose adapters are not known to be near a GPU, the GPUs take them in turn."""
    folder = two_level_fabric(hosts=2, rails=2).write(tmp_path)
    where = hb.allocate(f"ib:{folder}:rails=gpu / gpu:4", hosts="n[1-2]")
    assert where.endpoints.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert gpu_domains(where).rail.tolist() == [0, 0, 1, 1] * 2
