"""Stand-ins for launchers: each takes a line of options as one version does, or refuses it as that version.

A stand-in is a function of a version, the words of a command and the job, and returns where every rank runs
by the launcher's own rules; :data:`LAUNCHERS` says which versions there are and where the rules come from.
"""

import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path


class RefusedError(Exception):
    """A launcher of this version does not start the program."""


@dataclass(frozen=True)
class Place:
    """Where a rank runs: its host, its CPUs (None: not bound) and its GPUs (None: not told)."""

    host: str
    cpus: frozenset[int] | None = None
    gpus: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Job:
    """Hosts of a job, with the CPUs of every core of each that the job may use, in logical order."""

    cores: dict[str, list[list[int]]]
    environment: dict[str, str] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)  # of hosts that have fewer of them than cores

    @property
    def hosts(self) -> list[str]:
        """Hosts as Slurm and Flux list them: by name and number."""
        return sorted(self.cores, key=_natural)

    def cpus(self, host: str) -> list[int]:
        """CPUs of a host in logical order."""
        return [cpu for core in self.cores[host] for cpu in core]


def _natural(host: str) -> list[tuple[str, int]]:
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", host)]


def words_of(line: str) -> tuple[dict[str, str], list[str]]:
    """Return what a shell makes of a line: variables that are set, and words."""
    words, variables = shlex.split(line), {}
    while re.match(r"[A-Za-z_][A-Za-z0-9_]*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    return variables, words


@dataclass
class Taken:
    """The options of a command by name, in their order, and the words of the program."""

    options: list[tuple[str, str]]
    program: list[str]

    def get(self, *names: str, default: str | None = None) -> str | None:
        """Return the last value of an option under any of its names."""
        return next((value for name, value in reversed(self.options) if name in names), default)

    def number(self, *names: str) -> int:
        """Return the value of an option that has to be a number."""
        text = self.get(*names) or ""
        if not text.isdecimal():
            raise RefusedError(f"-{names[0]} {text!r}, expected a number")
        return int(text)


def take(words: list[str], values: dict[str, int], flags: set[str], *, dashes: int = 0) -> Taken:
    """Take words apart: options have `values` words, flags none; what is neither is refused.

    Parameters
    ----------
    dashes : int
        Number of dashes that long names must have; 0 for launchers that take one or two.
    """
    options, place = [], 0
    while place < len(words) and words[place].startswith("-"):
        dash, word = re.fullmatch(r"(--?)(.*)", words[place]).groups()
        name, equals, value = word.partition("=")
        if dashes and len(name) > 1 and len(dash) != dashes:
            raise RefusedError(f"unknown option {words[place]}")
        if name in flags and not equals:
            options.append((name, ""))
        elif name in values and equals:
            options.append((name, value))
        elif name in values:
            given = words[place + 1 : place + 1 + values[name]]
            if name in ("genv", "env") and "=" in "".join(given[:1]):  # Hydra takes A=B and A B
                given = given[:1]
            if len(given) < 1:
                raise RefusedError(f"option {name} needs a value")
            options.append((name, " ".join(given)))
            place += len(given)
        else:
            raise RefusedError(f"unknown option {words[place]}")
        place += 1
    if place == len(words):
        raise RefusedError("no program")
    return Taken(options, words[place:])


def lines_of(folder: Path, name: str) -> list[str]:
    """Return the lines of a file without comments and blank ones, for launchers that know comments."""
    path = folder / name
    if not path.is_file():
        raise RefusedError(f"cannot open {name}")
    lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line]


def by_script(program: list[str], folder: Path, variable: str, ranks: int) -> list[Place] | None:
    """Return what ``place.sh`` does with the rank in a variable; None where the program is no script.

    Another launcher's variable is inherited from a batch script of Slurm, as everywhere.
    """
    if program[:1] != ["sh"]:
        return None
    assert program[-1] == "./app"
    script = str(folder / program[1])
    return [_seen(script, Path(script).read_text(), variable, rank) for rank in range(ranks)]


