"""kubernetes: a ConfigMap with the hosts of a job in the order of node ranks, and a script for its pods."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK, Capabilities, Format, Written, formats
from hopbytes.formats.mappings.launch_files import prepare
from hopbytes.formats.mappings.mapping_hosts import nodes_in_order, refuse_gaps
from hopbytes.formats.mappings.mapping_torchrun import host_script
from hopbytes.model.mapping import Mapping

#: Largest size of a ConfigMap that Kubernetes accepts.
LARGEST = 2**20
_HEAD = """\
# {mark}: kubectl apply -f FILE, then mount it into the pods of a JobSet, LeaderWorkerSet or MPIJob.
apiVersion: v1
kind: ConfigMap
metadata:
  name: hopbytes-hosts
data:
"""
#: A pod is found by the name of its node where it knows that, else by its own name.
_OWN_NAME = ("host=$(hostname)", "host=${NODE_NAME:-$(hostname)}")


class Kubernetes(Format):
    """A ConfigMap with three files, for pods whose names or nodes are the hosts of the mapping.

    ``hosts`` has the host of node rank i in line i, ``hostfile`` the same with ``slots=`` for the ``mpirun``
    of an MPIJob, ``torchrun.sh`` starts ``torchrun`` with the node rank of its pod. Kubernetes numbers pods
    as it creates them, on any nodes, so a pod looks itself up: by the variable NODE_NAME, which the pod may
    set to ``spec.nodeName``, or else by its own name. The ranks of a host are consecutive, as for
    ``torchrun``.

    Source: Kubernetes documentation ("ConfigMaps", "Downward API"), JobSet, LeaderWorkerSet and MPI Operator
    user guides.
    """

    holds = "mapping"
    summary = "ConfigMap of Kubernetes: hosts, host file of an MPIJob, torchrun by pod or node name"
    capabilities = Capabilities(any_host_order=True, launcher="kubectl")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the ConfigMap.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        names, count = nodes_in_order(launch, "kubernetes")
        refuse_gaps(launch, "kubernetes")
        contents = {
            "hosts": "".join(f"{name}\n" for name in names),
            "hostfile": "".join(f"{name} slots={count}\n" for name in names),
            "torchrun.sh": host_script(names, count).replace(*_OWN_NAME),
        }
        text = _HEAD.format(mark=MARK) + "".join(_block(name, lines) for name, lines in contents.items())
        if len(text) > LARGEST:
            what = f"{len(names)} hosts need {len(text)} bytes, but a ConfigMap holds at most {LARGEST}"
            raise UnsupportedError(f"{what}: write torchrun, or hosts")
        notices = [
            "pods: mount the ConfigMap hopbytes-hosts at /hopbytes and run `sh /hopbytes/torchrun.sh "
            f"train.py`; {names[0]} must resolve to the pod of rank 0 (hostNetwork or a headless service)"
        ]
        if launch.hosts_unknown:
            notices.insert(0, "host names are unknown, the file has placeholders: give `hosts`")
        return Written({"": text}, "kubectl apply -f {stem}", tuple(notices))

    def sniff(self, name: str, head: bytes) -> bool:
        """Return False always, because the format cannot be read; ``hosts`` stores the same facts."""
        return False


formats.register("kubernetes")(Kubernetes())


def _block(name: str, lines: str) -> str:
    """Return an entry of the ConfigMap, a literal block of YAML."""
    return f"  {name}: |\n" + "".join(f"    {line}\n" if line else "\n" for line in lines.split("\n")[:-1])
