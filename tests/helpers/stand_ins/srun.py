"""Slurm's srun: options of src/common/slurm_opt.c, checks of src/srun/opt.c and slurm_opt.c."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from helpers.stand_ins import (
    Job,
    Place,
    RefusedError,
    Taken,
    bits,
    by_script,
    lines_of,
    local_ranks,
    numbers,
    placed,
    take,
)

#: Long options with a value that all of 22.05 to 26.05 have, and one-letter names of some.
VALUES = """
accel-bind account acctg-freq bb bbf begin chdir clusters comment constraint container context core-spec
cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution
epilog error exclude export extra-node-info gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task
gres gres-flags het-group hint input job-name jobid licenses mail-type mail-user mcs-label mem mem-bind
mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core
ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output partition prefer priority profile prolog qos
relative reservation signal slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec threads
threads-per-core time time-min tmp wait wckey
"""
LETTERS = {
    "A": "account", "b": "begin", "D": "chdir", "d": "dependency", "C": "constraint", "c": "cpus-per-task",
    "m": "distribution", "e": "error", "x": "exclude", "B": "extra-node-info", "G": "gpus", "i": "input",
    "J": "job-name", "L": "licenses", "M": "clusters", "n": "ntasks", "N": "nodes", "o": "output",
    "p": "partition", "q": "qos", "r": "relative", "S": "core-spec", "t": "time", "T": "threads",
    "w": "nodelist", "W": "wait", "F": "nodefile",
}  # fmt: skip
FLAGS = """
contiguous disable-status exact hold label multi-prog no-allocate overcommit oversubscribe preserve-env quiet
quit-on-interrupt reboot spread-job test-only unbuffered use-min-nodes verbose whole exclusive overlap pty
H l O s u v X Z E Q
"""
#: Options that came or went, between the versions whose sources or --help were compared.
SINCE = {
    "container-id": "23.02", "tres-per-task": "23.11", "tres-bind": "23.11", "segment": "24.11",
    "extra": "23.11", "treewidth": "24.11", "container-type": "26.05", "ignore-signals": "26.05",
}  # fmt: skip
UNTIL = {"uid": "23.11", "gid": "23.11", "power": "24.05"}
BINDINGS = re.compile(r"(?:(?:quiet|verbose|none|no|threads|cores|sockets|ldoms)|(map_cpu|mask_cpu):(\S+))")


def srun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that srun of a version starts inside a job."""
    values = dict.fromkeys([*VALUES.split(), *LETTERS], 1)
    values |= {name: 1 for name, first in SINCE.items() if version >= first}
    values |= {name: 1 for name, last in UNTIL.items() if version <= last}
    taken = take(words, values, set(FLAGS.split()), dashes=2)
    taken.options = [(LETTERS.get(name, name), value) for name, value in taken.options]
    names = {name for name, _ in taken.options}
    distribution = taken.get("distribution", default="block") or ""
    by_file = "SLURM_HOSTFILE" in job.environment and "nodelist" not in names
    arbitrary = distribution == "arbitrary" or by_file
    if arbitrary and "nodes" in names and version >= "23.11":
        raise RefusedError("--nodes is incompatible with --distribution=arbitrary")  # _validate_arbitrary
    count = taken.number("ntasks")
    if arbitrary:
        hosts = _hostfile(folder, job, count)
    else:
        hosts = _in_blocks(taken, job, count, distribution)
    _check_room(hosts, job, "overcommit" in names or "O" in names)
    limit = "SLURM_CPUS_PER_TASK" in job.environment or "SLURM_TRES_PER_TASK" in job.environment
    cpus = _bound(version, taken, hosts, job)
    if limit and version >= "23.11" and taken.get("cpu-bind", default="") not in ("none", "cores"):
        raise RefusedError("CPU binding outside of job step allocation")  # CPUs per task imply --exact
    _check_gpus(version, taken, hosts)
    if "multi-prog" in names:
        return placed(hosts, cpus, None)
    return placed(hosts, cpus, by_script(taken.program, folder, "SLURM_PROCID", count))


