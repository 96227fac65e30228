"""Hosts, routers and links of a fabric as name spaces and shaped devices, and what is started on them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic as now
from time import sleep as wait

from bench import BENCH
from bench.lab.fabric import Fabric

TOOLS = ("unshare", "nsenter", "ip", "tc", "cc")
NEW_NET, NEW_UTS = 0x40000000, 0x04000000
#: Bytes of a full frame and of its payload in TCP; bandwidths of descriptions are those of payload.
FRAME, PAYLOAD = 1514, 1448
#: Bytes that a link may send at once, and that wait before it at most: nothing is lost.
BURST, QUEUE = 4 * FRAME, 2**25
#: Latencies from here on are made; seconds by which a way may take longer, and bandwidth may differ.
DELAYED, LATE, OFF = 1e-4, 4e-4, 0.05
#: Datagrams of 1000 bytes that are sent over every route.
DATAGRAMS = 4
#: Seconds that a launcher has to end after the time was printed.
PATIENCE = 3.0
#: How often in 0.2 seconds it is looked for a line whose time counts.
LOOKS = 10
DATA, CONTROL = "10.97", "10.98"
AGENT = """#!/bin/sh
# Called like ssh: options, a host, the words of a command.
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
exec nsenter --target "$(cat {folder}/pids/"$host")" --net --uts unshare --mount \\
  sh -c 'mount -t sysfs sysfs /sys && exec sh -c "$0"' "$*"
"""
#: Links lose nothing, and frames may wait before them for tenths of a second. So TCP must neither search for
#: their bandwidth nor take a late answer for a loss; with its defaults, times of a program differ by 20 %.
ROUTE = "initcwnd 2000 initrwnd 2000 rto_min 20s"
SETTINGS = """set -e
cd /proc/sys/net
echo 1 >ipv4/ip_forward
echo reno >ipv4/tcp_congestion_control
for each in slow_start_after_idle early_retrans autocorking; do echo 0 >ipv4/tcp_$each; done
echo 1 >ipv4/tcp_no_metrics_save
for each in rmem wmem; do echo 4096 4194304 8388608 >ipv4/tcp_$each; done
for each in all default; do
  echo 0 >ipv4/conf/$each/rp_filter
  echo 0 >ipv4/conf/$each/send_redirects
  echo 1 >ipv6/conf/$each/disable_ipv6
