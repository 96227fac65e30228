"""Grade waiting: traces with times worked out by hand, beside SimGrid, and what their faults look like."""

import dataclasses
import json
import shutil

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.base import WAITING
from hopbytes.formats.kept_trace import kept_trace_path, write_kept_trace
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.show.advice import advise
from hopbytes.show.verdict import CHANGE, KEEP, judged
from hopbytes.simulation.measured import MEASURED
from hopbytes.simulation.simulate import Prediction
from hopbytes.simulation.waiting import eager_limit, program_of, recorded_eager
from hopbytes.solve.waiting import map_by_waiting

needs_simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None, reason="needs SimGrid's smpirun (Debian: libsimgrid-dev)"
)
#: Nodes of one core; a message of 10^6 bytes takes 1 ms and a latency of 1 ms.
PLAIN = "node:4@10:bw=1e9:lat=1e-3 core:1@1:bw=1e10:lat=0"
#: Two leaves of four nodes with four cores, 20 Mbit/s, of which one link leaves a leaf.
LEAVES = "fattree:4x2:up=1x1:bw=2390000:lat=5e-5 / core:4:bw=1e9:lat=2e-5"


def trace(tmp_path, *ranks):
    """Write the actions of all ranks, separated by semicolons, and return the path of the file."""
    lines = []
    for own, text in enumerate(ranks):
        given = filter(None, map(str.strip, text.split(";")))
        actions = ["init", f"comm_size {len(ranks)}", *given, "finalize"]
        lines += [f"{own} {action}" for action in actions]
    path = tmp_path / "app.ti"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def seconds(path, spec=PLAIN, **options):
    """Return the time of ranks in order."""
    graph = hb.read(path, collectives="binomial")
    mapping = hb.Mapping(range(graph.n), hb.allocate(spec))
    return hb.simulate(graph, mapping, grade="waiting", **options)


def wavefront(rows, columns, size, planes, passes):
    """Return the actions of ranks in rows: planes go from one corner to the other, then back."""
    ranks = []
    for own in range(rows * columns):
        row, column = divmod(own, columns)
        actions = []
        for number in range(passes):
            way = -1 if number % 2 else 1
            for _ in range(planes):
                near = ((row - way, column), (row, column - way)), ((row + way, column), (row, column + way))
                for what, places in zip(("recv", "send"), near, strict=True):
                    actions += [
                        f"{what} {columns * i + j} {tag} {size} 6"
                        for tag, (i, j) in enumerate(places) if 0 <= i < rows and 0 <= j < columns
                    ]
        ranks.append("; ".join(actions))
    return ranks


def test_a_chain_of_messages_takes_the_sum_of_its_times(tmp_path):
    """0 -> 1 -> 2, each of which waits for the one before; flows would send both at once."""
    path = trace(
        tmp_path, "send 1 0 1000000 6", "recv 0 0 1000000 6; send 2 0 1000000 6", "recv 1 0 1000000 6", ""
    )
    assert seconds(path).seconds == pytest.approx(4e-3, rel=1e-5)
    graph = hb.read(path)
    flows = hb.simulate(graph, hb.Mapping(range(4), hb.allocate(PLAIN)), grade="flows").seconds
    assert flows == pytest.approx(2e-3, rel=1e-3)


def test_messages_of_up_to_the_eager_limit_do_not_wait_for_their_receive(tmp_path):
    """Rank 1 posts its receive of rank 0 after a message of rank 2, which takes 2 ms; the data take 2 ms."""
    path = trace(
        tmp_path, "send 1 0 1000000 6", "recv 2 0 1000000 6; recv 0 0 1000000 6", "send 1 0 1000000 6", ""
    )
    # Both share the link into the node of rank 1 if they travel together.
    assert seconds(path, eager=10**6).seconds == pytest.approx(3e-3, rel=1e-5)
    assert seconds(path, eager=10**6 - 1).seconds == pytest.approx(4e-3, rel=1e-5)
    assert seconds(path, eager=10**6).posted_seconds == pytest.approx(4e-3, rel=1e-5)


