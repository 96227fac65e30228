"""write_report(): what the page says, and what happens to bad input."""

import os
import re
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, PROGRAM, ROOT
from hopbytes.show import page
from hopbytes.show.page import Origin, as_map, names_of, page_of
from hopbytes.util.quantities import duration

MOST_BYTES = {4096: 400_000, 16384: 1_000_000}


def mixed(pattern, machine, **info):
    """Return a pattern and a mapping that deals its tasks over the machine."""
    graph, where = hb.read(pattern), hb.allocate(machine)
    return graph, hb.Mapping(np.arange(graph.n).reshape(-1, 4).T.reshape(-1), where, info)


def test_the_verdict_comes_first_and_says_bytes():
    graph = hb.CommGraph.from_edges([0, 1], [2, 3], [5000, 5000])
    mapping = hb.Mapping([0, 2, 1, 3], hb.allocate("node:2@10 core:2@1"))
    page = page_of(graph, {"mine": mapping}, "fill", Origin())
    assert page.judged[0].headline.startswith("Use this mapping: the messages are predicted to take ")
    assert page.judged[0].sentences[1].startswith("Between nodes: 0 B")
    time, figure = page.judged[0].figures[:2]
    assert (time.name, time.value, time.better) == ("Predicted time", "800 ns", True)
    assert (figure.name, figure.value, figure.before, figure.better) == (
        "Bytes between nodes", "0 B", "10 kB", True,
    )  # fmt: skip
    assert page.pairs.rows[0][:2] == ("0 and 2", "5 kB")
    assert list(page.launches)[:2] == ["Open MPI", "Slurm"]


@pytest.mark.parametrize("on", ["torus:5x8", "node:10@10 core:4@1"])
def test_tables_beside_charts_have_all_of_the_traffic(on):
    """Volumes are below 1000, so that no amount is rounded."""
    rng, where = np.random.default_rng(4), hb.allocate(on)
    sources, targets = rng.integers(0, 40, (2, 90))
    keep = sources != targets
    graph = hb.CommGraph.from_edges(sources[keep], targets[keep], rng.integers(1, 9, keep.sum()), n=40)
    history = [(0.1 * step, 10 * step, 5000 - step) for step in range(120)]
    info = {"history": history, "seconds": {"map": 20.0}}
    after = hb.Mapping(rng.permutation(40), where, info)
    mappings = {"before": hb.Mapping(np.arange(40), where), "after": after}
    evaluation = hb.evaluate(graph, after)
    charts = page.matrix_charts(graph, mappings, "B")
    charts += page.traffic_charts(graph, mappings, evaluation, "B")
    tables = {
        chart.name: [[cell.split(" B")[0] for cell in row] for row in chart.table.rows] for chart in charts
    }
    for number in (0, 1):
        cells = [int(cell) for row in tables[f"matrix-{number}"] for cell in row[1:] if cell != "–"]
        assert sum(cells) == graph.total_volume
        assert len(tables[f"matrix-{number}"]) == 14  # three ranks each
        assert [row[0] for row in tables[f"matrix-{number}"]] == [str(rank) for rank in range(0, 40, 3)]
        levels = next(chart.table for chart in charts if chart.name == "levels").rows
        volumes = [int(row[1 + number].partition(" B (")[0]) for row in levels]
        assert sum(volumes) == graph.total_volume
        shares = [float(row[1 + number].partition("(")[2].partition(" %")[0]) for row in levels]
        assert shares == [round(100 * volume / graph.total_volume, 1) for volume in volumes]
    assert [tables["history"][at][3] for at in (0, -1)] == ["5,000", "4,881"]
    assert len(tables["history"]) == 50
    assert ("hops" in tables) == (where.machine.network() is not None)
    if "hops" in tables:
        hop_bytes = sum(int(row[0]) * int(row[2]) for row in tables["hops"])
        assert hop_bytes == evaluation.mapping.links.hop_bytes
        links = where.machine.network()
        assert sum(int(row[2]) for row in tables["loads"]) == int(np.count_nonzero(links.capacity > 0))
        loads = [float(row[2]) for row in tables["links"]]
        assert loads == sorted(loads, reverse=True)
        assert loads[0] == evaluation.mapping.links.max_congestion
        assert len(loads) == 10


@pytest.mark.parametrize(("own", "base", "change", "better"), [
    (50, 100, "−50.0 %", True), (150, 100, "+50.0 %", False), (7, 7, "unchanged", None), (5, 0, "", False),
])  # fmt: skip
def test_figures_say_how_a_value_changes(own, base, change, better):
    found = page._figure("bytes", own, base, str)
    assert (found.value, found.before, found.change, found.better) == (str(own), str(base), change, better)


