"""Stand-ins for launchers that are told an order in words or variables: where ranks run, by their rules.

A host has packages of cores, all hosts equally many. Answers are a host and a core of it for every rank.
"""

from itertools import cycle

from helpers.stand_ins import HYDRA, INTEL, MPIRUN, MPIRUN_FLAGS, PALS, RefusedError, take, words_of

#: Variables that launchers take for options, from their manuals.
READS = {
    "openmpi 4": {
        "OMPI_MCA_rmaps_base_mapping_policy": "--map-by", "OMPI_MCA_rmaps_base_ranking_policy": "--rank-by",
        "OMPI_MCA_hwloc_base_binding_policy": "--bind-to", "OMPI_MCA_orte_default_hostfile": "--hostfile",
        "OMPI_MCA_rmaps_rank_file_path": "--rankfile",
    },
    "openmpi": {
        "PRTE_MCA_rmaps_default_mapping_policy": "--map-by",
        "PRTE_MCA_rmaps_default_ranking_policy": "--rank-by",
        "PRTE_MCA_hwloc_default_binding_policy": "--bind-to", "PRTE_MCA_prte_default_hostfile": "--hostfile",
    },
    "slurm": {
        "SLURM_NTASKS": "--ntasks", "SLURM_JOB_NUM_NODES": "--nodes", "SLURM_DISTRIBUTION": "--distribution",
        "SLURM_CPU_BIND": "--cpu-bind", "SLURM_NTASKS_PER_NODE": "--ntasks-per-node",
    },
    "hydra": {"HYDRA_HOST_FILE": "-f", "HYDRA_BINDING": "-bind-to"},
    "intel": {"I_MPI_HYDRA_HOST_FILE": "-machinefile", "I_MPI_PERHOST": "-ppn"},
}  # fmt: skip
READS["cray"] = READS["slurm"]


def options_of(form: str, variables: dict[str, str]) -> list[str]:
    """Return the options for which a launcher takes variables; other ones are those of the ranks."""
    known = READS[form]
    words = [word for name, value in variables.items() if name in known for word in (known[name], value)]
    if form == "intel":
        pins = ((name, value) for name, value in variables.items() if name.startswith("I_MPI_PIN"))
        words += [word for name, value in pins for word in ("-genv", f"{name}={value}")]
    if form in ("slurm", "cray"):
        words = [f"{name}={value}" for name, value in zip(words[::2], words[1::2], strict=True)]
    return words


def in_turn(hosts: int, room: int, size: int) -> list[int]:
    """Hosts of ranks when each takes `size` in its turn, as long as it has room."""
    found, left = [], [room] * hosts
    for host in cycle(range(hosts)):
        if not any(left):
            return found
        now = min(size, left[host])
        found += [host] * now
        left[host] -= now
    return found


def inside(hosts: list[int], packages: list[list[int]], *, dealt: bool) -> list[tuple[int, int]]:
    """Ranks of a host take its cores in order, or package by package in turn."""
    order = [core for package in packages for core in package]
    if dealt:
        order = [core for turn in zip(*packages, strict=True) for core in turn]
    waiting = {host: iter(order) for host in set(hosts)}
    return [(host, next(waiting[host])) for host in hosts]


def mpirun(words: list[str], hosts: int, packages: list[list[int]]) -> list[tuple[int, int]]:
    """rmaps_round_robin of PRRTE: processes are mapped to objects, then ranked."""
    taken = take(words, dict.fromkeys(MPIRUN.split(), 1), MPIRUN_FLAGS)
    policy, _, span = (taken.get("map-by") or "").partition(":")
    if taken.get("bind-to") != "core" or span not in ("", "span"):
        raise RefusedError("the stand-in binds to cores")
    room, ranking = sum(map(len, packages)), taken.get("rank-by")
    if policy == "node":
        return inside(in_turn(hosts, room, 1), packages, dealt=False)
    objects = {"core": [[core] for package in packages for core in package], "package": packages}.get(policy)
    if objects is None:
        raise RefusedError(f"the mapping policy {policy} is not recognized")
    by_object = [list(turn) for turn in zip(*objects, strict=True)]  # one on each object, then again
    if span:
        return [(host, core) for turn in by_object for host in range(hosts) for core in turn]
    of_host = [core for turn in by_object for core in turn]
    if policy == "core" or ranking == "slot":
        return [(host, core) for host in range(hosts) for core in of_host]
    if ranking == "node":
        return [(host, core) for core in of_host for host in range(hosts)]
    raise RefusedError(f"the stand-in does not know --rank-by {ranking}")