def test_synchronous_sends_and_requests(tmp_path):
    """MPI_Ssend waits for the receive; requests are waited for one by one or together."""
    late = "recv 2 0 1000000 6; irecv 0 5 8 6; wait 0 1 5"
    sends = {"ssend 1 5 8 6": 4e-3, "issend 1 5 8 6; wait 0 1 5": 4e-3, "send 1 5 8 6": 2e-3}
    for send, expected in sends.items():
        path = trace(tmp_path, f"{send}; send 3 0 0 6", late, "send 1 0 1000000 6", "recv 0 0 0 6")
        # Rank 3 hears of rank 0 a latency after its first send is done; rank 1 hears of rank 2 at 2 ms.
        assert seconds(path, eager=10**6).seconds == pytest.approx(expected, rel=1e-3)
    first, second = (f"isend {other} 0 8 6; irecv {other} 0 8 6; waitall" for other in (1, 0))
    both = trace(tmp_path, first, second, "", "")
    assert seconds(both).seconds == pytest.approx(1e-3, rel=1e-3)


def test_a_request_that_was_waited_for_with_all_is_waited_for_once(tmp_path):
    """Rank 0 tells rank 2 of the second message, not of the first one, which came 1 ms before."""
    path = trace(
        tmp_path, "irecv 1 7 1000000 6; waitall; irecv 1 7 1000000 6; wait 1 0 7; send 2 0 0 6",
        "send 0 7 1000000 6; send 0 7 1000000 6", "recv 0 0 0 6", "",
    )  # fmt: skip
    assert seconds(path, eager=10**6).seconds == pytest.approx(4e-3, rel=1e-3)


def test_collectives_take_rounds(tmp_path):
    """A barrier of four ranks has two rounds, a broadcast too, an all-to-all with counts only one."""
    for action, latencies in (("barrier", 2), ("bcast 8 0 6", 2), ("allreduce 8 0 6", 2)):
        assert seconds(trace(tmp_path, *[action] * 4)).seconds == pytest.approx(latencies * 1e-3, rel=1e-3)
    blocks = "alltoallv 4 1 1 1 1 4 1 1 1 1 6 6"
    assert seconds(trace(tmp_path, *[blocks] * 4)).seconds == pytest.approx(1e-3, rel=1e-3)


def test_what_has_no_partner_is_left_out_and_counted(tmp_path):
    """The end of a trace that was kept up to a number of steps."""
    path = trace(tmp_path, "send 1 0 8 6; send 1 0 8 6; barrier", "recv 0 0 8 6; recv 2 0 8 6", "", "")
    program = program_of(path, 4)
    assert len(program.bytes) == 2
    lacks = " ".join(program.notices)
    assert "1 sends without a receive" in lacks
    assert "1 receives without a send" in lacks
    assert "1 parts of collectives" in lacks
    assert seconds(path).seconds == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("ranks", "what"),
    [(("recv 1 0 8 6; send 1 0 8 6", "recv 0 0 8 6; send 0 0 8 6"), "2 of 2 processes wait"),
     (("recv 1 -1 8 6", "send 0 0 8 6"), r"app\.ti:3: tag"),
     (("barrier", "bcast 8 0 6"), "other collectives"),
     (("wait 1", ""), r"app\.ti:3: an incomplete action")],
)  # fmt: skip
def test_traces_that_cannot_be_replayed(tmp_path, ranks, what):
    path = trace(tmp_path, *ranks)
    graph = hb.CommGraph.from_edges([0], [1], [8])
    mapping = hb.Mapping(range(2), hb.allocate(PLAIN))
    with pytest.raises(HopbytesError, match=what) as raised:
        hb.simulate(graph, mapping, grade="waiting", trace=path)
    assert "\n" not in str(raised.value)


def test_errors_name_what_is_missing(tmp_path):
    graph, mapping = hb.read("stencil:2x2"), hb.Mapping(range(4), hb.allocate(PLAIN))
    with pytest.raises(UnsupportedError, match=r"trace\.gz"):
        hb.simulate(graph, mapping, grade="waiting")
    with pytest.raises(FormatError, match="expected"):
        hb.simulate(graph, mapping, grade="waiting", trace=trace(tmp_path, "", "", ""))
    with pytest.raises(UnsupportedError, match="eager"):
        hb.simulate(graph, mapping, grade="waiting", trace=trace(tmp_path, *[""] * 4), eager=-1)


