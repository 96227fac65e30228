"""``hopbytes list`` shows exactly what is registered."""

import json

import pytest

from hopbytes.algorithms.base import mappers, refiners
from hopbytes.formats.base import formats
from hopbytes.machines.base import machines
from hopbytes.show.catalogue import catalogue, describe


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


MOST_UNGROUPED = 10


@pytest.mark.parametrize("kind", ["mappers", "refiners"])
def test_many_options_are_shown_in_groups(kind):
    """Every option of such an algorithm is in exactly one group."""
    for row in catalogue(kind):
        grouped = [name for names in row.get("option_groups", {}).values() for name in names]
        if grouped or len(row["options"]) > MOST_UNGROUPED:
            assert sorted(grouped) == sorted(row["options"]), row["name"]


def test_groups_of_options_are_printed():
    (row,) = [row for row in catalogue("mappers") if row["name"] == "multisection"]
    text = " ".join(describe([row], columns=100).split())
    assert "options for coarsening: contraction_limit=1500, shared_hierarchies=8" in text
    assert "options: " not in text
