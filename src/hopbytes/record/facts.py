"""Metadata of a recording, and notices about traffic that it does not contain."""

from __future__ import annotations

import os
from typing import Any

from hopbytes.record.counts import Counts

SPLIT = (
    "ranks were grouped by the hardware they share (MPI_Comm_split_type): the pattern depends on the "
    "mapping, record again after mapping"
)
#: Libraries by the prefix of their file names. The first group implements MPI collectives without messages
#: that Open MPI's monitoring counts; the interposer counts the calls themselves. A program calls the others
#: directly, without MPI.
COLLECTIVE_LIBRARIES = {"libhcoll": "hcoll", "libucc": "UCC", "libsharp": "SHARP"}
OTHER_LIBRARIES = {"libnccl": "NCCL", "librccl": "RCCL", "libnvshmem": "NVSHMEM", "libsma": "SHMEM"}
#: Settings by which the user enables these libraries, for recordings that do not list the loaded ones.
SWITCHES = {"hcoll": "coll_hcoll_enable", "UCC": "coll_ucc_enable"}


def counted(counts: Counts, model: str, per_communicator: bool) -> dict[str, Any]:
    """Return the metadata of a recording by the interposer."""
    notices = _warnings(counts, OTHER_LIBRARIES)
    if counts.cut:
        ended = f"a signal ended {counts.cut} of {counts.n} ranks"
        notices.append(f"{ended}: the pattern holds what they had sent until then")
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
    """Return the metadata that the interposer collected while Open MPI's monitoring counted."""
    switched = [name for name, setting in SWITCHES.items() if os.environ.get(f"OMPI_MCA_{setting}") == "1"]
    notices = _warnings(counts, COLLECTIVE_LIBRARIES | OTHER_LIBRARIES, switched)
    return _seen(counts) | {"notices": notices}


def _seen(counts: Counts) -> dict[str, Any]:
    """Return the MPI library, the hosts, and the components and libraries in use at the end of the run."""
    facts = {
        "mpi": counts.mpi, "hosts": counts.hosts, "mpi_seconds": counts.seconds,
        "components": counts.components, "libraries": counts.libraries,
    }  # fmt: skip
    return {name: fact for name, fact in facts.items() if fact}


def _warnings(counts: Counts, escaping: dict[str, str], switched: list[str] | None = None) -> list[str]:
    """Return notices about traffic that the pattern does not contain."""
    found = [SPLIT] if counts.split_types else []
    if counts.shared_windows:
        found.append("memory is shared (MPI_Win_allocate_shared): loads and stores are not in the pattern")
    if counts.spawned:
        found.append("processes were started (MPI_Comm_spawn): what they send is not in the pattern")
    elif counts.outside:
        found.append(f"{counts.outside} messages to processes of other programs are left out")
    loaded = [escaping[start] for start in escaping for file in counts.libraries if file.startswith(start)]
    found += [
        f"{name} was in use: data that it sent without MPI messages is not in the pattern"
        for name in dict.fromkeys([*loaded, *(switched or [])])
    ]
    return found
