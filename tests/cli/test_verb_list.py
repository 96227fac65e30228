"""``hopbytes list`` shows exactly what is registered."""

import json

import pytest

from hopbytes.algorithms.base import mappers, refiners
from hopbytes.formats.base import formats
from hopbytes.machines.base import machines


@pytest.mark.parametrize(
    ("kind", "registry"),
    [("mappers", mappers), ("refiners", refiners), ("machines", machines), ("formats", formats)],
)
def test_names_are_those_of_the_registry(hopbytes, kind, registry):
    rows = json.loads(hopbytes("list", kind, "--json").stdout)
    assert [row["name"] for row in rows] == list(registry)
    assert all(row["summary"] for row in rows)


def test_text_has_one_unindented_line_per_name(hopbytes):
    lines = hopbytes("list", "machines").stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(machines)


def test_unknown_kind_is_one_line_with_the_nearest_name(hopbytes):
    done = hopbytes("list", "machnes")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("hopbytes: ")
    assert "'machines'" in done.stderr