@cache
def _seen(script: str, text: str, variable: str, rank: int) -> Place:
    folder = Path(script).parent / "only taskset"
    folder.mkdir(exist_ok=True)
    (folder / "taskset").write_text('#!/bin/sh\necho "$2" $CUDA_VISIBLE_DEVICES\n')
    (folder / "taskset").chmod(0o755)
    (folder / "app").write_text('#!/bin/sh\necho - $CUDA_VISIBLE_DEVICES\n')
    (folder / "app").chmod(0o755)
    set_here = {"SLURM_PROCID": "0", variable: str(rank), "PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(["sh", script, str(folder / "app")], env=set_here, capture_output=True, text=True)
    if done.returncode:
        raise RefusedError(done.stderr)
    cpus, *gpus = done.stdout.split()
    bound = None if cpus == "-" else frozenset(numbers(cpus))
    return Place("", bound, tuple(numbers(gpus[0])) if gpus else None)


def numbers(text: str) -> list[int]:
    """Return the numbers of ``0-3,6``."""
    found = []
    for run in text.split(","):
        low, _, high = run.partition("-")
        if not low.isdecimal() or (high and not high.isdecimal()):
            raise RefusedError(f"{text!r}, expected numbers")
        found += range(int(low), int(high or low) + 1)
    return found


def bits(mask: int) -> frozenset[int]:
    """Return the CPUs of a mask."""
    return frozenset(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def placed(hosts: list[str], cpus: list[frozenset[int] | None], scripted: list[Place] | None) -> list[Place]:
    """Return the places of ranks on hosts: with the CPUs of the launcher, or those of the script."""
    if scripted is None:
        return [Place(host, own) for host, own in zip(hosts, cpus, strict=True)]
    return [Place(host, seen.cpus, seen.gpus) for host, seen in zip(hosts, scripted, strict=True)]


def local_ranks(hosts: list[str]) -> list[int]:
    """Return the number of every rank among those of its host, in ascending order of ranks."""
    seen: dict[str, int] = {}
    found = []
    for host in hosts:
        found.append(seen.get(host, 0))
        seen[host] = found[-1] + 1
    return found


# Hydra, Intel MPI, PALS and MVAPICH: host files with one list of CPUs for all hosts.

#: Options of src/pm/hydra/ui/mpich/utils.c of 4.0.2 and of ``mpiexec -help`` of 4.2.1 and 5.0.2.
HYDRA = """
f hostfile machinefile machine machines host hosts ppn prepend-pattern outfile-pattern errfile-pattern wdir
configfile envlist genvlist n np launcher launcher-exec bootstrap bootstrap-exec rmk topolib binding bind-to
map-by membind demux iface nameserver order-nodes localhost usize gpus-per-proc
"""
HYDRA_FLAGS = """
genvnone genvall prepend-rank l envnone envall enable-x disable-x verbose v info print-all-exitcodes
disable-auto-cleanup disable-hostname-propagation pmi-port skip-launch-node
"""
#: Intel MPI has the options of Hydra 3.x and a few more ("Global Hydra Options", "Local Options").
INTEL = f"{HYDRA} perhost trace-collectives rr grr" 
PALS = """
n np ppn N hostfile hosts host cpu-bind mem-bind gpu-bind depth d env genv wdir soft arch path configfile
exclude rlimits
"""


def hydra(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpiexec.hydra of MPICH starts."""
    values = dict.fromkeys(HYDRA.split(), 1) | {"genv": 2, "env": 2}
    values |= {"rankmap": 1, "memory-alloc-kinds": 1} if version >= "4.2" else {}
    taken = take(words, values, set(HYDRA_FLAGS.split()))
    count = taken.number("n", "np")
    hosts = _machine_file(taken.get("f", "hostfile", "machinefile"), folder, count)
    text = taken.get("bind-to", "binding", default="none") or ""
    kind, _, listed = text.partition(":")
    if kind not in ("none", "user", "core"):
        raise RefusedError(f"unrecognized binding {text}")
    sets = [frozenset(map(int, own.split("+"))) for own in listed.split(",")] if kind == "user" else []
    cpus = [sets[local % len(sets)] if sets else None for local in local_ranks(hosts)]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "PMI_RANK", count))


def intel(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpirun of Intel MPI starts."""
    taken = take(words, dict.fromkeys(INTEL.split(), 1) | {"genv": 2, "env": 2}, set(HYDRA_FLAGS.split()))
    count = taken.number("n", "np")
    hosts = _machine_file(taken.get("machinefile", "f", "hostfile"), folder, count)
    settings = dict(re.split("[= ]", value, maxsplit=1) for name, value in taken.options if name == "genv")
    local, sets = local_ranks(hosts), []
    if settings.get("I_MPI_PIN") != "off" and "I_MPI_PIN_PROCESSOR_LIST" in settings:
        sets = [frozenset([cpu]) for cpu in _each(settings["I_MPI_PIN_PROCESSOR_LIST"])]
    elif settings.get("I_MPI_PIN") != "off" and "I_MPI_PIN_DOMAIN" in settings:
        masks = settings["I_MPI_PIN_DOMAIN"]
        if not re.fullmatch(r"\[0x[0-9a-f]+(,0x[0-9a-f]+)*\]", masks):
            raise RefusedError(f"I_MPI_PIN_DOMAIN={masks}")
        sets = [bits(int(mask, 16)) for mask in masks[1:-1].split(",")]
    if sets and any(hosts.count(host) != len(sets) for host in set(hosts)):
        raise RefusedError("a host has another number of ranks than the list: they are not pinned (2021.19)")
    cpus = [sets[number] if sets else None for number in local]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "PMI_RANK", count))


def pals(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpiexec of PALS starts: hosts in their order, N ranks on each."""
    taken = take(words, dict.fromkeys(PALS.split(), 1), {"line-buffer", "label", "l", "verbose", "v"})
    count, share = taken.number("n", "np"), taken.number("ppn", "N")
    listed = lines_of(folder, taken.get("hostfile") or "")
    if len(set(listed)) != len(listed) or len(listed) * share < count:
        raise RefusedError("hosts occur twice or are too few")
    hosts = [host for host in listed for _ in range(share)][:count]
    kind, _, text = (taken.get("cpu-bind", default="none") or "").partition(":")
    if kind not in ("none", "list"):
        raise RefusedError(f"--cpu-bind {kind}")
    sets = [frozenset(numbers(own)) for own in text.split(":")] if kind == "list" else []
    cpus = [sets[local % len(sets)] if sets else None for local in local_ranks(hosts)]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "PALS_RANKID", count))


def mpirun_rsh(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpirun_rsh of MVAPICH2 starts: line i has the host of rank i."""
    values = dict.fromkeys(["np", "n", "hostfile", "hosts", "config"], 1)
    while "=" in words[-1]:
        raise RefusedError("no program")
    first = next((place for place, word in enumerate(words) if "=" in word), None)
    program = next(place for place, word in enumerate(words) if word in ("sh", "./app"))
    taken = take([*words[:first], *words[program:]] if first else words, values, {"ssh", "rsh", "export-all"})
    settings = dict(word.split("=", 1) for word in words[first:program]) if first else {}
    count = taken.number("np", "n")
    hosts = lines_of(folder, taken.get("hostfile") or "")
    if len(hosts) < count:
        raise RefusedError("fewer hosts than ranks")
    hosts, sets = hosts[:count], []
    if settings.get("MV2_ENABLE_AFFINITY") != "0" and "MV2_CPU_MAPPING" in settings:
        sets = [frozenset(numbers(own)) for own in settings["MV2_CPU_MAPPING"].split(":")]
    cpus = [sets[local % len(sets)] if sets else None for local in local_ranks(hosts)]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "MV2_COMM_WORLD_RANK", count))


