# ruff: noqa: E501 (recordings have long lines)
"""Recordings of other tools: known answers by hand, real files, and damage."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.golden import compare, edited, graph_facts, outcomes
from helpers.paths import SHARED_SAMPLES, file_with
from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.patterns.recorded import Traffic
from hopbytes.formats.patterns.traces import TraceStep, steps_of_trace
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import expand

PROF = (
    "# POINT TO POINT\nE\t{own}\t{other}\t100 bytes\t2 msgs sent\t0,0,1\nI\t{own}\t{other}\t10 bytes\t1 msgs sent\t\n"
    "# OSC\nS\t{own}\t{other}\t7 bytes\t1 msgs sent\nR\t{own}\t{other}\t{got} bytes\t1 msgs sent\n# COLLECTIVES\n"
    "C\t{own}\t{other}\t9999 bytes\t9 msgs sent\nD\tMPI_COMM_WORLD\tprocs: 0,1\n"
    "O2A\t{own}\t0 bytes\t0 msgs sent\nA2O\t{own}\t0 bytes\t0 msgs sent\nA2A\t{own}\t0 bytes\t0 msgs sent\n"
)
IPM = (
    '<?xml version="1.0" encoding="iso-8859-1"?>\n<ipm_job_profile>\n'
    '<task mpi_rank="0" mpi_size="2"><host mach_name="x86_64">aa</host><hash nlog="3" nkey="3">\n'
    '<hent key="1" call="MPI_Isend" bytes="8" orank="1" count="5">1 1 1</hent>\n'
    '<hent key="2" call="MPI_Irecv" bytes="8" orank="1" count="5">1 1 1</hent>\n'
    '<hent key="3" call="MPI_Allreduce" bytes="16" orank="0" count="2">1 1 1</hent></hash></task>\n'
    '<task mpi_rank="1" mpi_size="2"><host mach_name="x86_64">bb</host><hash nlog="1" nkey="1">\n'
    '<hent key="1" call="MPI_Sendrecv" bytes="3" orank="0" count="4">1 1 1</hent></hash></task>\n'
    "</ipm_job_profile>\n"
)
MPIP = (
    "@ mpiP\n@ Version                  : 3.4.1\n@ MPI Task Assignment      : 0 aa\n@ MPI Task Assignment      : 1 bb\n"
    "------- Start Communication Matrix -------------\n\nStatistics of rank: 0\n\n"
    "Source\tTarget\tTotal Amount\tTotal Count\n0\t0\t40\t5\n0\t1\t40\t5\n\nStatistics of rank: 1\n\n"
    "Source\tTarget\tTotal Amount\tTotal Count\n1\t0\t12\t4\n1\t1\t12\t4\n\n"
    "------- End Communication Matrix -------------\n"
)
TAU = (
    "1 templated_functions_MULTI_TIME\n# Name Calls\n\"main\" 1 0 1 1 0 GROUP=\"TAU\"\n0 aggregates\n2 userevents\n"
    "# eventname numevents max min mean sumsqr\n\"Message size sent to node {other}\" 4 3 3 {mean} 36\n"
    "\"Message size sent to node {other} through main\" 4 3 3 {mean} 36\n"
)
TI = (
    "{own} init\n{own} comm_size 2\n{own} isend {other} 0 10 1\n{own} recv {other} 0 10 1\n{own} wait 0 1 0\n"
    "{own} bcast 5 0 0\n{own} alltoallv 6 2 4 6 2 4 1 1\n{own} finalize\n"
)
CALL = "MPI_{name} entering at walltime 1.0, cputime 0.0 seconds in thread 0.\n{arguments}MPI_{name} returning at walltime 1.1, cputime 0.0 seconds in thread 0.\n"
MESSAGE = "int count={count}\nMPI_Datatype datatype=9 (MPI_INT)\nint dest={other}\nint tag=1\nMPI_Comm comm=2 (MPI_COMM_WORLD)\n"


def dumpi(own, other):
    init = CALL.format(name="Send_init", arguments=MESSAGE.format(count=1, other=other) + "MPI_Request request=[3]\n")
    starts = CALL.format(name="Start", arguments="MPI_Request request=[3]\n") * 2
    send = CALL.format(name="Isend", arguments=MESSAGE.format(count=10, other=other))
    recv = CALL.format(name="Recv", arguments=MESSAGE.format(count=9, other=other).replace("dest", "source"))
    return "version=1.0.0\n" + init + starts + send + recv


def call(own, name, size):
    """A call of the flight recorder of PyTorch in a group of two ranks."""
    tensor = {"input_sizes": [[size]], "input_dtypes": ["Char"], "output_sizes": [[size]], "output_dtypes": ["Char"]}
    return {"collective_seq_id": 1, "profiling_name": f"nccl:{name}", "process_group": ["0", "default_pg"], **tensor}


def flight(own, other):
    calls = [call(own, "all_reduce", 8), call(own, f"send {own}->{other}", 40 - 28 * own), call(own, f"recv {own}<-{other}", 40)]
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    return json.dumps({"entries": calls, "pg_config": groups, "version": "2.10"})


def kineto(own, other):
    fields = {"dtype": "Char", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Group size": 2}
    events = [{"name": "aten::ones", "args": {}}] + [
        {"name": "record_param_comms", "args": {"Collective name": name, "In msg nelems": size, "Out msg nelems": size, **more, **fields}}
        for name, size, more in (
            ("allreduce", 8, {"Rank": own}), ("send", 40 - 28 * own, {"Rank": other, "Dst Rank": other}),
            ("recv", 40, {"Rank": other, "Src Rank": other}), ("wait", 0, {}),
        )
    ]
    info = {"backend": "nccl", "rank": own, "world_size": 2}
    return json.dumps({"schemaVersion": 1, "deviceProperties": [], "distributedInfo": info, "traceEvents": events})


NCCL = "".join(
    f"[1,{own}]<stdout>:n{own}:{own + 7}:{own + 9} [0] NCCL INFO {text}\n".format(own=own, other=1 - own, size=40 - 28 * own)
    for text in (
        "ncclCommInitRank comm 0xa{own} rank {own} nranks 2 cudaDev 0 nvmlDev 0 busId 31000 commId 0xbeef - Init START",
        "Channel 00/02 :    0   1", "Channel 01/02 :    0   1", "Trees [0] -1/-1/-1->{own}->-1",
        "AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x7e count 8 datatype 0 op 0 root 0 comm 0xa{own} [nranks=2] stream 0x55",
        "Send: opCount 1 sendbuff 0x7f recvbuff (nil) count {size} datatype 0 op 0 root {other} comm 0xa{own} [nranks=2] stream 0x55",
    )
    for own in (0, 1)
)

#: Format → files; the first is read.
FILES = {
    "monitoring": {f"a.{own}.prof": PROF.format(own=own, other=1 - own, got=5 * own) for own in (0, 1)},
    "ipm": {"a.ipm.xml": IPM},
    "mpip": {"a.mpiP": MPIP},
    "tau": {f"profile.{own}.0.0": TAU.format(other=1 - own, mean=10 - 7 * own) for own in (0, 1)},
    "simgrid": {f"x_rank-{own + 1}.txt": TI.format(own=own, other=1 - own) for own in (0, 1)},
    "dumpi": {f"a-000{own}.txt": dumpi(own, 1 - own) for own in (0, 1)},
    "flight": {f"flight_{own}.json": flight(own, 1 - own) for own in (0, 1)},
    "kineto": {f"trace_{own}.json": kineto(own, 1 - own) for own in (0, 1)},
    "nccl": {"nccl.log": NCCL},
}
#: (bytes 0 → 1, messages), (bytes 1 → 0, messages).
EXPECTED = {
    # E + I + S both ways; what rank 1 got (R) came from rank 0.
    "monitoring": ((122, 5), (117, 5)),
    "ipm": ((40, 5), (12, 4)),
    "mpip": ((40, 5), (12, 4)),
    "tau": ((40, 4), (12, 4)),
    "simgrid": ((40, 1), (40, 1)),
    "dumpi": ((48, 3), (48, 3)),
    # An all-reduce of 8 bytes sends 2 (p - 1) / p of them around the ring in 2 (p - 1) messages.
    "flight": ((48, 3), (20, 3)),
    "kineto": ((48, 3), (20, 3)),
    # The same in two channels.
    "nccl": ((48, 5), (20, 5)),
}


def written(folder, format):
    for name, content in FILES[format].items():
        (folder / name).write_text(content)
    return folder / next(iter(FILES[format]))


def arcs(graph):
    return {
        (int(s), int(t)): (int(v), int(c))
        for s, t, v, c in zip(graph.sources(), graph.targets, graph.volumes, graph.messages, strict=True)
    }


@pytest.mark.parametrize("format", FILES)
def test_known_answers(tmp_path, format):
    graph = hb.read(written(tmp_path, format), holds="pattern")
    assert graph.meta["format"] == format
    forth, back = EXPECTED[format]
    assert arcs(graph) == {(0, 1): forth, (1, 0): back}


@pytest.mark.parametrize("format", [name for name, files in FILES.items() if len(files) > 1])
def test_a_missing_rank_is_named(tmp_path, format):
    files = list(FILES[format])
    written(tmp_path, format).unlink()
    with pytest.raises(FormatError, match=mentions("1", "2", "0")):
        hb.read(tmp_path / files[1], format)
    if format in ("monitoring", "simgrid", "dumpi", "flight", "kineto"):  # the others never say how many there were
        written(tmp_path, format)
        (tmp_path / files[1]).unlink()
        with pytest.raises(FormatError, match=mentions("1", "2")):
            hb.read(tmp_path / files[0], format)


def test_hosts_and_warnings_are_kept(tmp_path):
    graph = hb.read(written(tmp_path, "ipm"))
    assert graph.meta["hosts"] == ["aa", "bb"]
    assert "2 collective calls of 32 bytes" in graph.meta["notices"][0]
    assert hb.read(written(tmp_path, "mpip")).meta["hosts"] == ["aa", "bb"]


def test_collectives_of_a_trace_by_a_model(tmp_path):
    """Broadcast of 5 doubles from rank 0, and an all-to-all of 2 and 4 ints, beside the point-to-point."""
    path = written(tmp_path, "simgrid")
    for model in ("pairs", "ring", "binomial"):
        graph = hb.read(path, holds="pattern", collectives=model)
        assert arcs(graph) == {(0, 1): (40 + 40 + 16, 3), (1, 0): (40 + 8, 2)}
    with pytest.raises(UnsupportedError, match="expected one of ignore, pairs, ring, binomial"):
        hb.read(path, holds="pattern", collectives="tree")


#: Actions of all of three ranks: the kind of call, the bytes of each rank, the root. Type 1 has 4 bytes; `x`
#: are the bytes of a number without a type.
ACTIONS = {
    "bcast 5 1 1": ("bcast", "20 20 20", 1), "ibcast 5 2": ("bcast", "5x 5x 5x", 2), "bcast 5": ("bcast", "5x 5x 5x", 0),
    "reduce 5 9 2 1": ("reduce", "20 20 20", 2), "reduce 5 9": ("reduce", "5x 5x 5x", 0),
    "allreduce 5 9 1": ("allreduce", "20 20 20", 0), "allreduce 5 9": ("allreduce", "5x 5x 5x", 0),
    "scan 5 9 1": ("scan", "20 20 20", 0), "exscan 5 9 1": ("scan", "20 20 20", 0),
    "gather 5 7 2 1 1": ("gather", "20 20 20", 2), "igather 5 7": ("gather", "5x 5x 5x", 0),
    "scatter 7 5 2 1 1": ("scatter", "20 20 20", 2), "allgather 5 7 1 1": ("allgather", "20 20 20", 0),
    "alltoall 5 7 1 1": ("alltoall", "20 20 20", 0), "barrier": ("barrier", "0 0 0", 0),
    "reducescatter 1 2 3 9 1": ("reduce_scatter", "4 8 12", 0), "reducescatter 1 2 3 9": ("reduce_scatter", "1x 2x 3x", 0),
    "allgatherv 5 1 2 3 1": ("allgather", "20 20 20", 0), "gatherv 5 1 2 3 2 1": ("gather", "20 20 20", 2),
    "scatterv 1 2 3 5 2 1": ("scatter", "20 20 20", 2), "scatterv 1 2 3 5 1": ("scatter", "5x 5x 5x", 1),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("init", ["", " 1"])
def test_actions_of_simgrid(tmp_path, action, sized, init):
    """What a line says, whether the trace tells the number of ranks before it, at its end or not at all."""
    kind, texts, root = ACTIONS[action]
    volumes = [int(text.removesuffix("x")) * (8 if init and "x" in text else 1) for text in texts.split()]
    for own in range(3):
        size = f"{own} comm_size 3\n" * sized
        (tmp_path / f"actions{own}.txt").write_text(f"{own} init{init}\n{size}{own} {action.upper()}\n")
    found = arcs(hb.read(tmp_path / "actions1.txt", "simgrid", collectives="pairs"))
    expected = {}
    for source, target, volume, count in expand(kind, "pairs", volumes, root, 1):
        before = expected.get((source, target), (0, 0))
        expected[source, target] = before[0] + volume, before[1] + count
    assert found == {pair: sums for pair, sums in expected.items() if any(sums)}
    notices = hb.read(tmp_path / "actions1.txt", "simgrid").meta["notices"]
    assert f"3 collective calls of {sum(volumes)} bytes are left out" in notices[0]


@pytest.mark.parametrize(("line", "target", "volume"), [
    ("send 1 5", 1, 5), ("isend 1 9 5", 1, 5), ("ssend 1 9 5 1", 1, 20), ("ISSEND 2 9 5 3", 2, 10),
    ("sendrecv 5 2 7 1 1", 2, 20), ("sendrecv 5 2 7 1", 2, 5), ("send 1 5e2  # five hundred", 1, 500), ("recv 1 5", 1, None),
])  # fmt: skip
def test_sends_of_simgrid(tmp_path, line, target, volume):
    path = file_with(tmp_path / "all.ti", f"0 init\n1 init\n2 init\n\n0 {line}\n")
    assert arcs(hb.read(path)) == ({} if volume is None else {(0, target): (volume, 1)})


@pytest.mark.parametrize(("name", "arguments", "expected"), [
    ("Ssend", MESSAGE.format(count=3, other=1), (12, 1)), ("Send", MESSAGE.format(count=3, other=-1), None),
    ("Sendrecv", "int sendcount=3\nMPI_Datatype sendtype=9 (MPI_DOUBLE)\nint dest=1 (x)\nint source=0\nint recvcount=7\n"
     "MPI_Comm comm=2 (MPI_COMM_WORLD)\n", (24, 1)),
    ("Send", MESSAGE.format(count=3, other=0).replace("WORLD", "SELF"), None),
    ("Bcast", "int count=3\nMPI_Datatype datatype=9 (MPI_INT)\nint root=0\nMPI_Comm comm=2 (MPI_COMM_WORLD)\n", (12, 1)),
    ("Bcast", "int count=3\nMPI_Datatype datatype=9 (MPI_INT)\nint root=1\nMPI_Comm comm=2 (MPI_COMM_WORLD)\n", None),
    ("Bcast", "int count=3\nMPI_Datatype datatype=9 (MPI_INT)\nint root=0\nMPI_Comm comm=4 (other)\n", None),
    ("Allgather", "int sendcount=3\nMPI_Datatype sendtype=9 (MPI_SHORT)\nint recvcount=7\nMPI_Comm comm=2 (MPI_COMM_WORLD)\n",
     (6, 1)),
    ("Scatter", "int sendcount=7\nMPI_Datatype sendtype=1 (MPI_CHAR)\nint recvcount=3\nMPI_Datatype recvtype=9 (MPI_INT)\n"
     "int root=0\nMPI_Comm comm=2 (MPI_COMM_WORLD)\n", (12, 1)),
    ("Barrier", "MPI_Comm comm=2 (MPI_COMM_WORLD)\n", (0, 1)), ("Wait", "MPI_Request request=[3]\n", None),
])  # fmt: skip
def test_calls_of_dumpi(tmp_path, name, arguments, expected):
    """What goes from rank 0 to rank 1; a message of rank 0 to itself stays there."""
    for own in (0, 1):
        text = CALL.format(name=name, arguments=arguments)
        if own and name not in ("Bcast", "Allgather", "Scatter", "Barrier"):
            text = CALL.format(name="Wait", arguments="")
        (tmp_path / f"a-000{own}.txt").write_text(f"version=1\n{text}")
    found = arcs(hb.read(tmp_path / "a-0000.txt", "dumpi", collectives="pairs"))
    assert found.get((0, 1)) == expected
    assert found.get((0, 0)) == ((12, 1) if "SELF" in arguments else None)


def test_started_requests_of_dumpi(tmp_path):
    """Each start of a persistent request is a message; of one that the trace did not make there is none."""
    made = "".join(
        CALL.format(name=name, arguments=MESSAGE.format(count=count, other=1) + f"MPI_Request request=[{count}]\n")
        for name, count in (("Send_init", 3), ("Bsend_init", 4))
    )
    started = CALL.format(name="Startall", arguments="MPI_Request requests=[3, 4, 9]\n")
    started += CALL.format(name="Start", arguments="MPI_Request request=[4]\n")
    for own, text in enumerate((made + started, CALL.format(name="Wait", arguments=""))):
        (tmp_path / f"a-000{own}.txt").write_text(f"version=1\n{text}")
    assert arcs(hb.read(tmp_path / "a-0001.txt", "dumpi")) == {(0, 1): (12 + 16 + 16, 3)}


@pytest.mark.parametrize("names", [("x_rank-1.txt", "x_rank-2.txt"), ("actions0.txt", "actions1.txt"), ("a.ti",) * 2])
def test_steps_of_a_trace(tmp_path, names):
    """In the order of every rank, whether files are numbered from 1 or from 0, or there is one for all."""
    for own in (0, 1):
        with open(tmp_path / names[own], "a") as file:
            file.write(TI.format(own=own, other=1 - own) + f"{own} sendrecv 7 {1 - own} 7 {1 - own}\n{own} recv {1 - own}\n")
            file.write(f"{own} waitall 2\n{own} wait 0 1\n{own} ssend 0 4 5\n{own} send 1 3 1\n")
    steps = steps_of_trace(str(tmp_path / names[1]), 2)
    for own, other in ((0, 1), (1, 0)):
        assert steps[own] == [
            TraceStep("isend", other, 0, 40), TraceStep("recv", other, 0), TraceStep("wait", 0, 0, target=1),
            TraceStep("bcast", 0, bytes=40), TraceStep("alltoall", bytes=24, blocks=(8, 16)),
            TraceStep("isend", other, 0, 7), TraceStep("recv", other), TraceStep("recv", other), TraceStep("waitall"),
            TraceStep("wait", 0, 0, target=1), TraceStep("ssend", 0, 4, 5), TraceStep("send", 1, 3, 1),
        ]
    with pytest.raises(FormatError, match=mentions("1", "3", "(2)")):
        steps_of_trace(str(tmp_path / names[0]), 3)
    with pytest.raises(FormatError, match="rank 1"):
        steps_of_trace(str(tmp_path / names[0]), 1)


def test_counts_as_people_write_them_in_traces_of_simgrid(tmp_path):
    """SimGrid takes 1e6 and 2.5e3; in old traces only the whole tells how many ranks lists of counts have."""
    for own in (0, 1):
        text = f"{own} init\n{own} isend {1 - own} 7 1e6\n{own} send {1 - own} 2.5e3\n"
        lists = f"{own} alltoallv 9 1 4 9 2 2\n"
        (tmp_path / f"actions{own}.txt").write_text(f"{text}{own} compute 1.5e9\n{lists}")
    first = tmp_path / "actions0.txt"
    assert arcs(hb.read(first, holds="pattern")) == {(0, 1): (1_002_500, 2), (1, 0): (1_002_500, 2)}
    graph = hb.read(first, holds="pattern", collectives="pairs")
    assert arcs(graph) == {(0, 1): (1_002_504, 3), (1, 0): (1_002_501, 3)}
    (tmp_path / "actions1.txt").write_text("1 init\n1 send 0 1 2.5\n")
    with pytest.raises(FormatError, match=mentions("actions1.txt:2", "'2.5'")):
        hb.read(first, holds="pattern")
    (tmp_path / "actions1.txt").write_text("1 init\n1 send 0 1 1e99\n")
    with pytest.raises(ScaleError, match=r"more than 2\^63"):
        hb.read(first, holds="pattern")


@pytest.mark.parametrize(("ranks", "said"), [(2, False), (3, True)])
def test_less_than_half_of_the_ranks_send(tmp_path, ranks, said):
    for own in range(ranks):
        (tmp_path / f"actions{own}.txt").write_text(f"{own} init\n" + "0 send 1 7 8\n" * (own == 0))
    notices = hb.read(tmp_path / "actions0.txt", holds="pattern").meta.get("notices", [])
    assert any("nearly empty" in notice for notice in notices) == said


def test_the_largest_message(tmp_path):
    path = file_with(tmp_path / "all.ti", f"0 init\n1 init\n0 send 1 0 {2**63 - 1}\n")
    assert hb.read(path).total_volume == 2**63 - 1
    Traffic().add(0, 1, 2**63 - 1, 1)
    with pytest.raises(ScaleError, match=mentions(str(2**63))):
        Traffic().add(0, 1, 2**63, 1)


def test_one_file_of_all_ranks(tmp_path):
    together = file_with(tmp_path / "all.prof", "".join(FILES["monitoring"].values()))
    assert arcs(hb.read(together)) == dict(zip([(0, 1), (1, 0)], EXPECTED["monitoring"], strict=True))
    together.write_text(FILES["monitoring"]["a.0.prof"])
    with pytest.raises(FormatError, match=mentions("1", "2")):
        hb.read(together)


@pytest.mark.parametrize("name", ["", "ocean to ice", "MPI COMM 3 DUP FROM 1"])
@pytest.mark.parametrize("said", ["{other}", "-1"])
def test_two_groups_name_ranks_of_each_other(tmp_path, name, said):
    """Behind O2A stands then a rank of the other group, or none, also where somebody named them."""
    for own, (path, text) in enumerate(FILES["monitoring"].items()):
        ways = "".join(f"{way}\t{said}\t0 bytes\t0 msgs sent\n" for way in ("O2A", "A2O", "A2A"))
        between = f"D\t{name}\tprocs: {{other}}\n{ways}".format(other=1 - own)
        (tmp_path / path).write_text(text.replace("D\tMPI_COMM_WORLD", f"{between}D\tMPI_COMM_WORLD") + between)
    found = dict(zip([(0, 1), (1, 0)], EXPECTED["monitoring"], strict=True))
    assert arcs(hb.read(tmp_path / "a.1.prof")) == found
    together = tmp_path / "all.prof"
    together.write_text("".join((tmp_path / path).read_text() for path in FILES["monitoring"]))
    assert arcs(hb.read(together)) == found


BAD = [
    ("a.prof", "# POINT TO POINT\nE\t0\t1\t-5 bytes\t2 msgs sent\n", r"a\.prof:2: '-5', expected a number of bytes"),
    ("a.prof", "# POINT TO POINT\nE\t0\t1\n", r"a\.prof:2: an incomplete line"),
    ("a.prof", "# POINT TO POINT\nZ\t0\n", r"a\.prof:2: 'Z', expected a letter"),
    ("a.prof", "# POINT TO POINT\n", "no rank"),
    ("a.ipm.xml", IPM.replace('orank="0" count="4"', 'orank="x" count="4"'), "'x', expected a number as orank of <hent>"),
    ("a.ipm.xml", IPM[:300], "the file ends in the middle"),
    ("a.ipm.xml", IPM.replace('mpi_rank="1"', 'mpi_rank="0"'), "rank 0 is repeated"),
    ("a.ipm.xml", IPM.replace('mpi_size="2"', 'mpi_size="3"', 1), "2 ranks, expected every rank of one program"),
    ("a.ipm.xml", IPM.replace('mpi_size="2"', 'mpi_size="1"'), "2 ranks, expected every rank of one program"),
    ("a.ipm.xml", IPM.replace('mpi_size="2"', 'mpi_size="3"'), r"1 of 3 ranks are missing \(2\)"),
    ("a.ipm.xml", "<ipm_job_profile></ipm_job_profile>", "0 ranks"),
    ("a.mpip", MPIP.replace(": 0 aa", ": 0"), r"a\.mpip:3: an incomplete assignment"),
    ("a.mpip", MPIP.replace("0\t1\t40\t5", "-1\t1\t40\t5"), r"a\.mpip:11: '-1', expected a rank"),
    ("a.mpip", MPIP.replace("0\t1\t40\t5", "words"), r"a\.mpip:11: a line of text"),
    ("a.0.prof", "# POINT TO POINT\nE\t1\t0\t5 bytes\t2 msgs sent\n", "rank 1, expected rank 0 as in the file's name"),
    ("a.prof", "# POINT TO POINT\nE\t0\t2147483646\t5 bytes\t2 msgs sent\n", r"a\.prof:2: rank 2147483646, expected less"),
    ("profile.0.0.0", TAU.format(other=1, mean="-1"), "expected messages and their mean size"),
    ("profile.0.0.0", TAU.format(other=1, mean="1e19"), "expected messages and their mean size"),
    ("profile.0.0.0", TAU.replace(" 4 3 3 {mean}", " -4 3 3 -{mean}").format(other=1, mean=3), "expected messages"),
    ("profile.0.0.0", TAU.replace(" 4 3 3 {mean} 36", " 4 3 3").format(other=1), "an incomplete event"),
    ("a.mpip", MPIP.partition("------- End")[0], "the file ends inside the communication matrix"),
    ("a.mpip", MPIP.replace("0\t1\t40\t5", "0\t1\t40"), "3 numbers, expected source target bytes count"),
    ("a.ti", "0 init\n0 send 1\n", r"a\.ti:2: an incomplete action"),
    ("profile.0.0.0", TAU.format(other=1, mean="nan"), "expected messages and their mean size"),
    ("a-0000.txt", dumpi(0, 1)[:-30], "expected|missing|ends inside"),
    ("a_0.json", flight(0, 1).replace("[0, 1]", "[1]"), "rank 0 calls in a group|ranks are missing"),
    ("a_0.json", flight(0, 1).replace("[[8]]", "[[-8]]"), "record 0: '-8', expected an extent"),
    ("a_0.json", flight(0, 1).replace("[[8]]", "7"), "record 0: no sizes and dtypes"),
    ("a_0.json", flight(0, 1).replace("send 0->1", "send"), "record 1: 'nccl:send', expected a send with two ranks"),
    ("a.json", flight(0, 1), "no rank in the name of the file"),
    ("a.json", kineto(0, 1)[:-1], r"a\.json:1: not JSON"),
    ("a.json", kineto(0, 1), r"1 of 2 ranks are missing \(1\)"),
    ("a.json", kineto(0, 1).replace('"rank": 0', '"rank": true'), "distributedInfo: 'True', expected a rank"),
    ("a.json", kineto(0, 1).replace('"distributedInfo"', '"info"'), "no distributedInfo"),
    ("a.json", kineto(0, 1).replace('"[0, 1]"', '"[0, 0]"'), "record 1: .*expected every rank once"),
    ("a.json", kineto(0, 1).replace('"In msg nelems": 8', '"In msg nelems": 1e3'), "record 1: '1000.0', expected a number"),
    ("nccl.log", NCCL.replace("0   1", "0   0", 1), r"nccl\.log:3: a ring of 2 ranks, expected each of 2 once"),
    ("nccl.log", NCCL.replace("root 1", "root 2"), "rank 2, expected less than 2"),
    ("nccl.log", NCCL.replace("comm 0xa0 [", "comm 0xb0 ["), r"nccl\.log:9: communicator 0xb0, expected its ranks before"),
    ("nccl.log", "\n".join(line for line in NCCL.split("\n") if "n1:8" not in line), r"1 of 2 ranks are missing \(1\)"),
    ("nccl.log", NCCL.replace("rank 1 nranks 2", "rank 1 nranks 3"), "expected a rank below 2"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_bad_recordings_are_explained(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=message) as caught:
        hb.read(tmp_path / name, holds="pattern")
    assert "\n" not in str(caught.value)


def test_messages_to_nobody_do_not_count(tmp_path):
    text = IPM.replace('orank="0" count="4"', 'orank="-2" count="4"')
    assert arcs(hb.read(file_with(tmp_path / "a.ipm.xml", text))) == {(0, 1): (40, 5)}
    itself = MPIP.replace("0\t1\t40\t5", "0\t0\t40\t5")
    assert arcs(hb.read(file_with(tmp_path / "a.mpip", itself))) == {(1, 0): (12, 4)}


def test_what_has_no_pairs_is_refused(tmp_path):
    plain = file_with(tmp_path / "a.mpiP", "@ mpiP\n@ Version : 3.5.0\n")
    with pytest.raises(UnsupportedError, match="without a communication matrix"):
        hb.read(plain)
    terse = tmp_path / "a.ipm.xml"
    terse.write_text('<ipm_job_profile><task mpi_rank="0" mpi_size="1"></task></ipm_job_profile>')
    with pytest.raises(UnsupportedError, match="IPM_LOG=full"):
        hb.read(terse)
    trace = tmp_path / "a-0000.txt"
    trace.write_text(dumpi(0, 0).replace("2 (MPI_COMM_WORLD)", "4 (user-defined-comm)"))
    with pytest.raises(UnsupportedError, match="whose ranks the trace does not contain"):
        hb.read(trace, holds="pattern")


@pytest.mark.parametrize("format", FILES)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_never_crashes(tmp_path, format, data):
    path = written(tmp_path, format)
    content = path.read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(content)))
        end = begin + data.draw(st.integers(0, 4))
        piece = data.draw(st.sampled_from([b"", b"-1", b"99999999999999999999", b"\n", b" ", b"\xff", b"7"]))
        content = content[:begin] + piece + content[end:]
    path.write_bytes(content or b"\n")
    try:
        assert isinstance(hb.read(path, format), CommGraph)
    except (FormatError, ScaleError, UnsupportedError) as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert str(tmp_path) in str(error)  # noqa: PT017


@pytest.mark.parametrize("format", FILES)
def test_changed_recordings_are_read_or_refused_as_they_were(tmp_path, format):
    """Why golden: each of many damages has its answer, or its line, that no other test asks for."""
    path = written(tmp_path, format)

    def read(text):
        path.write_text(text)
        return graph_facts(hb.read(path, format, collectives="ring"))

    compare("changed_files.txt", {format: outcomes(edited(path.read_text(), 150), read)})


# ---------------------------------------------------------------- real files


@pytest.mark.shared
def test_monitoring_agrees_with_open_mpi_s_own_matrices():
    """Its tool symmetrises and halves; external and internal together are what E and I say."""
    folder = SHARED_SAMPLES / "ompi_monitoring"
    graph = hb.read(folder / "npb_cg_S_16.prof")
    found = dense(graph)
    parts = [dense(hb.read(folder / f"npb_cg_S_16_size_{part}.mat")) for part in ("external", "internal")]
    assert np.array_equal(found + found.T, 2 * (parts[0] + parts[1]))
    raw, joined = (hb.read(folder / name) for name in ("raw/lmp_lj_16.7.prof", "lmp_lj_16.prof"))
    assert arcs(raw) == arcs(joined)


@pytest.mark.shared
def test_two_tools_see_the_same_program():
    """LAMMPS under IPM and under Open MPI: the same pairs, without what collectives became."""
    ipm = hb.read(SHARED_SAMPLES / "ipm/lammps_lj_16.ipm.xml.gz")
    monitoring = hb.read(SHARED_SAMPLES / "ompi_monitoring/lmp_lj_16.prof")
    assert set(arcs(ipm)) <= set(arcs(monitoring))
    assert 0.9 < ipm.total_volume / monitoring.total_volume < 1


@pytest.mark.shared
def test_matrices_of_mpip():
    graph = hb.read(SHARED_SAMPLES / "mpip_commatrix/npb_cg_C_64.mpiP.gz")
    assert arcs(graph)[0, 1] == (296432836, 6005)
    # The diagonal of the file is the sum of the row.
    assert int(graph.volumes[graph.sources() == 0].sum()) == 889298748
    almost = hb.read(SHARED_SAMPLES / "mpip_commatrix/comd_64.mpiP.gz")
    assert any("nearly empty" in notice for notice in almost.meta["notices"])
    for path in SHARED_SAMPLES.glob("mpip_plain/*"):
        with pytest.raises(UnsupportedError, match="without a communication matrix"):
            hb.read(path)


@pytest.mark.shared
def test_traces_of_simgrid():
    path = SHARED_SAMPLES / "simgrid/ti_traces_32_1/ti_trace3.txt"
    assert hb.read(path, holds="pattern").m == 0
    graph = hb.read(path, holds="pattern", collectives="pairs")
    assert (graph.n, graph.m) == (32, 32 * 31)


def dense(graph):
    matrix = np.zeros((graph.n, graph.n), np.int64)
    matrix[graph.sources(), graph.targets] = graph.arc_volumes()
    return matrix
