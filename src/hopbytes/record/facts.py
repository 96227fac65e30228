"""What is kept beside a recording's numbers, and what is said about traffic that is not in it."""

from __future__ import annotations

import os
from typing import Any

from hopbytes.record.counts import Counts

SPLIT = (
    "ranks were grouped by the hardware they share (MPI_Comm_split_type): the pattern depends on the "
    "placement, record again after mapping"
)
#: Libraries by how their files begin. The first send what collective calls become past the messages that Open
#: MPI counts; the interposer counts the calls. The others are called past MPI.
COLLECTIVE_LIBRARIES = {"libhcoll": "hcoll", "libucc": "UCC", "libsharp": "SHARP"}
OTHER_LIBRARIES = {"libnccl": "NCCL", "librccl": "RCCL", "libnvshmem": "NVSHMEM", "libsma": "SHMEM"}
#: The same, switched on by the user; for recordings without a witness in the program.
SWITCHES = {"hcoll": "coll_hcoll_enable", "UCC": "coll_ucc_enable"}


def counted(counts: Counts, model: str, per_communicator: bool) -> dict[str, Any]:
    """Return facts of a recording by the interposer."""
    notices = _warnings(counts, OTHER_LIBRARIES)
    if counts.cut:
        ended = f"a signal ended {counts.cut} of {counts.n} ranks"
        notices.append(f"{ended}: the pattern is what they had sent until then")
    if counts.collectives.calls and model == "ignore":
        notices.append(f"{counts.collectives.calls} collective calls are left out (`collectives`)")
    facts: dict[str, Any] = {"by": "interposer", "collectives": model, **_seen(counts), "notices": notices}
    if counts.cut:
        facts["cut"] = counts.cut
    if set(counts.phases) - {0}:
        facts["phases"] = {str(phase): volume for phase, volume in sorted(counts.phases.items())}
    if per_communicator:
        facts["communicators"] = [
            {"ranks": list(members), "bytes": volume} for members, volume in sorted(counts.groups.items())
        ]
    return facts


def witnessed(counts: Counts) -> dict[str, Any]:
    """Return what the interposer saw while Open MPI counted."""
    switched = [name for name, setting in SWITCHES.items() if os.environ.get(f"OMPI_MCA_{setting}") == "1"]
    notices = _warnings(counts, COLLECTIVE_LIBRARIES | OTHER_LIBRARIES, switched)
    return _seen(counts) | {"notices": notices}


def _seen(counts: Counts) -> dict[str, Any]:
    """Return the library, hosts and parts of MPI in use, as the ranks found them at the end."""
    facts = {
        "mpi": counts.mpi, "hosts": counts.hosts, "mpi_seconds": counts.seconds,
        "components": counts.components, "libraries": counts.libraries,
    }  # fmt: skip
    return {name: fact for name, fact in facts.items() if fact}


def _warnings(counts: Counts, escaping: dict[str, str], switched: list[str] | None = None) -> list[str]:
    """Return what a pattern does not show."""
    found = [SPLIT] if counts.split_types else []
    if counts.shared_windows:
        found.append("memory is shared (MPI_Win_allocate_shared): loads and stores are not in the pattern")
    if counts.spawned:
        found.append("processes were started (MPI_Comm_spawn): what they send is not in the pattern")
    elif counts.outside:
        found.append(f"{counts.outside} messages to processes of other programs are left out")
    loaded = [escaping[start] for start in escaping for file in counts.libraries if file.startswith(start)]
    found += [
        f"{name} was in use: what it sent past MPI's messages is not in the pattern"
        for name in dict.fromkeys([*loaded, *(switched or [])])
    ]
    return found