def _machine_file(name: str | None, folder: Path, count: int) -> list[str]:
    """Return the host of every rank from lines ``host:ranks``; the list is used again if it is too short."""
    if name is None:
        raise RefusedError("the stand-in needs a file of hosts")
    hosts = []
    for line in lines_of(folder, name):
        host, colon, ranks = line.split()[0].partition(":")
        if colon and not ranks.isdecimal():
            raise RefusedError(f"{line}: not a number of ranks")
        hosts += [host] * int(ranks or 1)
    if not hosts:
        raise RefusedError("no hosts")
    return [hosts[rank % len(hosts)] for rank in range(count)]


def _each(text: str) -> list[int]:
    return [cpu for run in text.split(",") for cpu in numbers(run)]


def _check_there(hosts: list[str], cpus: list[frozenset[int] | None], job: Job) -> None:
    for host, own in zip(hosts, cpus, strict=True):
        if host not in job.cores or not (own or frozenset()) <= set(job.cpus(host)):
            raise RefusedError(f"{host} has no CPUs {sorted(own or ())}")


# Open MPI's mpirun 4.0 to 6.0: options, hostfiles, and rankfiles by rmaps_rank_file_lex.l and its parser.

MPIRUN = """
n np c host H hostfile machinefile map-by bind-to rank-by wdir output-filename x
"""
#: orterun(1) of 4.1; 5.0.11 says of ``-rf``: an unrecognized option was included.
MPIRUN_4 = {"rf": 1, "rankfile": 1} | {"mca": 2, "gmca": 2}
MPIRUN_5 = {"mca": 2, "prtemca": 2, "pmixmca": 2, "display": 1, "output": 1}
MPIRUN_FLAGS = {"oversubscribe", "allow-run-as-root", "report-bindings", "tag-output", "v", "q"}
#: A line as the scanner and the parser take it: names may have a user, and a host may be a number in the job.
RANKFILE_LINE = re.compile(
    r"\s*rank\s+(?P<rank>[0-9]+)\s*=\s*(?:[A-Za-z0-9][\w-]*@)?(?P<host>[A-Za-z0-9_][\w.:-]*|\+n[0-9]+)"
    r"\s+slots?\s*=\s*(?P<slot>[A-Za-z0-9_,;:*@-]+)\s*", re.ASCII,
)
#: Size of ``slot_list`` and ``tmp_rank_assignment`` up to 5.0: longer lists are cut, longer lines overflow.
RANKFILE_ROOM = 64


