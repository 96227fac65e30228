"""torchrun: a script that passes every host's node rank to PyTorch's launcher."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import MARK, Capabilities, Format, Written, formats
from hopbytes.formats.mappings.launch_files import nodelist, prepare
from hopbytes.formats.mappings.mapping_hosts import nodes_in_order, refuse_gaps
from hopbytes.model.mapping import Mapping

_SCRIPT = """\
#!/bin/sh
# torchrun {mark}: start once on each of {nodes} hosts, with the training script and its arguments.

for word in "$@"; do
    case $word in
    --rdzv*|--standalone*)
        echo "$0: $word: an elastic rendezvous numbers ranks itself, none would be where it belongs" >&2
        exit 1
        ;;
    esac
done
host=$(hostname)
case $host in
{cases}*)
    echo "$0: host $host is none of the {nodes} in this file" >&2
    exit 1
    ;;
esac
exec torchrun --nnodes={nodes} --nproc-per-node={count} --node-rank="$node" \\
    --master-addr={first} --master-port="${{MASTER_PORT:-29500}}" "$@"
"""


class Torchrun(Format):
    """A script for every node: torchrun with static rendezvous and the node rank of the host it runs on.

    RANK = node rank * processes per node + local rank, so only the order of nodes can be chosen
    (``map --for torchrun``). Elastic rendezvous (``--rdzv-…``) assigns node ranks itself, so the script
    refuses it.

    Source: documentation of torch.distributed.run, options --nnodes, --nproc-per-node, --node-rank,
    --master-addr and --master-port; with dashes in their names since 2.0 (pytorch pull request 94505).
    """

    holds = "mapping"
    summary = "script with torchrun's static rendezvous, node ranks by host name"
    capabilities = Capabilities(any_host_order=True, launcher="torchrun")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the script.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        names, count = nodes_in_order(launch, "torchrun")
        refuse_gaps(launch, "torchrun")
        script = host_script(names, count)
        notices = []
        if launch.hosts_unknown:
            notices.append("host names are unknown, the file has placeholders: give `hosts`")
        notices.append("the script runs once on every host, here started by srun; train.py is your program")
        command = f"srun -N {len(names)} -n {len(names)}{nodelist(launch)} sh {{stem}} train.py"
        return Written({"": script}, command, tuple(notices), ("",))

    def sniff(self, name: str, head: bytes) -> bool:
        """Return False always, because the format cannot be read; ``hosts`` stores the same facts."""
        return False


formats.register("torchrun")(Torchrun())


def host_script(hosts: list[str], count: int) -> str:
    """Return the script that starts `count` processes on its host; hosts are numbered in this order."""
    cases = "".join(f"{_called(host, hosts)}) node={node} ;;\n" for node, host in enumerate(hosts))
    if hosts == ["localhost"]:
        cases = "*) node=0 ;;\n"
    return _SCRIPT.format(mark=MARK, nodes=len(hosts), cases=cases, count=count, first=hosts[0])


def _called(host: str, names: list[str]) -> str:
    """Return the shell pattern of the names that `hostname` may print: with and without the domain."""
    short = host.split(".")[0]
    alone = short != host and sum(name.split(".")[0] == short for name in names) == 1
    return f"{host}|{host}.*" + (f"|{short}" if alone else "")
