"""The study of many threads: its inputs, its tables by hand, and one run of everything."""

import json
import sys

import pytest

import hopbytes as hb
from bench.studies import many_threads
from bench.studies.many_threads import possible_speed_ups, speed_ups, table, work_table


def row(tool, threads, wall, cpu, seed=1, **more):
    """A row of the study."""
    facts = {"graph": "box", "tool": tool, "seed": seed, "threads": threads, "comm_cost": 1000 + threads}
    return {**facts, "wall_seconds": wall, "cpu_seconds": cpu, **more}


WORK = {"n": 1000, "arcs": 6000, "scanned": 60_000, "span": 12_000}
ROWS = [
    row("fast", 1, 6.0, 6.0, **WORK), row("fast", 2, 4.0, 7.5, **WORK), row("fast", 4, 2.0, 9.0, **WORK),
    row("sharedmap:fast", 1, 2.0, 2.0), row("sharedmap:fast", 4, 1.0, 4.0),
]  # fmt: skip


def cells(text):
    """The cells of a table without its heads."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_seconds_and_ratios_stand_in_a_row_per_tool():
    assert cells(table(ROWS)) == [
        ["box", "`fast`", "1", "1,004", "6.00", "6.00", "4.00", "2.00", "3.00", "1.50"],
        ["box", "`sharedmap:fast`", "1", "1,004", "2.00", "2.00", "", "1.00", "2.00", "2.00"],
    ]


def test_work_and_span_are_those_of_presets():
    assert cells(work_table(ROWS)) == [["box", "1,000", "6,000", "`fast`", "1", "10.0", "2.00", "5.0"]]


def test_speed_ups_as_measured_and_as_work_and_span_allow():
    assert speed_ups(ROWS)["box fast"] == [(1, 1.0), (2, 1.5), (4, 3.0)]
    allowed = possible_speed_ups(ROWS)
    assert list(allowed) == ["box fast"]
    assert allowed["box fast"][:2] == [(1, 1.0), (2, pytest.approx(60 / 36))]


def started(monkeypatch, *arguments):
    """Run the study with arguments."""
    monkeypatch.setattr(sys, "argv", ["many_threads", *map(str, arguments)])
    many_threads.main()


def test_one_task_per_slot_on_two_seeds(tmp_path, monkeypatch, capsys):
    hb.write(hb.read("stencil:8x8"), tmp_path / "small.graph")
    out = tmp_path / "rows.jsonl"
    started(
        monkeypatch, tmp_path, "--tools", "turbo", "--threads", "1,2", "--seeds", "1,2", "--out", out,
        "--machine", "node:8@10 core:8@1",
    )  # fmt: skip
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(each["seed"], each["threads"]) for each in rows] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert {(each["graph"], each["tool"], each["n"], each["arcs"]) for each in rows} == {
        ("small", "turbo", 64, 224)
    }
    assert table(rows) in capsys.readouterr().out


def test_mappings_that_depend_on_the_number_of_threads_are_named(tmp_path, monkeypatch):
    hb.write(hb.read("stencil:8x8"), tmp_path / "small.graph")
    exact = many_threads.of_preset

    def faulty(path, preset, seed, threads, machine):
        found, pe = exact(path, preset, seed, threads, machine)
        return found, pe[::-1] if threads > 1 else pe

    monkeypatch.setattr(many_threads, "of_preset", faulty)
    with pytest.raises(SystemExit, match="depend on the number of threads: small turbo, seed 1"):
        started(monkeypatch, tmp_path, "--tools", "turbo", "--threads", "1,2")