def mpirun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpirun of a version starts."""
    four = version < "5"
    taken = take(words, dict.fromkeys(MPIRUN.split(), 1) | (MPIRUN_4 if four else MPIRUN_5), MPIRUN_FLAGS)
    count = taken.number("n", "np")
    policy, directives = _policy(taken, four)
    hostfile = taken.get("hostfile", "machinefile")
    if hostfile is not None and "," in str(folder / hostfile) and not four:
        raise RefusedError("a comma divides the names of host files")
    if policy == "seq":
        hosts = [line.split()[0] for line in lines_of(folder, hostfile or "")]
        cpus: list[frozenset[int] | None] = [None] * count
        if len(hosts) < count:
            raise RefusedError("seq: not enough resources")
        if taken.get("bind-to") != "none":
            raise RefusedError("the stand-in knows no binding of seq")
        hosts = hosts[:count]
        full = any(hosts.count(host) > held for host, held in job.slots.items())
        if full and not four and "oversubscribe" not in directives:
            raise RefusedError("seq: ranks beyond the slots are left out (5.0.11)")
    elif policy == "rankfile":
        slots = _slots(folder, hostfile, job)
        if not four:  # a host file takes slots of the job, and adds none
            slots = {host: min(held, job.slots.get(host, held)) for host, held in slots.items()}
        hosts, cpus = _rankfile(version, folder, directives, taken, slots, job, count)
    elif policy is None and taken.get("bind-to") == "none" and hostfile is not None:
        slots = _slots(folder, hostfile, job)  # filled one host after the other
        hosts = [host for host, held in slots.items() for _ in range(held)][:count]
        cpus = [None] * len(hosts)
        if len(hosts) < count:
            raise RefusedError("There are not enough slots available in the system")
    else:
        raise RefusedError(f"the stand-in does not know --map-by {policy}")
    unknown = set(hosts) - set(job.cores)
    if unknown:
        raise RefusedError(f"unknown hosts {unknown}")
    return placed(hosts, cpus, by_script(taken.program, folder, "OMPI_COMM_WORLD_RANK", count))


def _policy(taken: Taken, four: bool) -> tuple[str | None, dict[str, str]]:
    """Return the mapping policy and its directives."""
    old = taken.get("rf", "rankfile")
    if old is not None:
        return "rankfile", {"file": old}
    text = taken.get("map-by")
    if text is None:
        return None, {}
    policy, *given = text.split(":")
    directives = {part.partition("=")[0].lower(): part.partition("=")[2] for part in given}
    known = {"pe", "oversubscribe", "nooversubscribe", "nolocal", "span"}
    known |= set() if four else {"file", "hwtcpus", "corecpus", "inherit", "ordered", "pe-list"}
    if set(directives) - known or (four and policy == "rankfile"):
        raise RefusedError(f"--map-by {text}: the mapping policy or a modifier is not recognized")
    return policy, directives


def _slots(folder: Path, hostfile: str | None, job: Job) -> dict[str, int]:
    """Return the slots of every host, those of the job without a file; equal names add up."""
    if hostfile is None:
        return {host: len(job.cores[host]) for host in job.hosts} | job.slots
    slots: Counter[str] = Counter()
    for line in lines_of(folder, hostfile):
        host, *given = line.split()
        if host.isdecimal() and host != str(int(host)):
            raise RefusedError(f"hostfile: {host} is read as the number {int(host)} (5.0.11)")
        found = [word.partition("=")[2] for word in given if word.startswith("slots=")]
        if len(found) != len(given) or not all(one.isdecimal() for one in found):
            raise RefusedError(f"hostfile: {line}")
        slots[host] += int(found[0]) if found else 1
    return dict(slots)


def _rankfile(
    version: str, folder: Path, directives: dict[str, str], taken: Taken, slots: dict[str, int], job: Job,
    count: int,
) -> tuple[list[str], list[frozenset[int] | None]]:
    if not (folder / directives.get("file", "")).is_file():
        raise RefusedError("rankfile cannot be opened")
    lines = parse_rankfile((folder / directives["file"]).read_text(), version)
    threads = "hwtcpus" in directives
    names, hosts, cpus = list(slots), [], []
    for rank in range(count):
        if rank not in lines:
            raise RefusedError(f"rank {rank} is missing in the rankfile")
        host, slot = lines[rank]
        if host.startswith("+n"):
            if version < "5" and taken.get("hostfile") is not None:
                raise RefusedError("+n with a hostfile: no prior allocation has been made")
            if int(host[2:]) >= len(names):
                raise RefusedError(f"{host}: there are {len(names)} nodes")
            host = names[int(host[2:])]
        if host not in slots:
            raise RefusedError(f"{host} is not in the hostfile")
        units = [[cpu] for cpu in job.cpus(host)] if threads else job.cores[host]
        wanted = numbers(slot)
        if max(wanted) >= len(units):
            raise RefusedError(f"rank {rank}: {host} has {len(units)} units, not {slot}")
        hosts.append(host)
        cpus.append(frozenset(cpu for number in wanted for cpu in units[number]))
    beyond = "oversubscribe" in directives
    for host, held in Counter(hosts).items():
        if held > slots[host] and not beyond:
            raise RefusedError(f"{held} ranks on {host}, which has {slots[host]} slots")
    held_by = Counter((host, cpu) for host, own in zip(hosts, cpus, strict=True) for cpu in own)
    allowed = version < "5" or "overload-allowed" in (taken.get("bind-to") or "")
    if max(held_by.values()) > 1 and not allowed:
        raise RefusedError("more processes than cpus on a resource: use overload-allowed")
    if beyond and (taken.get("bind-to") or ":").startswith(":"):
        return hosts, [None] * count  # oversubscribed ranks are bound only if a policy says so (5.0.11)
    return hosts, list(cpus)


def parse_rankfile(text: str, version: str) -> dict[int, tuple[str, str]]:
    """Return host and slots of every rank."""
    found: dict[int, tuple[str, str]] = {}
    for line in text.splitlines():
        bare = re.sub("(#|//).*", "", line)
        if not bare.strip():
            continue
        words = RANKFILE_LINE.fullmatch(bare)
        if words is None:
            raise RefusedError(f"rankfile: bad syntax in {line!r}")
        rank, host, slot = int(words["rank"]), words["host"], words["slot"]
        if host[0].isdigit() and "." in host and not re.fullmatch(r"[0-9]+(\.[0-9]+){3}", host):
            raise RefusedError(f"rankfile: bad syntax in {line!r}")  # tried with 4.1.4 and 5.0.11
        if rank in found:
            raise RefusedError(f"rank {rank} is assigned twice")
        if version < "6" and len(f"{host} slot={slot}") >= RANKFILE_ROOM:
            raise RefusedError(f"{host} slot={slot} does not fit {RANKFILE_ROOM} characters")
        found[rank] = (host, slot)
    return found


# Slurm's srun: options of src/common/slurm_opt.c, checks of src/srun/opt.c and slurm_opt.c.

#: Long options with a value that all of 22.05 to 26.05 have, and one-letter names of some.
SRUN = """
accel-bind account acctg-freq bb bbf begin chdir clusters comment constraint container context core-spec
cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution
epilog error exclude export extra-node-info gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task
gres gres-flags het-group hint input job-name jobid licenses mail-type mail-user mcs-label mem mem-bind
mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core
ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output partition prefer priority profile prolog qos
relative reservation signal slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec threads
threads-per-core time time-min tmp wait wckey
"""
SRUN_LETTERS = {
    "A": "account", "b": "begin", "D": "chdir", "d": "dependency", "C": "constraint", "c": "cpus-per-task",
    "m": "distribution", "e": "error", "x": "exclude", "B": "extra-node-info", "G": "gpus", "i": "input",
    "J": "job-name", "L": "licenses", "M": "clusters", "n": "ntasks", "N": "nodes", "o": "output",
    "p": "partition", "q": "qos", "r": "relative", "S": "core-spec", "t": "time", "T": "threads",
    "w": "nodelist", "W": "wait", "F": "nodefile",
}  # fmt: skip
SRUN_FLAGS = """
contiguous disable-status exact hold label multi-prog no-allocate overcommit oversubscribe preserve-env quiet
quit-on-interrupt reboot spread-job test-only unbuffered use-min-nodes verbose whole exclusive overlap pty
H l O s u v X Z E Q
"""
#: Options that came or went, between the versions whose sources or --help were compared.
SRUN_SINCE = {
    "container-id": "23.02", "tres-per-task": "23.11", "tres-bind": "23.11", "segment": "24.11",
    "extra": "23.11", "treewidth": "24.11", "container-type": "26.05", "ignore-signals": "26.05",
}  # fmt: skip
SRUN_UNTIL = {"uid": "23.11", "gid": "23.11", "power": "24.05"}
SRUN_BINDINGS = re.compile(
    r"(?:(?:quiet|verbose|none|no|threads|cores|sockets|ldoms)|(map_cpu|mask_cpu):(\S+))"
)


def srun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that srun of a version starts inside a job."""
    values = dict.fromkeys([*SRUN.split(), *SRUN_LETTERS], 1)
    values |= {name: 1 for name, first in SRUN_SINCE.items() if version >= first}
    values |= {name: 1 for name, last in SRUN_UNTIL.items() if version <= last}
    taken = take(words, values, set(SRUN_FLAGS.split()), dashes=2)
    taken.options = [(SRUN_LETTERS.get(name, name), value) for name, value in taken.options]
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
    found = SRUN_BINDINGS.fullmatch(text)
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


