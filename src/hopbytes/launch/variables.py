"""A mapping as environment variables, for launchers that start inside scripts, tests and drivers."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.formats.exchange import write
from hopbytes.formats.files import atomic_write, may_write
from hopbytes.formats.mappings.host_lists import hosts_by_rank, slots_in_order
from hopbytes.formats.mappings.launch_files import prepare
from hopbytes.formats.mappings.launchers import LAUNCHERS, PROGRAM, STEP_LIMITS
from hopbytes.formats.mappings.numbering import THREAD_NAMES
from hopbytes.formats.mappings.openmpi import SEQUENCE
from hopbytes.launch.command import options_of
from hopbytes.launch.in_words import IN_WORDS, best_in_words
from hopbytes.launch.installed import ASSIGNMENT, version_in_path
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

_SRUN_VARIABLES = {
    "n": "SLURM_NTASKS", "N": "SLURM_JOB_NUM_NODES", "distribution": "SLURM_DISTRIBUTION",
    "cpu-bind": "SLURM_CPU_BIND", "ntasks-per-node": "SLURM_NTASKS_PER_NODE",
    "overcommit": "SLURM_OVERCOMMIT",
}  # fmt: skip
#: Variables that launchers read in place of options. "" is an option that needs none.
#: Sources: ``ompi_info`` of 4.1.4; PRRTE of Open MPI 5.0, whose variables are default policies only (with a
#: rank file in one mpirun 5.0.11 ends in silence); srun(1), INPUT ENVIRONMENT VARIABLES; ``HYDRA_HOST_FILE``
#: and ``HYDRA_BINDING`` of Hydra 4.0 and 5.0; Intel's Developer Reference, "Hydra Environment Variables".
VARIABLES: Dictionary[str, Dictionary[str, str]] = {
    "openmpi 4": {
        "hostfile": "OMPI_MCA_orte_default_hostfile", "rf": "OMPI_MCA_rmaps_rank_file_path",
        "map-by": "OMPI_MCA_rmaps_base_mapping_policy", "rank-by": "OMPI_MCA_rmaps_base_ranking_policy",
        "bind-to": "OMPI_MCA_hwloc_base_binding_policy", "x": "OMPI_MCA_mca_base_env_list",
    },
    "openmpi": {
        "hostfile": "PRTE_MCA_prte_default_hostfile", "map-by": "PRTE_MCA_rmaps_default_mapping_policy",
        "rank-by": "PRTE_MCA_rmaps_default_ranking_policy",
        "bind-to": "PRTE_MCA_hwloc_default_binding_policy", "x": "OMPI_MCA_mca_base_env_list",
    },
    "slurm": _SRUN_VARIABLES, "cray": _SRUN_VARIABLES,
    "hydra": {"f": "HYDRA_HOST_FILE", "bind-to": "HYDRA_BINDING"},
    "intel": {"machinefile": "I_MPI_HYDRA_HOST_FILE", "ppn": "I_MPI_PERHOST", "genv": ""},
}  # fmt: skip
#: Formats whose command is one of srun.
OF_SRUN = ("slurm", "cray")


@frozen
class Variables:
    """Variables in the order in which they are set, and sentences for the user."""

    values: tuple[tuple[str, str], ...]
    notices: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # variables of the job that would contradict

    def script(self) -> str:
        lines = [f"unset {' '.join(self.removed)}"] if self.removed else []
        return "\n".join(lines + [f"export {name}={shlex.quote(value)}" for name, value in self.values])


def table_of(form: str) -> str:
    """Return the name of a launcher in :data:`VARIABLES`: Open MPI is that in PATH, or version 5."""
    name = "openmpi 4" if form == "openmpi" and version_in_path() == "4" else form
    if name not in VARIABLES:
        raise UnsupportedError(
            f"{form}: its launcher reads no variables that say where ranks run, expected openmpi, slurm, "
            "cray, hydra or intel; 'hopbytes run' starts it with options"
        )
    return name


def variables_of(command: str, form: str) -> Variables:
    """Return the variables that say what a printed command says; UnsupportedError if an option has none."""
    words, values, notices = shlex.split(command), [], [f"variables of {IN_WORDS[form].name}"]
    while ASSIGNMENT.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        values.append((name, value))
    row, table, passed = LAUNCHERS["slurm" if form in OF_SRUN else form.split()[0]], VARIABLES[form], []
    options, program = options_of(row, words[1:])
    if program != (PROGRAM,):
        raise UnsupportedError(f"{form}: no variable says that {shlex.join(program[:2])} binds the ranks")
    for option in options:
        if option.name in row.counts and option.name not in table:
            notices.append(f"the command has to start {option.value} ranks (-n {option.value})")
        elif option.name in ("host", "nodelist"):
            notices.append(f"the command has to name the hosts (--{option.name} {option.value})")
        elif option.name in ("x", "genv"):
            name, _, value = " ".join(option.words[1:]).replace(" ", "=", 1).partition("=")
            values.append((name, value))
            passed += [name] if table[option.name] else []
        elif option.name in table:
            values.append((table[option.name], option.value or "1"))
        else:
            what = f"no variable says -{option.name} {option.value}"
            raise UnsupportedError(f"{form}: {what}, expected the options themselves: {command}")
    if passed:  # ranks on other hosts get them, too
        values.append((table["x"], ";".join(passed)))
    removed = tuple(name for name in STEP_LIMITS if name in os.environ) if form in OF_SRUN else ()
    return Variables(tuple(values), tuple(notices), removed)


def in_words(graph: CommGraph, where: Allocation, form: str) -> Variables:
    """Return the variables of the cheapest order that a launcher can be told in words."""
    name = table_of(form)
    best = best_in_words(graph, where, name)
    if best is None:
        raise UnsupportedError(
            f"words of {form} leave open where ranks run, expected a rank for every core of equal nodes"
        )
    found = variables_of(best.command, name)
    order = f"{best.launcher}, order {best.order}: J {best.comm_cost:,}"
    return dataclasses.replace(found, notices=(order, *found.notices))


def mapping_variables(
    mapping: Mapping, form: str, path: str, *, graph: CommGraph | None = None, force: bool = False,
    hosts: Sequence[str] | None = None, **options: Any,
) -> Variables:
    """Write the file of a launch format, and return the variables that make a launcher read it."""
    # Where variables can only say the host of every rank, ranks take the cores of a node in their order, and
    # a notice says what that costs. UnsupportedError where they cannot say that either.
    name, path = table_of(form), os.path.abspath(path)
    given = {key: value for key, value in {"hosts": hosts, **options}.items() if value}
    chosen, notices = mapping, []
    if name == "openmpi" or _needs_script(mapping, form, given):
        chosen = _in_order_inside(mapping)
        if not np.array_equal(chosen.pe, mapping.pe):
            notices += _price(mapping, chosen, graph)
    if name == "openmpi":
        launch = prepare(chosen, given)
        _check_first_cores(chosen)
        full = launch.beyond_slots()
        if full:  # tried with 5.0.11: beyond the slots it leaves ranks out, or binds none by variables
            what = f"{full} gets more ranks than its job or host file gives it slots"
            raise UnsupportedError(f"{what}, which variables of Open MPI 5 cannot say: use 'hopbytes run'")
        may_write(path, force)
        atomic_write({path: hosts_by_rank(launch, f"{SEQUENCE}: host of rank 0, 1, 2, ...")}, ())
        command = f"mpirun -n {launch.n} --hostfile {shlex.quote(path)} --map-by seq --bind-to core {PROGRAM}"
        notices += [text.replace("{stem}", path) for text in launch.assumptions()[: launch.hosts_unknown]]
    else:
        if _needs_script(chosen, form, given):
            raise UnsupportedError(f"{form}: a script has to bind these ranks, use 'hopbytes run'")
        more: dict[str, Any] = {"version": "4"} if name == "openmpi 4" else {}
        receipt = write(chosen, path, form, force=force, **given, **more)
        command, notices = receipt.launch, [*notices, *receipt.notices]
    found = variables_of(command, name)
    return dataclasses.replace(found, notices=(*notices, *found.notices))


def _needs_script(mapping: Mapping, form: str, options: dict[str, Any]) -> bool:
    return ".place.sh" in formats[form].write_mapping(mapping, options).files


def _in_order_inside(mapping: Mapping) -> Mapping:
    """Return the mapping in which the ranks of a node take its first slots in order."""
    if int(mapping.tasks_per_pe().max()) > 1:
        return mapping
    where = mapping.where
    return dataclasses.replace(mapping, pe=slots_in_order(where, where.node_of_pe[mapping.pe]))


def _check_first_cores(mapping: Mapping) -> None:
    """Refuse cores that Open MPI 5 would not choose: it binds the ranks of a host to its first cores."""
    where = mapping.where
    node = where.node_of_pe[mapping.pe]
    place = where.first_core[mapping.pe] - np.searchsorted(where.machine.node_of_core(), node)
    own = mapping.pe - np.searchsorted(where.node_of_pe, node)
    threads = bool(where.machine.levels) and where.machine.levels[-1].name in THREAD_NAMES
    single = len(where.cores) == where.k and where.gpus is None and not threads
    if not single or int(mapping.tasks_per_pe().max()) > 1 or not np.array_equal(place, own):
        raise UnsupportedError(
            "Open MPI 5 binds the ranks of a host to its first cores, one each, if only variables say where "
            "they run, which does not fit these slots: use 'hopbytes run'"
        )


def _price(mapping: Mapping, chosen: Mapping, graph: CommGraph | None) -> list[str]:
    text = "variables say the host of every rank: inside hosts ranks take the cores in order"
    if graph is None:
        return [text]
    weighted = graph.with_weights(mapping.info.get("weight", "bytes"))
    before, after = (CommCost().value(weighted, one.where, one.pe) for one in (mapping, chosen))
    return [f"{text}, J is {after:,} instead of {before:,}"] if before != after else []
