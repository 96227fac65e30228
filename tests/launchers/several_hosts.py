"""Several hosts on one computer: what a launcher starts by ssh is started under another host name.

Every host is a name space of its own (``unshare --uts``), so that launchers, probes and programs see
different host names. All of them have the cores of this computer.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from helpers.paths import executable
from helpers.real_mpi import ENVIRONMENT

#: Seconds for a launch, which takes one to ten, and how often it may hang.
PATIENCE, TRIES = 40, 4
#: Seconds without a hundredth of them spent on computing, after which a launch hangs.
IDLE = 6
HOSTS = ("n3", "n1", "n4", "n2")
AGENT = """\
#!/bin/sh
# Called like ssh: options, a host, the words of a command.
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
exec unshare {flags} sh -c 'hostname "$1"; shift; exec sh -c "$*"' sh "$host" "$@"
"""


@cache
def name_space():
    """Return the flags with which unshare gives a process a host name of its own, None where nothing does."""
    for flags in ("--uts", "--user --map-root-user --uts"):
        try:
            done = subprocess.run(["unshare", *flags.split(), "hostname", "other"], capture_output=True)
        except FileNotFoundError:
            return None
        if done.returncode == 0:
            return flags
    return None


@cache
def mpirun(major):
    """Return the path of mpirun of an Open MPI version, from this environment or the system."""
    for folder in (os.path.dirname(sys.executable), *os.environ["PATH"].split(os.pathsep)):
        path = shutil.which("mpirun", path=folder) or shutil.which("mpirun.openmpi", path=folder)
        if path is None:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
        if re.search(rf"\(Open MPI\) {major}\.", version.stdout):
            return path
    return pytest.skip(f"Open MPI {major} is not installed")


def launched(command, **options):
    """Run what starts a launcher; return what became of it.

    The daemons of Open MPI 5.0 sometimes wait for each other for ever, whatever they are to start (seen with
    `mpirun true` on a busy computer). Such a launch is ended and tried again; where none works, the test is
    skipped.
    """
    mark = f"HOPBYTES_TEST_LAUNCH={uuid.uuid4()}"  # by which its daemons are found, in sessions of their own
    options["env"] = {**options.get("env", os.environ), **dict([mark.split("=")])}
    for _ in range(TRIES):
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, **options,
        ) as process:
            try:
                out, err = finished(process, mark.encode())
            except subprocess.TimeoutExpired:
                end(process)
                for left in Path(options["cwd"]).glob(".hopbytes*"):  # of one that had to be killed
                    shutil.rmtree(left, ignore_errors=True)
                continue
            return subprocess.CompletedProcess(command, process.returncode, out, err)
    return pytest.skip(f"no launch within {PATIENCE} s, {TRIES} times: {command}")


def finished(process, mark):
    """Wait for a process as long as it, or anything it started, computes; return what it printed."""
    computed = -1.0
    for _ in range(0, PATIENCE, IDLE):
        try:
            return process.communicate(timeout=IDLE)
        except subprocess.TimeoutExpired:
            now = computing_time(mark)
            if abs(now - computed) < 0.01 * IDLE:
                raise
            computed = now
    raise subprocess.TimeoutExpired(process.args, PATIENCE)


def computing_time(mark):
    """Seconds that all living processes with these bytes in their environment have computed."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes():
                ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def end(process):
    """End a process and all it started: first so that it can tidy up."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)


def build(compiler, folder, name="app"):
    """Compile a program whose ranks send to the one half of all ranks away, and say where they run."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    command = [compiler, str(Path(__file__).parent / "partners.c"), "-o", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"{compiler} does not compile: {done.stderr[:80]}")


@dataclass(frozen=True)
class Farm:
    """Four hosts, and how a launcher is told to use them.

    `words` start ranks in the launcher's own order on all slots, `once` one rank a host; `launch` are
    the words of a launcher that was told nothing.
    """

    folder: Path
    launch: tuple[str, ...]
    words: tuple[str, ...]
    once: tuple[str, ...]
    compiler: str
    form: str
    environment: dict[str, str]

    def hopbytes(self, *words, code=0):
        """Run hopbytes in the folder of the farm; return what it printed."""
        command = [sys.executable, "-m", "hopbytes", *words]
        done = launched(command, cwd=self.folder, env=self.environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done


def farm(kind, folder):
    """Return the farm of ``openmpi-5``, ``openmpi-4`` or ``hydra``; skip where it cannot be."""
    if name_space() is None:
        pytest.skip("no host names of its own for a process (unshare)")
    agent = folder / "agent"
    executable(agent, AGENT.format(flags=name_space()))
    if kind == "hydra":
        path = shutil.which("mpiexec.hydra")
        if path is None:
            pytest.skip("mpiexec.hydra is not installed")
        compiler, form, mark = "mpicc.mpich", "hydra", ":"
        more = {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(agent)}
        words, once = ("-f", "hosts"), ("-f", "hosts", "-ppn", "1", "-n", str(len(HOSTS)))
    else:
        path = mpirun(int(kind[-1]))
        compiler = "mpicc.openmpi" if kind[-1] == "4" else os.path.join(os.path.dirname(path), "mpicc")
        form, mark = "openmpi", " slots="
        more = {"PRTE_MCA_plm_ssh_agent": str(agent), "OMPI_MCA_plm_rsh_agent": str(agent)}
        words, once = ("--hostfile", "hosts"), ("--hostfile", "hosts", "--map-by", "ppr:1:node")
    (folder / "hosts").write_text("".join(f"{host}{mark}2\n" for host in HOSTS))
    return Farm(
        folder, (path,), (path, *words), (path, *once), compiler, form, {**ENVIRONMENT, **more}
    )