def test_eager_limits_are_those_of_the_recording_mpi():
    assert eager_limit("Open MPI v5.0.1", {"btl": ["self", "tcp"], "pml": ["ob1"]}) == 65536
    assert eager_limit("MPICH Version: 4.0, MPICH Device: ch4:ucx") == 8192
    assert eager_limit("Intel(R) MPI Library 2021") == 262144
    assert eager_limit("") == 65536
    assert eager_limit("Open MPI v5", {"pml": ["ucx"]}) == 8192
    assert eager_limit("Open MPI v4", {"btl": ["self", "openib"]}) == 12288
    assert eager_limit("MVAPICH2 2.3.7, made of MPICH 3") == 16384
    assert eager_limit("MPICH 4.1") == 131072
    recorded = {"mpi": "MPICH 4.1", "components": {"pml": ["ucx"]}}
    for meta, limit in ((recorded, 8192), ({"mpi": "MPICH 4"}, 131072), ("MPICH", 65536), (None, 65536)):
        assert recorded_eager(hb.CommGraph.from_edges([0], [1], meta={"recorded": meta})) == limit


@pytest.mark.parametrize(("spec", "expected"), [
    ("node:2@10:bw=1e9:lat=1e-3 core:2@1:bw=1e8:lat=5e-4", 5e-4 + 0.01),
    ("node:2@10:bw=1e9:lat=1e-3 package:2:bw=1e7:lat=3e-4 core:1:bw=1e8:lat=5e-4", 3e-4 + 0.1),
    ("core:2@1:bw=1e7:lat=5e-4", 5e-4 + 0.1), ("node:1 core:2", 3e-7 + 1e-4),
])  # fmt: skip
def test_messages_inside_a_node_have_the_speed_of_its_outermost_level(tmp_path, spec, expected):
    path = trace(tmp_path, "send 1 0 1000000 6", "recv 0 0 1000000 6")
    assert seconds(path, spec).seconds == pytest.approx(expected, rel=1e-3)
    twice = seconds(path, "node:2@10:bw=1e9:lat=0 core:1", bytes_scale=2)
    assert twice.seconds == pytest.approx(2e-3, rel=1e-3)
    assert any("1 messages in" in notice for notice in twice.notices)


def test_the_scaled_size_counts_for_the_eager_limit_and_time_is_limited(tmp_path):
    """Rank 0 may go on before the receive is posted if twice its bytes are within the limit."""
    path = trace(
        tmp_path, "send 1 0 100 6; send 3 0 0 6", "recv 2 0 1000000 6; recv 0 0 100 6", "send 1 0 1000000 6",
        "recv 0 0 0 6",
    )  # fmt: skip
    for eager, waits in ((199, True), (200, False)):
        found = seconds(path, PLAIN.replace("1e9", "1e8"), bytes_scale=2, eager=eager).seconds
        assert found == pytest.approx(0.021 + 0.001 * waits + 2e-6 + 0.001 * waits, rel=0.05)
    with pytest.raises(HopbytesError, match="within 1e-09 seconds"):
        seconds(path, time_limit=1e-9)


def test_a_broadcast_comes_from_its_root(tmp_path):
    """The second round of rank 2's broadcast to four ranks ends a latency after the first."""
    late = "recv 2 0 0 6"
    path = trace(tmp_path, f"bcast 8 2 6; {late}", "bcast 8 2 6", "bcast 8 2 6; send 0 0 0 6", "bcast 8 2 6")
    assert seconds(path).seconds == pytest.approx(2e-3, rel=1e-3)
    blocks = ["alltoallv 4 0 1000000 0 0 4 0 0 0 0 6 6", "alltoallv 4 0 0 0 0 4 1000000 0 0 0 6 6"]
    nothing = "alltoallv 4 0 0 0 0 4 0 0 0 0 6 6"
    both = seconds(trace(tmp_path, *blocks, nothing, nothing)).seconds
    assert both == pytest.approx(2e-3, rel=1e-2)