# Flux, batch systems, jsrun, machines with coordinates, torchrun, Kubernetes, and Cray MPICH under srun.

FLUX = """
n ntasks N nodes tasks-per-node tasks-per-core cores c cores-per-task g gpus-per-task gpus-per-node t
time-limit o setopt taskmap requires job-name q queue
"""


ERF_RANK = re.compile(
    r"rank: (\d+): \{ (host|hostname): (\S+); cpu: \{([\d,-]+)\}(?:; gpu: \{([\d,-]+)\})? \}"
)
ERF_HEAD = re.compile(r"(overlapping_rs|cpu_index_using|launch_distribution|oversubscribe_\w+): (\w+)")


def flux(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks of ``flux run``; the shell reads the hosts (taskmap.hostfile)."""
    if words[:1] != ["run"]:
        raise RefusedError("flux: expected flux run")
    taken = take(words[1:], dict.fromkeys(FLUX.split(), 1), {"x", "exclusive", "l", "label-io", "unbuffered"})
    if taken.get("tasks-per-node") is not None and taken.get("n", "ntasks", "cores-per-task") is not None:
        raise RefusedError("Per-resource options can't be used with per-task options")
    nodes, share = taken.number("N", "nodes"), taken.number("tasks-per-node")
    wanted = (taken.get("requires") or f"hosts:{','.join(job.cores)}").removeprefix("hosts:").split(",")
    granted = [host for host in job.cores if host in wanted][:nodes]  # in the order of brokers
    if len(granted) < nodes:
        raise RefusedError("no hosts satisfy the constraint")
    scheme, _, value = (taken.get("taskmap") or "").partition(":")
    if scheme == "hostfile" and version >= "0.62":
        listed = (folder / value).read_text().splitlines()  # no comments: a line is a list of hosts
        hosts = [listed[rank % len(listed)] for rank in range(nodes * share)]
    elif scheme == "manual":
        runs = [[int(n) for n in run.split(",")] for run in re.findall(r"\[(\d+,\d+,\d+,\d+)\]", value)]
        hosts = [granted[node] for node, _, ranks, _ in runs for _ in range(ranks)]
    else:
        raise RefusedError(f"failed to find plugin for taskmap.{scheme}")
    if set(hosts) != set(granted) or any(hosts.count(host) != share for host in granted):
        raise RefusedError(f"the task map does not fit {nodes} nodes of {share} tasks: {granted}")
    options = [value for name, value in taken.options if name in ("o", "setopt")]
    affinity = dict(option.split("=", 1) for option in options if "=" in option).get("cpu-affinity", "on")
    sets = [frozenset(numbers(own)) for own in affinity[4:].split(";")] if affinity.startswith("map:") else []
    if sets and len(sets) < share:
        raise RefusedError("cpu-affinity=map: has fewer sets than a node has tasks")
    cpus = [sets[local] if sets else None for local in local_ranks(hosts)]
    return placed(hosts, cpus, by_script(taken.program, folder, "FLUX_TASK_RANK", len(hosts)))


def in_batch(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of ranks in a job of PBS or LSF; a version is an MPI, as ``Open MPI 4.1``."""
    if words[0] == "bsub":
        if "-n" in words[: words.index("mpiexec")] or words[1] != "-hostfile":
            raise RefusedError("bsub: -hostfile may not be used with -n")
        for line in lines_of(folder, words[2]):
            if not re.fullmatch(r"\S+ [1-9]\d*", line):
                raise RefusedError(f"user-specified host file: {line}")
        words = words[words.index("mpiexec") :]
    mpi, _, number = version.rpartition(" ")
    return {"Open MPI": mpirun, "MPICH": hydra, "Intel MPI": intel}[mpi](number, words[1:], folder, job)


def cray(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks of Cray MPICH: the k-th number of the file is the rank of slot k."""
    if job.environment.get("MPICH_RANK_REORDER_METHOD") != "3":
        raise RefusedError("without method 3 the file is not read")
    text = ",".join(lines_of(folder, job.environment["MPICH_RANK_REORDER_FILE"]))
    order = [rank for run in re.split(r"[,\s]+", text) if run for rank in numbers(run)]
    slots = srun(version, words, folder, job)
    if sorted(order) != list(range(len(slots))):
        raise RefusedError("the rank order is no permutation")
    found = dict(zip(order, slots, strict=True))
    return [found[rank] for rank in range(len(slots))]


def jsrun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of an explicit resource file; hosts are counted from 1, threads logically."""
    taken = take(words, {"erf_input": 1, "np": 1, "nrs": 1}, {"stdio_mode"}, dashes=2)
    found, heads = {}, {}
    for line in lines_of(folder, taken.get("erf_input") or ""):
        rank, head = ERF_RANK.fullmatch(line), ERF_HEAD.fullmatch(line)
        if head is not None:
            heads[head[1]] = head[2]
        elif rank is None:
            raise RefusedError(f"erf: {line}")
        else:
            host = rank[3] if rank[2] == "hostname" else ["no host 0", *job.cores][int(rank[3])]
            threads = job.cpus(host)
            cpus = frozenset(threads[number] for number in numbers(rank[4]))
            found[int(rank[1])] = Place(host, cpus, tuple(numbers(rank[5])) if rank[5] else None)
    if heads.get("cpu_index_using") != "logical":
        raise RefusedError("the stand-in counts logical threads")
    if sorted(found) != list(range(len(found))):
        raise RefusedError("ranks are missing")
    return [found[rank] for rank in range(len(found))]


def by_coordinates(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the coordinates of ranks as hosts: Fujitsu's mpiexec."""
    taken = take(words, {"n": 1, "vcoordfile": 1}, set())
    rows = lines_of(folder, taken.get("vcoordfile") or "")
    if len(rows) < taken.number("n", "np"):
        raise RefusedError("fewer coordinates than ranks")
    return [Place(re.sub(r"[() ,]+", " ", row).strip()) for row in rows]


def torchrun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the processes that a script starts on every host; local rank i has GPU i.

    The line of srun has to reach all hosts, and the script is run with a torchrun that shows its options.
    """
    script = folder / next(word for word in words if word.startswith("ranks"))
    before = words[: words.index("sh")]
    started = [place.host for place in srun("24.11", [*before, "./app"], folder, job)]
    if len(set(started)) != len(started):
        raise RefusedError("the script runs twice on a host")
    return of_agents(version, script, started)


def of_agents(version: str, script: Path, hosts: list[str]) -> list[Place]:
    """Return the places of the processes of torchrun's agents, one on each host."""
    bin_folder = script.parent / "only torchrun"
    bin_folder.mkdir(exist_ok=True)
    (bin_folder / "torchrun").write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    (bin_folder / "hostname").write_text('#!/bin/sh\necho "$NAME_OF_HOST"\n')
    for name in ("torchrun", "hostname"):
        (bin_folder / name).chmod(0o755)
    found = {}
    for host in hosts:
        environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "NAME_OF_HOST": host}
        done = subprocess.run(["sh", script, "train.py"], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RefusedError(done.stderr)
        found |= _agent(version, done.stdout.split(), host, len(hosts))
    if sorted(found) != list(range(len(found))):
        raise RefusedError("ranks occur twice or are missing")
    return [found[rank] for rank in range(len(found))]


def _agent(version: str, words: list[str], host: str, nodes: int) -> dict[int, Place]:
    options = dict(word.removeprefix("--").split("=") for word in words[:-1])
    if version >= "2.":  # dashes are names as well since pull request 94505
        options = {name.replace("-", "_"): value for name, value in options.items()}
    known = {"nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port"}
    if set(options) != known or words[-1] != "train.py" or options["nnodes"] != str(nodes):
        raise RefusedError(f"torchrun: unrecognized arguments: {words}")
    count, node = int(options["nproc_per_node"]), int(options["node_rank"])
    return {node * count + local: Place(host, None, (local,)) for local in range(count)}


# Launchers and their versions, the stand-in of each, and where its rules come from.

SLURM = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")
MPI = ("Open MPI 4.0", "Open MPI 4.1", "Open MPI 5.0", "Open MPI 6.0", "MPICH 3.4", "MPICH 4.0", "MPICH 4.3",
       "MPICH 5.0", "Intel MPI 2019", "Intel MPI 2021.19")  # fmt: skip


@dataclass(frozen=True)
class Launcher:
    """A launcher: what users call it, its versions, the stand-in, and the source of the rules.

    `real` are the versions that read written files in a test or were tried by hand.
    """

    name: str
    versions: tuple[str, ...]
    stand_in: Callable[..., object]
    source: str
    real: tuple[str, ...] = ()


LAUNCHERS = {
    "slurm": Launcher(
        "Slurm srun", SLURM, srun,
        "src/common/slurm_opt.c and src/srun/opt.c of 22.05.8 and 24.11.5, NEWS to 24.11, --help of 26.05.5",
        ("22.05", "24.11", "26.05"),
    ),
    "cray": Launcher(
        "srun with Cray MPICH", SLURM, cray,
        "srun as above; intro_mpi(3) on MPICH_RANK_REORDER_METHOD",
    ),
    "openmpi": Launcher(
        "Open MPI mpirun", ("4.0", "4.1", "5.0", "6.0"), mpirun,
        "rmaps/rank_file of 4.1.4 and of PRRTE in 5.0.7; PRRTE 5.0.0rc1 of 6.0.0rc2 was asked",
        ("4.1", "5.0", "6.0"),
    ),
    "hydra": Launcher(
        "MPICH mpiexec.hydra", ("3.4", "4.0", "4.1", "4.2", "4.3", "5.0"), hydra,
        "src/pm/hydra/ui/mpich/utils.c and utils/args/args.c of 4.0.2, mpiexec -help of 4.2.1 and 5.0.2",
        ("4.0", "5.0"),
    ),
    "intel": Launcher(
        "Intel MPI mpirun", ("2019", "2021.1", "2021.15", "2021.19"), intel,
        "Developer Reference for Linux, Global Hydra Options and Process Pinning", ("2021.19",),
    ),
    "pals": Launcher("PALS mpiexec", ("1.2",), pals, "guides of Polaris and Aurora"),
    "mvapich": Launcher("MVAPICH2 mpirun_rsh", ("2.3",), mpirun_rsh, "User Guide 2.3"),
    "flux": Launcher(
        "Flux run", ("0.50", "0.62", "0.86"), flux,
        "flux-core src/shell/taskmap/hostfile.c, flux-run(1), flux-shell(1)",
    ),
    "pbs": Launcher("PBS mpiexec", MPI, in_batch, "the MPI's mpiexec as above"),
    "lsf": Launcher("LSF bsub", MPI, in_batch, "bsub -hostfile of 10.1, the MPI's mpiexec as above"),
    "jsrun": Launcher("jsrun", ("10.3",), jsrun, "Job Step Manager 10.3, ERF format"),
    "fujitsu": Launcher("Fujitsu mpiexec", ("TCS",), by_coordinates, "MPI user's guide, -vcoordfile"),
    "torchrun": Launcher(
        "torchrun", ("2.0", "2.4", "2.8"), torchrun,
        "torch.distributed.run, pytorch pull request 94505",
    ),
    "mesh": Launcher("torchrun, JAX", ("2.0", "2.4", "2.8"), torchrun, "as torchrun"),
    "kubernetes": Launcher(
        "Kubernetes", ("MPIJob v1", "MPIJob v2beta1", "JobSet"), of_agents,
        "kubeflow/mpi-operator api/v2beta1 and v1, JobSet and LeaderWorkerSet guides",
    ),
}
#: Launch formats whose file is no launcher's: the program reads it, or the user starts the hosts.
OF_PROGRAMS = {"newrank", "lammps", "hosts"}