def step(words: list[str], hosts: int, packages: list[list[int]]) -> list[tuple[int, int]]:
    """srun: task_layout for nodes, lllp_distribution for cores, where a plane is filled in blocks."""
    room = sum(map(len, packages))
    options = dict(word.lstrip("-").split("=", 1) for word in words if "=" in word)
    for short, long in (("-n", "ntasks"), ("-N", "nodes")):
        if short in words:
            options[long] = words[words.index(short) + 1]
    if int(options["ntasks"]) != hosts * room or int(options["nodes"]) != hosts:
        raise RefusedError("the stand-in starts a task on every core")
    if options["cpu-bind"] != "cores":
        raise RefusedError("the stand-in binds to cores")
    first, _, second = options["distribution"].partition(":")
    size = {"block": room, "cyclic": 1}.get(first) or int(first.removeprefix("plane="))
    if first.startswith("plane=") and second:
        raise RefusedError("plane takes no second distribution")
    return inside(in_turn(hosts, room, size), packages, dealt=second == "cyclic")


def cray(method: str, places: list[tuple[int, int]], hosts: int) -> list[tuple[int, int]]:
    """Cray MPICH numbers the processes of a launcher anew: round robin, as they are, or to and fro."""
    room = len(places) // hosts
    order = list(range(len(places)))
    if method == "0":
        order = [host * room + local for local in range(room) for host in range(hosts)]
    elif method == "2":
        there = list(range(hosts))
        turns = [there if local % 2 == 0 else there[::-1] for local in range(room)]
        order = [host * room + local for local, turn in enumerate(turns) for host in turn]
    elif method != "1":
        raise RefusedError(f"MPICH_RANK_REORDER_METHOD={method}")
    return [places[slot] for slot in order]


def places(form: str, line: str, hosts: list[str], packages: list[list[int]]) -> list[tuple[int, int]]:
    """Return host and core of every rank that a line with variables and words starts."""
    variables, words = words_of(line)
    room = sum(map(len, packages))
    if form in READS:
        words = [words[0], *options_of(form, variables), *words[1:]]
    if form in ("openmpi", "openmpi 4"):
        return mpirun(words[1:], len(hosts), packages)
    if form in ("slurm", "cray"):
        found = step(words[1:-1], len(hosts), packages)
        return found if form == "slurm" else cray(variables["MPICH_RANK_REORDER_METHOD"], found, len(hosts))
    if form in ("hydra", "intel"):
        known = HYDRA if form == "hydra" else INTEL
        taken = take(words[1:], dict.fromkeys(known.split(), 1) | {"genv": 1}, set())
        bound = taken.get("bind-to") if form == "hydra" else taken.get("genv")
        if bound not in ("core", "I_MPI_PIN_PROCESSOR_LIST=allcores"):
            raise RefusedError("the stand-in binds to cores")
        if taken.get("hosts", default=",".join(hosts)) != ",".join(hosts):
            raise RefusedError("other hosts")
        return inside(in_turn(len(hosts), room, taken.number("ppn")), packages, dealt=False)
    if form == "pals":
        taken = take(words[1:], dict.fromkeys(PALS.split(), 1), set())
        if (taken.get("cpu-bind"), taken.get("depth")) != ("depth", "1") or taken.number("ppn") != room:
            raise RefusedError("the stand-in binds to one core each")
        started = inside(in_turn(len(hosts), room, room), packages, dealt=False)
        return cray(variables["MPICH_RANK_REORDER_METHOD"], started, len(hosts))
    if form != "flux":
        raise RefusedError(form)
    taken = take(words[2:], dict.fromkeys(["N", "tasks-per-node", "taskmap", "requires", "o"], 1), set())
    if (taken.get("requires") or "hosts:").partition(":")[2] not in ("", ",".join(hosts)):
        raise RefusedError("the job has other hosts")
    if taken.get("o") != "cpu-affinity=per-task" or taken.number("tasks-per-node") != room:
        raise RefusedError("the stand-in binds to one core each")
    scheme, _, stride = (taken.get("taskmap") or "").partition(":")
    size = room if scheme == "block" else int(stride or 1)
    return inside(in_turn(len(hosts), room, size), packages, dealt=False)