@needs_simgrid
@pytest.mark.parametrize("spec", [LEAVES, "torus:4x2:lat=1e-6:bw=1000000000 / core:4"])
@pytest.mark.parametrize("mapper", ["identity", "random"])
def test_replays_agree_with_simgrid(tmp_path, spec, mapper):
    """A wavefront and exchanges with waits, within 2 % of SimGrid's MPI under its own protocol."""
    halo = []
    for own in range(32):
        near = [(own + step) % 32 for step in (1, 31, 4, 28)]
        once = [f"irecv {other} 0 20000 6; isend {other} 0 20000 6" for other in near] + ["waitall"]
        halo.append("; ".join(once * 5))
    for ranks in (wavefront(8, 4, 16384, 5, 2), halo):
        path = trace(tmp_path, *ranks)
        graph = hb.read(path)
        mapping = hb.map_tasks(graph, hb.allocate(spec), mapper, seed=3)
        own = hb.simulate(graph, mapping, grade="waiting").posted_seconds
        assert own == pytest.approx(hb.simulate(graph, mapping, grade="replay").seconds, rel=0.02)


def kept(tmp_path, ranks, name="app.pattern"):
    """Write a pattern and the trace beside it, as `record` does, and return the pattern as it is read."""
    graph = hb.read(trace(tmp_path, *ranks))
    pattern = tmp_path / name
    hb.write(graph, pattern)
    lines = (tmp_path / "app.ti").read_text().splitlines()
    write_kept_trace(graph, str(pattern), [lines])
    return hb.read(pattern)


def test_the_trace_beside_a_pattern_is_found_if_it_is_of_the_same_recording(tmp_path):
    graph = kept(tmp_path, ["send 1 0 8 6", "recv 0 0 8 6"])
    beside = str(tmp_path / "app.trace.gz")
    assert graph.meta[WAITING] == beside == kept_trace_path(str(tmp_path / "app.pattern"))
    assert hb.simulate(graph, hb.Mapping([0, 1], hb.allocate(PLAIN)), grade="waiting").seconds > 0
    hb.write(hb.CommGraph.from_edges([0], [1], [9]), tmp_path / "app.pattern")
    assert WAITING not in hb.read(tmp_path / "app.pattern").meta
    (tmp_path / "app.trace.gz").write_bytes(b"\x1f\x8b damaged")
    assert WAITING not in hb.read(tmp_path / "app.pattern").meta


def test_the_launchers_order_is_kept_for_a_wavefront(tmp_path):
    """Tiles have 29 % fewer bytes between nodes than rows, and each node waits for its neighbours longer."""
    where = hb.allocate(LEAVES)
    graph = kept(tmp_path, wavefront(8, 4, 16384, 10, 2))
    tiles = hb.map_tasks(graph, where)
    rows = launcher_placement(where, 32, "fill")
    assert tiles.info["comm_cost"] < 0.85 * hb.evaluate(graph, rows).mapping.comm_cost
    times = [hb.simulate(graph, mapping, grade="waiting") for mapping in (tiles, rows)]
    assert times[0].beside(times[1]) > 1.05
    assert judged(graph, tiles).decision == KEEP
    chosen = map_by_waiting(hb.map_tasks, graph, where, "fill", method="fast")
    assert chosen.pe.tolist() == rows.pe.tolist()
    assert any("own order is kept" in notice for notice in chosen.info["notices"])
    assert chosen.info["comm_cost"] == hb.evaluate(graph, rows).mapping.comm_cost
    assert advise(graph, where, presets=("fast",), seeds=1).verdict.keep
    unchecked = dataclasses.replace(graph, meta={})
    free = judged(unchecked, tiles)
    assert free.decision == CHANGE
    assert "Not checked against waiting" in free.remark


def in_time(monkeypatch, seconds_of):
    """Let replays of mappings take times that depend on what mappings know of themselves."""
    def simulate(graph, mapping, *, grade):
        assert grade == "waiting"
        seconds = seconds_of(mapping.info)
        return Prediction(grade, seconds, seconds, 1, {}, "link", (), 0, 0, 0, 0, posted_seconds=seconds)

    monkeypatch.setattr("hopbytes.solve.waiting.simulate", simulate)