def _hostfile(folder: Path, job: Job, count: int) -> list[str]:
    name = job.environment.get("SLURM_HOSTFILE")
    if name is None:
        raise RefusedError("With Arbitrary distribution you need to specify a nodelist or hostfile")
    hosts = lines_of(folder, name)  # slurm_read_hostfile: comments and blank lines are skipped
    if len(hosts) < count:
        raise RefusedError(f"You asked for {count} tasks but hostlist specified {len(hosts)} nodes")
    unknown = set(hosts) - set(job.cores)
    if unknown:
        raise RefusedError(f"Requested nodes are not in the allocation: {unknown}")
    return hosts[:count]


def _in_blocks(taken: Taken, job: Job, count: int, distribution: str) -> list[str]:
    listed = taken.get("nodelist")
    nodes = [host for host in job.hosts if listed is None or host in listed.split(",")]
    if listed is not None and len(listed.split(",")) != len(nodes):
        raise RefusedError("Requested nodes are not in the allocation")
    if taken.get("nodes") is not None:
        if listed is not None and len(nodes) > taken.number("nodes"):
            raise RefusedError("Required nodelist includes more nodes than permitted by max-node count")
        nodes = nodes[: taken.number("nodes")]
    if distribution.split(":")[0] != "block":
        raise RefusedError(f"the stand-in does not know distribution {distribution}")
    share = -(-count // len(nodes))
    if taken.get("ntasks-per-node") is not None:
        share = taken.number("ntasks-per-node")
    hosts = [host for host in nodes for _ in range(share)][:count]
    if len(hosts) < count:
        raise RefusedError("More processors requested than permitted")
    return hosts


def _check_room(hosts: list[str], job: Job, overcommit: bool) -> None:
    for host, held in Counter(hosts).items():
        if held > len(job.cpus(host)) and not overcommit:
            raise RefusedError(f"Unable to create step: More processors requested than permitted ({host})")


def _bound(version: str, taken: Taken, hosts: list[str], job: Job) -> list[frozenset[int] | None]:
    """Return the CPUs of every rank: the list belongs to the ranks of a node in ascending order."""
    text = taken.get("cpu-bind", default="") or ""
    found = BINDINGS.fullmatch(text)
    if text and found is None:
        raise RefusedError(f'unrecognized --cpu-bind argument "{text}"')  # an error since 22.05
    if found is None or found[1] is None:
        return [None] * len(hosts)
    base = 10 if found[1] == "map_cpu" else 16
    entries = [int(one, base) for one in found[2].split(",")]
    sets = [frozenset([one]) if base == 10 else bits(one) for one in entries]
    return [
        _existing(sets[local % len(sets)], job.cpus(host), host)
        for host, local in zip(hosts, local_ranks(hosts), strict=True)
    ]


def _existing(cpus: frozenset[int], there: list[int], host: str) -> frozenset[int]:
    if not cpus <= set(there):
        raise RefusedError(f"CPU binding outside of job step allocation on {host}: {sorted(cpus)}")
    return cpus


def _check_gpus(version: str, taken: Taken, hosts: list[str]) -> None:
    """Refuse what a version does not know: ``map:`` is new in 22.11, ``map_gpu:`` is known to all."""
    text = taken.get("gpu-bind")
    kinds = r"none|closest|verbose|single:\d+|per_task:\d+|map_gpu:[\d,x]+|mask_gpu:[\da-fx,]+"
    if version >= "23.02":
        kinds += r"|map:[\d,x]+|mask:[\da-fx,]+"
    if text is not None and not re.fullmatch(kinds, text):
        raise RefusedError(f"Invalid --gpu-bind argument {text}")


def of_programs(folder: Path, name: str) -> dict[int, list[str]]:
    """Return the words of every rank of a file for ``--multi-prog`` (multi_prog_get_argv)."""
    found = {}
    for line in (folder / name).read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        ranks, _, rest = line.partition(" ")
        for rank in numbers(ranks):
            found[rank] = rest.split()
    return found