def test_flows_over_a_link_that_have_no_room_are_counted():
    assert page._flows([(1, 2, 9), (3, 4, 5)], 1002) == "1 to 2, 3 to 4 and 1,000 more"
    assert page._flows([(1, 2, 9)], 1) == "1 to 2"


def test_several_mappings_are_columns():
    graph, mapping = mixed("stencil:8x8", "node:4@10 core:16@1")
    other = hb.Mapping(np.arange(64), mapping.where)
    page = page_of(graph, {"dealt": mapping, "blocks": other}, "fill", Origin())
    assert page.comparison.head == ("metric", "in order", "dealt", "blocks")
    assert [chart.title for chart in page.matrices] == ["in order", "dealt", "blocks"]
    assert [one.name for one in page.judged] == ["dealt", "blocks"]


@pytest.mark.parametrize("tasks", [4096, pytest.param(16384, marks=pytest.mark.slow)])
def test_pages_stay_small(tmp_path, tasks):
    graph, mapping = mixed(f"stencil:16x16x{tasks // 256}", f"torus:8x8x4@10 / core:{tasks // 256}@1")
    hb.write_report(graph, mapping, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < MOST_BYTES[tasks]


def test_a_page_names_no_other_host(tmp_path):
    graph, mapping = mixed("stencil:8x8", "node:4@10 core:16@1")
    hb.write_report(graph, mapping, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "default-src 'none'" in text
    assert re.findall(r"<(?:link|iframe|script src|img src=\"http)", text) == []


def test_a_report_may_be_written_again_but_no_other_file(tmp_path):
    graph, mapping = mixed("stencil:4x4", "node:4@10 core:4@1")
    path = tmp_path / "r.html"
    for _ in range(2):
        assert hb.write_report(graph, mapping, path) == str(path)
    path.write_text("notes")
    with pytest.raises(hb.UnsupportedError, match="exists"):
        hb.write_report(graph, mapping, path)
    assert path.read_text() == "notes"


def test_wrong_sizes_and_machines_are_refused(tmp_path):
    graph, mapping = mixed("stencil:4x4", "node:4@10 core:4@1")
    path = tmp_path / "r.html"
    with pytest.raises(hb.FormatError, match="16 tasks, expected the 64"):
        hb.write_report(hb.read("stencil:8x8"), mapping, path)
    other = hb.Mapping(mapping.pe, hb.allocate("node:2@10 core:8@1"))
    with pytest.raises(hb.UnsupportedError, match=r"b: a mapping to node:2.*, expected one to node:4"):
        hb.write_report(graph, {"a": mapping, "b": other}, path)
    for odd in ({}, {"a": 1}, [mapping], None):
        with pytest.raises(hb.WrongTypeError):
            hb.write_report(graph, odd, path)
    with pytest.raises(hb.UnsupportedError, match="missing"):
        hb.write_report(graph, mapping, tmp_path / "no" / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_a_mapping_of_another_machine_or_size_is_refused_by_the_program(hopbytes, tmp_path):
    assert hopbytes("map", "stencil:4x4", "--on", "node:4 core:4", "-o", "m.json").returncode == 0
    done = hopbytes("report", "stencil:8x8", "m.json")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "16" in done.stderr
    assert "64" in done.stderr
    done = hopbytes("report", "stencil:4x4", "m.json", "--on", "node:2 core:8")
    assert done.returncode == 1
    assert "node:4" in done.stderr
    done = hopbytes("report", "stencil:4x4")
    assert done.returncode == 2
    assert "--on" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["m.json"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no folder that nobody can write to")
def test_a_folder_without_permission_is_refused_before_any_work(hopbytes):
    done = hopbytes("report", "stencil:4x4", "--on", "node:4 core:4", "-o", "/proc/self/r.html")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "/proc/self/r.html: cannot be written" in done.stderr


def test_a_report_needs_no_other_package(tmp_path):
    """NumPy, SciPy and click are all that the installation brings."""
    for name in ("altair", "vl_convert", "jinja2", "markupsafe", "PIL", "matplotlib", "pandas"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('no {name}', name='{name}')\n")
    command = [PROGRAM, "report", EXAMPLES / "halo_96.pattern", "--on", "node:8@10 core:12@1", "-o", "r.html"]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    there = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": path}}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **there)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    text = (tmp_path / "r.html").read_text()
    assert text.count("<svg") == text.count("<figure") >= 3
    assert "mpirun -n 96" in text


def test_without_a_mapping_the_program_maps_first_and_says_so(hopbytes, tmp_path):
    example = ROOT / "examples/lammps_lj_64.csv"
    done = hopbytes("report", example, "--on", "node:8@10 core:8@1", "--preset", "fast")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-2:] == [
        "no MAPPING given: the page is about preset fast", "report.html written"
    ]
    text = (tmp_path / "report.html").read_text()
    stored = re.search(r"<code>(hopbytes map .*)</code>", text).group(1).replace("&#x27;", "'")
    assert stored.endswith("--on 'node:8@10 core:8@1' --preset fast -o mapping.json")
    # The command in the page makes the very mapping that the page is about.
    assert hopbytes(*stored_words(stored)).returncode == 0
    found = hb.read_mapping(str(tmp_path / "mapping.json"))
    assert f"{found.comm_cost:,}" in text


def stored_words(command):
    import shlex

    return shlex.split(command)[1:]


def test_machines_without_bandwidths_levels_or_history_have_a_report(tmp_path):
    (tmp_path / "d.txt").write_text("0 1 2 3\n1 0 1 2\n2 1 0 1\n3 2 1 0\n")
    graph = hb.read("stencil:4")
    where = hb.allocate(f"table:{tmp_path / 'd.txt'}")
    for mapping in (hb.map_tasks(graph, where), hb.Mapping([3, 2, 1, 0], where)):
        hb.write_report(graph, mapping, tmp_path / "r.html")
        assert "Verdict" in (tmp_path / "r.html").read_text()


def test_empty_patterns_and_partitions_have_a_report(tmp_path):
    nothing = hb.CommGraph.from_edges([], [], [], n=4)
    where = hb.allocate("node:2@10 core:2@1")
    hb.write_report(nothing, hb.Mapping([0, 1, 2, 3], where), tmp_path / "n.html")
    mesh = hb.read("stencil:16x16")
    hb.write_report(mesh, hb.map_tasks(mesh, where, "fast", partition=True), tmp_path / "p.html")
    assert "hopbytes write" not in (tmp_path / "p.html").read_text()


def test_the_predicted_time_is_that_of_simulate_without_names_of_options():
    graph, where = hb.read("stencil:8x8"), hb.allocate("node:4@10 core:16@1")
    in_order, found = hb.map_tasks(graph, where, "random"), hb.map_tasks(graph, where, "fast")
    page = page_of(graph, {"random": in_order, "fast": found}, "fill", Origin())
    expected = duration(hb.simulate(graph, found).seconds)
    assert [row[1] for row in page.times.rows if row[0] == "fast"] == [expected]
    assert expected.endswith(" us")
    assert [row[0] for row in page.times.rows] == ["in order", "random", "fast"]
    assert page.time_notes
    assert not any("`" in note for note in page.time_notes)


def test_commands_of_a_report_become_commands_that_map():
    typed = ["report", "a.csv", "--on", "node:2", "--quiet", "--output=r.html", "--compare-with", "block"]
    assert as_map(typed) == ["map", "a.csv", "--on", "node:2", "-o", "mapping.json"]
    assert as_map(["report", "a", "-or.html", "--pack"]) == ["map", "a", "--pack", "-o", "mapping.json"]
    assert names_of(["a/x.json", "b/x.json"]) == ["a/x.json", "b/x.json"]


def test_tables_hold_the_numbers_of_the_evaluation():
    graph, mapping = mixed("stencil:8x8", "torus:4x4@10 / core:4@1")
    evaluation = hb.evaluate(graph, mapping, random_seeds=0)
    page = page_of(graph, {"mine": mapping}, "fill", Origin())
    costs = next(row for row in page.all_metrics.rows if row[0] == "communication cost J")
    assert costs[1:] == (f"{evaluation.in_order.comm_cost:,}", f"{evaluation.comm_cost:,}")
    tables = {chart.name: chart.table for chart in page.charts}
    assert set(tables) == {"levels", "hops", "loads", "links"}
    shares = [float(row[1].partition("(")[2].removesuffix(" %)")) for row in tables["levels"].rows]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert [row[0] for row in tables["links"].rows] == [link.name for link in evaluation.hottest]
    links = len(mapping.where.machine.network().capacity)
    counted = sum(int(row[2].replace(",", "")) for row in tables["loads"].rows)
    assert counted == links