@pytest.mark.parametrize(
    ("replayed", "chosen", "told"),
    [
        ((90, 95, 99), 0, ""), ((95, 90, 90), 1, ""), ((100, 98, 97), 2, ""), ((99, 99, 99), 0, ""),
        ((99.5, 100, 101), None, "less than 1 %"), ((120, 110, 105), None, "5.0 % longer"),
    ],
)
def test_the_first_of_the_fastest_mappings_is_taken(replayed, chosen, told, monkeypatch):
    """Replayed times of the mappings by three seeds; the launcher's order takes 100."""
    in_time(monkeypatch, lambda info: replayed[info["seed"]] if "seed" in info else 100)
    graph = hb.CommGraph.from_edges([0], [1], [9], n=3, meta={WAITING: "app.trace.gz"})
    where = hb.allocate("core:4@2")

    def mapped(graph, where, *, seed, objective):
        info = {"problem": "processes", "seed": seed, "objective": "comm_cost"}
        return hb.Mapping([3, 2, seed], where, info)

    found = map_by_waiting(mapped, graph, where, "fill")
    assert found.pe.tolist() == ([0, 1, 2] if chosen is None else [3, 2, chosen])
    assert told in "".join(found.info.get("notices", ()))
    assert (found.info.get("comm_cost") == 18) == (chosen is None)
    other = dataclasses.replace(graph, meta={})
    assert map_by_waiting(lambda *_, **__: found, other, where, "fill") is found


def test_the_objective_of_the_network_competes(monkeypatch):
    """Where no objective is asked for, a mapping by the one of this kind of network is replayed, too."""
    def mapped(graph, where, *, seed, objective):
        info = {"problem": "processes", "objective": objective or "comm_cost"}
        return hb.Mapping([3, 2, seed], where, info)

    in_time(monkeypatch, lambda info: 50 if info.get("objective") == "max_congestion" else 90)
    graph = hb.CommGraph.from_edges([0], [1], [9], n=3, meta={WAITING: "app.trace.gz"})
    where = hb.allocate("mesh:2x2")
    assert map_by_waiting(mapped, graph, where, "fill").info["objective"] == "max_congestion"
    asked = map_by_waiting(mapped, graph, where, "fill", objective="comm_cost")
    assert asked.info["objective"] == "comm_cost"


def test_halos_keep_their_gain(tmp_path):
    """Ranks in a scattered order exchange with four neighbours: the mapping of the preset is taken."""
    place = [(7 * rank) % 32 for rank in range(32)]
    ranks = []
    for own in range(32):
        at = place.index(own)
        near = [place[(at + step) % 32] for step in (1, 31, 4, 28)]
        once = [f"irecv {other} 0 65536 6; isend {other} 0 65536 6" for other in near] + ["waitall"]
        ranks.append("; ".join(once * 3))
    where, graph = hb.allocate(LEAVES), kept(tmp_path, ranks)
    chosen = map_by_waiting(hb.map_tasks, graph, where, "fill", method="fast")
    verdict = judged(graph, chosen)
    assert verdict.decision == CHANGE
    assert verdict.predicted.grade == "waiting"
    assert verdict.predicted.beside(verdict.usual) < 0.7
    assert f"{MEASURED['waiting'].cases} measured cases" in verdict.remark
    assert "Not checked" not in verdict.remark


def test_verbs_use_the_trace_beside_a_pattern(hopbytes, tmp_path):
    """The recommendation for a wavefront is to keep the launcher's order, unless no trace is used."""
    kept(tmp_path, wavefront(8, 4, 16384, 10, 2))
    where = ("--on", LEAVES, "--preset", "fast")
    checked = json.loads(hopbytes("map", "app.pattern", *where, "--json").stdout)
    assert checked["verdict"]["keep"] is True
    assert any("own order is kept" in notice and "--trace none" in notice for notice in checked["notices"])
    free = json.loads(hopbytes("map", "app.pattern", *where, "--trace", "none", "--json").stdout)
    assert free["verdict"]["keep"] is False
    assert (free["verdict"]["checked_against_waiting"], free["verdict"]["grade"]) == (False, "flows")
    advice = json.loads(hopbytes("advise", "app.pattern", *where, "--seeds", 1, "--json").stdout)
    assert (advice["keep"], advice["grade"]) == (True, "waiting")
    named = hopbytes("advise", "app.pattern", *where, "--seeds", 1, "--trace", "app.ti", "--json")
    assert json.loads(named.stdout)["keep"] is True
    lost = hopbytes("map", "app.pattern", *where, "--trace", "missing.ti")
    assert lost.returncode == 1
    assert "missing.ti" in lost.stderr