done 2>/dev/null
"""


def enter() -> None:
    """Start the command again in name spaces of its own and exit as it does; return there.

    The kernel ends the processes of a name space with its first one, and that with this process.
    """
    if os.environ.pop("HOPBYTES_LAB", None) == "inside":
        return
    missing = refusal()
    if isinstance(missing, str):
        raise SystemExit(missing)
    inside = ["--net", "--uts", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child"]
    os.environ["HOPBYTES_LAB"] = "inside"
    words = ["unshare", *missing, *inside, sys.executable, "-m", "bench.lab", *sys.argv[1:]]
    started = subprocess.Popen(words, preexec_fn=lambda: _call("prctl", 1, signal.SIGKILL))
    try:
        code = started.wait()
    finally:
        started.kill()
    raise SystemExit(code)


def refusal() -> str | list[str]:
    """Return what is missing for a laboratory, or the further flags of unshare with which it can be."""
    from shutil import which

    absent = [tool for tool in TOOLS if which(tool) is None]
    if absent:
        return f"the laboratory needs {', '.join(absent)} (Debian: apt install iproute2 util-linux gcc)"
    for further in ([], ["--user", "--map-root-user"]):
        trial = ["unshare", *further, "--net", "ip", "link", "add", "tried", "type", "veth"]
        made = subprocess.run(trial, capture_output=True)
        if made.returncode == 0:
            return further
    return "the laboratory makes network name spaces: it needs root, or a kernel that allows them to users"


def compiled(folder: Path, name: str, *words: str) -> Path:
    """Compile a C file of this package; the words begin with the compiler."""
    out = folder / f"{name}.{words[0]}"
    source = BENCH / "lab" / f"{name}.c"
    subprocess.run([*words, "-O2", "-o", str(out), str(source), "-lm", "-ldl"], check=True)
    return out


def address(network: str, host: int) -> str:
    """Return the address of a host in one of the two networks."""
    return f"{network}.{host // 200}.{host % 200 + 1}"


class Hosts:
    """The hosts of a fabric; they exist from the construction until :meth:`close`.

    Beside its links every host has a device on a network without limits, by which launchers talk; they run
    where this process is.
    """

    def __init__(self, fabric: Fabric, folder: Path) -> None:
        self.fabric, self.folder = fabric, folder
        self.wire = compiled(folder, "wire", "cc")
        _call("unshare", NEW_NET | NEW_UTS)
        _name_host("lab")
        self.spaces = [self._space(fabric.name(vertex)) for vertex in range(fabric.vertices)]
        (folder / "pids").mkdir(exist_ok=True)
        for vertex, space in enumerate(self.spaces):
            (folder / "pids" / fabric.name(vertex)).write_text(str(space.pid))
        self.agent = folder / "agent"
        self.agent.write_text(AGENT.format(folder=folder))
        self.agent.chmod(0o755)
        names = [f"{address(CONTROL, host)} {fabric.name(host)}" for host in range(fabric.hosts)]
        (folder / "names").write_text("\n".join(["127.0.0.1 localhost", f"{CONTROL}.99.1 lab", *names, ""]))
        subprocess.run(["mount", "--bind", str(folder / "names"), "/etc/hosts"], check=True)
        self._lay_cables()
        for vertex in range(fabric.vertices):
            self._configure(vertex)

    def _space(self, name: str) -> subprocess.Popen[bytes]:
        def enter() -> None:
            _call("unshare", NEW_NET | NEW_UTS)
            _name_host(name)

        return subprocess.Popen(["sleep", "infinity"], preexec_fn=enter)

    def _lay_cables(self) -> None:
        """Make the devices of links and of the network of launchers, and move them to their hosts."""
        lines = ["link set lo up", "link add control type bridge"]
        lines.append(f"address add {CONTROL}.99.1/16 dev control")
        moves, delays, devices = ["link set control up"], list[str](), list[str]()
        for there, back in self.fabric.cables():
            link = self.fabric.links[there]
            ends = self._ends(there, back)
            near, far = ends
            pairs = [(near, far)]
            if link.latency >= DELAYED:
                pairs = [(near, f"a{there}"), (f"b{there}", far)]
                delays += [f"a{there}", f"b{there}", str(round(link.latency * 1e9))]
                moves += [f"link set {end}{there} up" for end in "ab"]
            same = f"address 02:00:00:00:{there // 256:02x}:{there % 256:02x}"
            lines += [f"link add {a} {same} type veth peer name {b} {same}" for a, b in pairs]
            devices += [name for pair in pairs for name in pair]
            for name, (vertex, _) in ends.items():
                moves.append(f"link set {name} netns {self.spaces[vertex].pid}")
        for host in range(self.fabric.hosts):
            lines.append(f"link add c{host} type veth peer name control{host}")
            lines.append(f"link set c{host} master control")
            moves += [f"link set c{host} up", f"link set control{host} netns {self.spaces[host].pid}"]
        _run(["ip", "-batch", "-"], "\n".join(lines))
        _run([str(self.wire), "plain", *devices])
        _run(["ip", "-batch", "-"], "\n".join(moves))
        if delays:
            self._start([str(self.wire), "delay", *delays])

    def _ends(self, there: int, back: int | None) -> dict[str, tuple[int, int | None]]:
        """Return the two devices of a cable: name → vertex and the link that begins there."""
        link, far = self.fabric.links[there], f"e{there}" if back is None else f"l{back}"
        return {f"l{there}": (link.tail, there), far: (link.head, back)}

    def _configure(self, vertex: int) -> None:
        """Give a host or router its addresses, routes and rates."""
        fabric = self.fabric
        usual, other = fabric.next_links(vertex)
        lines, rates, source = ["link set lo up"], list[str](), ""
        if vertex < fabric.hosts:
            # Both ends of this pair stay here: a device with an address that is no end of a link.
            lines += ["link add data type veth peer name data0", "link set data up", "link set data0 up"]
            lines.append(f"address add {address(DATA, vertex)}/16 dev data noprefixroute")
            lines.append(f"address add {address(CONTROL, vertex)}/16 dev control{vertex}")
            lines.append(f"link set control{vertex} up")
            source = f" src {address(DATA, vertex)}"
        for there, back in fabric.cables():
            for name, (end, number) in self._ends(there, back).items():
                if end != vertex:
                    continue
                lines.append(f"link set {name} up arp off")
                if number is not None:
                    rate = round(8 * fabric.links[number].bandwidth * FRAME / PAYLOAD)
                    rates.append(f"qdisc add dev {name} root tbf rate {rate}bit burst {BURST} limit {QUEUE}")
        ways = {f"{address(DATA, to)}/32": link for to, link in usual.items()}
        lines += [f"route add {to} dev l{link}{source} {ROUTE}" for to, link in ways.items()]
        for number in sorted(set(other.values())):
            lines.append(f"route add default dev l{number} table {number + 1} {ROUTE}")
        for (a, b), number in other.items():
            lines.append(f"rule add from {address(DATA, a)} to {address(DATA, b)} lookup {number + 1}")
        space = ["nsenter", "--target", str(self.spaces[vertex].pid), "--net"]
        _run([*space, "sh"], SETTINGS)
        _run([*space, "ip", "-batch", "-"], "\n".join(lines))
        _run([*space, "tc", "-batch", "-"], "\n".join(rates))

    def _start(self, words: Sequence[str]) -> None:
        """Start a program of this package and wait until it is ready."""
        started = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert started.stdout is not None
        if started.stdout.readline() != b"ready\n":
            raise SystemExit(f"{' '.join(words)[:80]}: it did not start")

    def on(self, host: int, *words: str) -> list[str]:
        """Return the command that runs words on a host."""
        return ["nsenter", "--target", str(self.spaces[host].pid), "--net", "--uts", *words]

    def sent(self) -> list[int]:
        """Return the bytes of frames that the kernel has sent over every link so far."""
        counts: dict[str, int] = {}
        for space in self.spaces:
            for line in Path(f"/proc/{space.pid}/net/dev").read_text().splitlines()[2:]:
                name, _, values = line.partition(":")
                counts[name.strip()] = int(values.split()[8])
        return [counts[f"l{number}"] for number in range(len(self.fabric.links))]

    def check(self) -> Iterator[str]:
        """Compare routes, latencies and bandwidths with the description; yield what differs."""
        fabric = self.fabric
        for host in range(fabric.hosts):
            self._start(self.on(host, str(self.wire), "serve", address(DATA, host)))
        before = self.sent()
        for (a, b), route in fabric.routes.items():
            _run(self.on(a, str(self.wire), "send", address(DATA, b), str(DATAGRAMS)))
            patience = now() + 1 + 2 * sum(fabric.links[link].latency for link in route)
            crossed = set[int]()
            while not crossed.issuperset(route) and now() < patience:
                after = self.sent()
                crossed = {link for link, then in enumerate(before) if after[link] - then >= DATAGRAMS * 1000}
            before = after
            if crossed != set(route):
                took, expected = (
                    ", ".join(sorted(fabric.links[link].name for link in links)) for links in (crossed, route)
                )
                yield f"{fabric.name(a)} to {fabric.name(b)}: frames took {took}, expected {expected}"
        open_links = set(range(len(fabric.links)))
        for (a, b), route in sorted(fabric.routes.items(), key=lambda item: -len(item[1])):
            slowest = min(fabric.links[link].bandwidth for link in route)
            new = {link for link in route if fabric.links[link].bandwidth == slowest} & open_links
            if not new:
                continue
            open_links -= new
            printed = _run(self.on(a, str(self.wire), "check", address(DATA, b), str(round(slowest / 5))))
            latency, bandwidth = map(float, printed.split())
            waits = [fabric.links[link].latency for link in route]
            made = sum(wait for wait in waits if wait >= DELAYED)
            pair = f"{fabric.name(a)} to {fabric.name(b)}"
            if not 0.98 * made <= latency <= 1.05 * sum(waits) + LATE:
                yield f"{pair}: {latency * 1e3:.3f} ms one way, expected {sum(waits) * 1e3:.3f}"
            if abs(bandwidth / slowest - 1) > OFF:
                yield f"{pair}: {bandwidth / 1e6:.3f} MB/s, expected {slowest / 1e6:.3f}"

    def run(
        self, words: Sequence[str], environment: dict[str, str], folder: Path, time: str, begins: str,
        limit: float,
    ) -> tuple[float, str, float]:  # fmt: skip
        """Run a launcher here; return the time that it printed, all it printed, and its CPU seconds.

        With `begins` the time is that between two of its lines. Nothing that it started is left. MPICH 4.0
        over UCX and TCP does not always return from MPI_Finalize, so a launcher that has printed the time is
        ended a little later.
        """
        others = processes()
        used: dict[int, float] = {}
        marks = dict[str, float]()
        with open(folder / "printed", "w+") as printed, open(folder / "errors", "w+") as errors:
            started = subprocess.Popen(
                words, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                stdout=printed, stderr=errors, start_new_session=True, preexec_fn=_first,
            )  # fmt: skip
            began = now()
            while started.poll() is None and now() - began < limit:
                used.update({pid: seconds for pid, seconds in processes().items() if pid not in others})
                for _ in range(LOOKS):
                    wait(0.2 / LOOKS)
                    text = (folder / "printed").read_text()
                    for each in {begins, time} - marks.keys():
                        if re.search(each, text, re.MULTILINE):
                            marks[each] = now()
                            limit = limit if each == begins else now() - began + PATIENCE
            marks.setdefault(time, now())
            for pid in processes().keys() - others.keys():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            started.wait()
            with contextlib.suppress(ChildProcessError):  # this process inherits what a launcher leaves
                while os.waitpid(-1, os.WNOHANG)[0]:
                    continue
            text = (folder / "printed").read_text()
            found = re.search(time, text, re.MULTILINE)
            if found is None:
                last = (text + (folder / "errors").read_text())[-1500:]
                what = f"{' '.join(words)[-200:]}: no time within {now() - began:.0f} s"
                raise RuntimeError(f"{what}: {last}")
        seconds = marks[time] - marks[begins] if begins else float(found[1])
        return seconds, text, sum(used.values())

    def close(self) -> None:
        """End everything that runs on the hosts; their name spaces and links go with it."""
        subprocess.run(["umount", "/etc/hosts"], check=True)
        for pid in processes().keys() - {1, os.getpid()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for space in self.spaces:
            space.wait()


def processes() -> dict[int, float]:
    """Return the CPU seconds of every process of the laboratory."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            found[int(path.name)] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return found


def _call(name: str, *values: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*values):
        raise OSError(ctypes.get_errno(), name)


def _first() -> None:
    """Run before other processes of the computer, where that is allowed; Linux weighs sessions first."""
    with contextlib.suppress(OSError):
        os.nice(-10)
        Path("/proc/self/autogroup").write_text("-10")


def _name_host(name: str) -> None:
    import socket

    socket.sethostname(name)


def _run(words: Sequence[str], given: str = "") -> str:
    done = subprocess.run(words, input=given, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)[:120]}: {(done.stderr or done.stdout).strip()[:300]}")
    return done.stdout
