"""The page of results: made by the generator; profiles by hand; targets that name where they are from."""

import doctest
import importlib
import math
import re

import pytest

from bench import BENCH, RESULTS, page
from bench.pages import asked, how_good, kept, numbers, profiles
from bench.pages.sections import SECTIONS

BY_HAND = {
    "one": {"a": 2.0, "b": 3.0},
    "two": {"a": 4.0, "b": 2.0},
    "three": {"a": 5.0, "b": 5.0},
    "four": {"a": 7.0},
}


def test_the_page_and_its_pictures_are_what_the_generator_makes():
    made = page.made()
    assert page.stale() == []
    assert set(RESULTS.glob("*.svg")) == set(made) - {BENCH / "RESULTS.md", BENCH / "PROTOCOL.md"}


def test_what_the_readme_says_of_bounds_and_inputs():
    """Every rival by its own rule: SharedMap's bound is rounded up, ours down."""
    rows = kept.rows("foundation")
    assert len({row["instance"] for row in rows}) == 22
    for tool, broken in (("hopbytes", "over_rounded_down"), ("sharedmap", "over_bound")):
        own = [row for row in rows if row["tool"] == tool]
        assert (len(own), sum(row[broken] for row in own)) == (132, 0)
    readme = " ".join((BENCH.parent / "README.md").read_text().split())
    assert "Both programs keep their load bounds in all 132 runs each" in readme
    assert "geometric means over 22 inputs" in readme


def test_profiles_by_hand():
    found = profiles.ratios(BY_HAND)
    assert found == {"a": [1.0, 1.0, 1.0, 2.0], "b": [1.0, 1.0, 1.5, math.inf]}
    assert [profiles.share(found["b"], factor) for factor in (1, 1.4, 1.5, 100)] == [0.5, 0.5, 0.75, 0.75]
    assert "| `b` | 2 of 4 | 50 % | 75 % | no answer |" in profiles.table(BY_HAND, (1.0, 1.5))


@pytest.mark.parametrize(("values", "says"), [
    ([0.9], "met"), ([1.0], "met"), ([0.9, 1.01], "within tolerance"), ([0.9, 1.02], "**missed**"),
])  # fmt: skip
def test_the_worst_value_decides(values, says):
    assert asked.verdict({"at_most": 1.0, "miss": 0.011}, values) == says
    assert asked.verdict({"at_least": -1.0, "miss": 0.011}, [-value for value in values]) == says


def test_every_target_is_complete():
    for target in kept.targets():
        assert ("at_most" in target) != ("at_least" in target), target["what"]
        assert target["miss"] >= 0
        assert {"section", "what"} <= set(target)
        shown = "computed" in target and kept.rows(target["computed"]["from"])
        assert bool(shown) != ({"earlier", "command"} <= set(target)), target["what"]
        if "computed" in target:
            assert target["computed"]["from"] in SECTIONS
            assert target["computed"]["what"] in numbers.NUMBERS


def test_all_kept_rows_are_described_and_shown():
    names = {path.name.removesuffix(".jsonl.xz") for path in RESULTS.glob("*.jsonl.xz")}
    assert names == set(kept.about())
    assert names <= set(SECTIONS) | set(how_good.FILES)
    for name, facts in kept.about().items():
        assert {"title", "measured", "state", "commands"} <= set(facts), name
        assert kept.rows(name), name


def test_commands_name_scripts_that_exist():
    said = [command for facts in (*kept.about().values(), *kept.earlier()) for command in facts["commands"]]
    said += [target["command"] for target in kept.targets() if "command" in target]
    for command in said:
        for module in re.findall(r"python -m (bench\.[\w.]+)", command):
            path = BENCH.parent / module.replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), command


@pytest.mark.parametrize(
    "name", ["bench", "bench.rivals.needed", "bench.pages.asked", "bench.pages.profiles"]
)
def test_examples_in_docstrings(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
