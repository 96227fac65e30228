"""Comparing benchmark rows: means worked out by hand, gaps never averaged over, bad files refused."""

import bz2
import gzip
import json
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import mentions
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.show.plot import performance_profile
from hopbytes_laboratory.standings import compare, describe, geometric_mean, profile_values, read_results


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


def test_a_missing_time_empties_the_mean_of_times_only():
    rows = [
        row("ours", 1, "a", wall_seconds=1.0), row("ours", 1, "b"),
        row("theirs", 2, "a", wall_seconds=1.0), row("theirs", 2, "b", wall_seconds=1.0),
    ]
    ours = standing(compare(rows, "theirs"), "ours:eco")
    assert ours.ratios == {
        "comm_cost": pytest.approx(0.5), "wall_seconds": None, "inner_seconds": None, "cpu_seconds": None
    }


def test_families_and_broken_bounds():
    rows = [
        row("ours", 1, "a", family="2-D", over_bound=True), row("ours", 4, "b", family="MPI"),
        row("theirs", 2, "a", family="2-D"), row("theirs", 2, "b", family="MPI"),
    ]
    comparison = compare(rows, "theirs")
    assert standing(comparison, "ours:eco", "2-D").ratios["comm_cost"] == pytest.approx(0.5)
    assert standing(comparison, "ours:eco", "MPI").ratios["comm_cost"] == pytest.approx(2.0)
    assert standing(comparison, "ours:eco").over_bound == 1


def test_the_last_row_of_a_run_counts():
    rows = [row("ours", 100), row("ours", 5), row("theirs", 10)]
    ours = standing(compare(rows, "theirs"), "ours:eco")
    assert (ours.runs, ours.ratios["comm_cost"]) == (1, pytest.approx(0.5))


def test_different_settings_are_never_averaged():
    rows = [row("ours", 10, threads=1), row("ours", 1000, threads=2), row("theirs", 10, threads=1)]
    comparison = compare(rows, "theirs")
    assert standing(comparison, "ours:eco").ratios["comm_cost"] == pytest.approx(1.0)
    assert {s.scope for s in comparison.instances} == {"mesh (1)", "mesh (2)"}


def test_zero_costs():
    both = compare([row("ours", 0), row("theirs", 0)], "theirs")
    assert (standing(both, "ours:eco").ratios["comm_cost"], standing(both, "ours:eco").ties) == (1.0, 1)
    worse = standing(compare([row("ours", 3), row("theirs", 0)], "theirs"), "ours:eco")
    assert (worse.ratios["comm_cost"], worse.losses) == (None, 1)


def test_what_spoils_times_is_said():
    busy = row("ours", 1, wall_seconds=1.0, other_cpu_seconds=0.9, machine={"cpu": "A"}, versions={"a": "1"})
    quiet = {**row("ours", 1, "b"), "machine": {"cpu": "B"}, "versions": {"a": "2"}}
    quiet |= {"wall_seconds": 1.0, "other_cpu_seconds": 0.0}
    notes = " / ".join(compare([busy, quiet], "ours").notes)
    assert "2 machines" in notes
    assert "1 of 2 runs" in notes
    assert "2 versions" in notes
    assert compare([quiet], "ours").notes == ()


def test_unknown_baseline_names_the_nearest():
    with pytest.raises(UnsupportedError, match=mentions("'theirs:eco'")):
        compare([row("theirs", 1)], "theirs:ecco")


def test_a_baseline_whose_runs_all_failed_is_refused_with_the_first_error():
    rows = [row("ours", 1), row("theirs", None, error="ModuleNotFoundError: no\nrival")]
    with pytest.raises(UnsupportedError, match=mentions("'theirs'", "ModuleNotFoundError: no rival")):
        compare(rows, "theirs")
    assert standing(compare([*rows, row("theirs", 2, "b")], "theirs"), "theirs:eco").failures == 1


def test_contenders_that_meet_nobody_are_named():
    rows = [row("ours", 1), row("ours", 1, preset="strong"), row("ours", 1, "b", preset="fast")]
    rows += [row("theirs", 2), row("theirs", 2, preset="fast")]
    absent, empty = compare(rows, "theirs").notes
    assert "theirs:strong" in absent
    assert "ours:strong" in absent
    assert "ours:fast" in empty
    assert "theirs:fast" in empty
    assert absent in describe(compare(rows, "theirs"))


def test_text_and_json_hold_the_same_numbers():
    comparison = compare([row("ours", 30, wall_seconds=2.0), row("theirs", 40, wall_seconds=4.0)], "theirs")
    line = next(line for line in describe(comparison).splitlines() if "ours:eco" in line)
    assert line.split()[:4] == ["ours:eco", "theirs:eco", "0.750", "0.500"]
    back = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert back["overall"][1]["ratios"]["comm_cost"] == pytest.approx(0.75)


@given(st.lists(st.integers(1, 10**15), min_size=1, max_size=20))
def test_geometric_mean_lies_between(values):
    mean = geometric_mean([float(value) for value in values])
    assert min(values) * (1 - 1e-9) <= mean <= max(values) * (1 + 1e-9)


def test_files_are_read_back(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [row("ours", 1), row("theirs", None, error="crashed")]
    path.write_text("\n".join(json.dumps(r) for r in rows) + "\n\n")
    assert read_results(path) == rows


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_compressed_files_are_read(tmp_path, suffix):
    """Results that are worth keeping are stored compressed."""
    rows = [row("ours", 1), row("theirs", 2)]
    opener = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}[suffix]
    path = tmp_path / f"rows.jsonl{suffix}"
    with opener(path, "wt") as file:
        file.write("".join(json.dumps(each) + "\n" for each in rows))
    assert read_results(path) == rows
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(FormatError, match=mentions(path.name)):
        read_results(path)


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


def test_odd_values_in_free_fields_do_no_harm():
    odd = row("ours", 1, hierarchy=[4, 8], family=["x"], machine=[], versions=7, other_cpu_seconds=None)
    plain = row("ours", 1)
    assert compare([odd], "ours").overall == compare([plain], "ours").overall
    assert "ours" in describe(compare([odd], "ours"))


def test_a_line_without_end_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(bytes(3 * 2**20))
    with pytest.raises(FormatError, match=mentions("rows.jsonl:1", "1048576")):
        read_results(path)


def test_profile_of_a_comparison_of_runs():
    costs = {"ours": {"mesh": 50, "web": 90}, "theirs": {"mesh": 100, "web": 90}}
    rows = [
        {"instance": name, "tool": tool, "preset": "eco", "seed": 1, "comm_cost": cost}
        for tool, own in costs.items()
        for name, cost in own.items()
    ]
    found = performance_profile(profile_values(compare(rows, "theirs").instances))
    shares = dict(zip(found.contenders, found.shares.tolist(), strict=True))
    assert found.factors.tolist() == pytest.approx([1, 2])
    assert shares == {"ours:eco": [1, 1], "theirs:eco": [0.5, 1]}
