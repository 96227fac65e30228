"""Comparing benchmark rows: means worked out by hand, gaps never averaged over, bad files refused."""

import json

import pytest

from helpers.errors import mentions
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes_laboratory.standings import compare, read_results


def row(tool, cost, instance="mesh", seed=1, preset="eco", **more):
    return {"tool": tool, "preset": preset, "instance": instance, "seed": seed, "comm_cost": cost, **more}


def standing(comparison, contender, scope="all"):
    everything = comparison.overall + comparison.families + comparison.instances
    (found,) = [s for s in everything if (s.contender, s.scope) == (contender, scope)]
    return found


def test_means_are_over_seeds_first():
    """One instance with many seeds weighs as much as one with a single seed."""
    rows = [row("ours", 10, "a", seed) for seed in range(9)] + [row("ours", 40, "b")]
    rows += [row("theirs", 20, "a"), row("theirs", 20, "b")]
    ours = standing(compare(rows, "theirs"), "ours:eco")
    assert ours.ratios["comm_cost"] == pytest.approx(1.0)
    assert ours.means["comm_cost"] == pytest.approx(20.0)
    assert (ours.wins, ours.ties, ours.losses, ours.instances, ours.runs) == (1, 0, 1, 2, 10)


def test_presets_meet_their_namesake_or_the_one_named():
    rows = [row("ours", 10), row("ours", 8, preset="strong")]
    rows += [row("theirs", 20), row("theirs", 4, preset="strong")]
    by_name = compare(rows, "theirs")
    assert standing(by_name, "ours:eco").ratios["comm_cost"] == pytest.approx(0.5)
    assert standing(by_name, "ours:strong").ratios["comm_cost"] == pytest.approx(2.0)
    fixed = compare(rows, "theirs:strong")
    assert [s.contender for s in fixed.overall] == ["theirs:strong", "ours:eco", "ours:strong", "theirs:eco"]
    assert standing(fixed, "ours:eco").ratios["comm_cost"] == pytest.approx(2.5)


def test_failures_are_counted_and_leave_no_trace_in_means():
    rows = [row("ours", None, "a", error="crashed"), row("ours", 5, "b")]
    rows += [row("theirs", 1, "a"), row("theirs", 10, "b")]
    ours = standing(compare(rows, "theirs"), "ours:eco")
    assert (ours.failures, ours.instances, ours.runs) == (1, 1, 2)
    assert ours.ratios["comm_cost"] == pytest.approx(0.5)


def test_different_settings_are_never_averaged():
    rows = [row("ours", 10, threads=1), row("ours", 1000, threads=2), row("theirs", 10, threads=1)]
    comparison = compare(rows, "theirs")
    assert standing(comparison, "ours:eco").ratios["comm_cost"] == pytest.approx(1.0)
    assert {s.scope for s in comparison.instances} == {"mesh (1)", "mesh (2)"}


def test_unknown_baseline_names_the_nearest():
    with pytest.raises(UnsupportedError, match=mentions("'theirs:eco'")):
        compare([row("theirs", 1)], "theirs:ecco")


def test_a_baseline_whose_runs_all_failed_is_refused_with_the_first_error():
    rows = [row("ours", 1), row("theirs", None, error="ModuleNotFoundError: no\nrival")]
    with pytest.raises(UnsupportedError, match=mentions("'theirs'", "ModuleNotFoundError: no rival")):
        compare(rows, "theirs")
    assert standing(compare([*rows, row("theirs", 2, "b")], "theirs"), "theirs:eco").failures == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "an empty file"),
        ("\n\n", "no rows"),
        ("{", ":1: not JSON"),
        ("\n[1]", ":2: a JSON list"),
        ("[" * 100_000, "not JSON"),
        ('{"instance": "a"}', "no 'tool'"),
        (json.dumps(row("a", None)), "neither comm_cost nor error"),
        (json.dumps(row("a", -1)), "comm_cost is -1"),
        (json.dumps(row("a", "5")), "comm_cost is 5"),
        (json.dumps(row("a", float("nan"))), "comm_cost is nan"),
        (json.dumps(row("a", 10**400)), "comm_cost is 1000"),
        (json.dumps(row("a", 1, wall_seconds=True)), "wall_seconds is True"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path, text, says):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_results(path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
