"""A Slurm of our own on this computer: slurmctld, munged, and a slurmd for every node.

Skipped where Slurm is missing; an unpacked Debian package will do:
``HOPBYTES_TEST_SLURM=/path/to/root pytest tests/launchers``.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("HOPBYTES_TEST_SLURM", "/"))
PLUGINS = ROOT / "usr/lib/x86_64-linux-gnu/slurm-wlm"

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin={task}
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
PartitionName=all Nodes=n[1-{nodes}] Default=YES State=UP
"""


def ready():
    """Tell whether such a cluster can be started here."""
    tools = [ROOT / "usr/sbin" / name for name in ("slurmctld-wlm", "slurmd-wlm", "munged")]
    cpus = sorted(os.sched_getaffinity(0))[:2] == [0, 1]
    return all(tool.exists() for tool in tools) and shutil.which("taskset") and cpus and os.geteuid() == 0


needs_slurm = pytest.mark.skipif(not ready(), reason="needs Slurm, munge, taskset, two CPUs and to be root")


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextlib.contextmanager
def slurm_cluster(folder, nodes=4, sockets=1, cores=2, task="task/affinity"):
    """Start the daemons and give the environment that client commands need.

    Nodes may have more cores than this computer where `task` binds nothing (``task/none``). One cluster
    serves one job: later jobs of so small a controller have failed by themselves.
    """
    (folder / "state").mkdir(parents=True)
    munge = folder / "munge"
    munge.mkdir(mode=0o700)
    (munge / "key").write_bytes(os.urandom(128))
    (munge / "key").chmod(0o600)
    controller, *ports = _free_ports(nodes + 1)
    host = socket.gethostname()
    text = CONFIGURATION.format(
        host=host, port=controller, folder=folder, plugins=PLUGINS, task=task, nodes=nodes
    )
    for number, port in enumerate(ports, start=1):
        where = f"NodeHostname={host} NodeAddr=127.0.0.1 Port={port}"
        text += f"NodeName=n{number} {where} Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore=1\n"
    (folder / "slurm.conf").write_text(text)
    env = {
        **os.environ,
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{ROOT / 'usr/bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{PLUGINS}:{ROOT / 'usr/lib/x86_64-linux-gnu'}",
    }
    files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
    daemons = [["munged", "-F", "--force", f"--socket={munge / 'socket'}", *files]]
    daemons += [["slurmctld-wlm", "-D", "-c"]]
    step = str(ROOT / "usr/sbin/slurmstepd-wlm")
    daemons += [["slurmd-wlm", "-D", "-N", f"n{number}", "-d", step] for number in range(1, nodes + 1)]
    running = []
    try:
        for program, *arguments in daemons:
            command = [str(ROOT / "usr/sbin" / program), *arguments]
            running.append(
                subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            time.sleep(0.3 if program != "slurmd-wlm" else 0)
        for _ in range(200):
            shown = subprocess.run(["sinfo", "-h", "-o", "%D %t"], env=env, capture_output=True, text=True)
            if shown.stdout.split() == [str(nodes), "idle"]:
                break
            time.sleep(0.15)
        else:
            pytest.fail(f"the {nodes} nodes did not come up: {shown.stdout}{shown.stderr}")
        yield env
    finally:
        for daemon in reversed(running):
            daemon.terminate()
            daemon.wait(timeout=30)
