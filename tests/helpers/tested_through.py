"""Modules without a test file of their own, where their tests are instead, and why.

A module that is too small to list (40 lines) may stand here as well. The test of this list is in
``test_architecture.py``; ``tests_of.py`` reads it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class Group(NamedTuple):
    """Modules tested by the same files for the same reason; paths are relative to src/hopbytes and tests."""

    reason: str
    tests: str
    modules: str

    def names(self, module: str) -> bool:
        """Tell whether the group is about a module; entries may be patterns."""
        return any(fnmatchcase(module, entry) for entry in self.modules.split())


TESTED_THROUGH = (
    Group(
        "Checks, errors and registries show in what is refused and listed.",
        "contracts/test_arguments.py contracts/test_registries.py _util/test_options.py "
        "model/test_comm_graph.py",
        "__init__.py errors.py _util/checks.py _util/integers.py _util/registry.py",
    ),
    Group(
        "Clocks are seen by what stops in time.",
        "solve/test_run_chain.py",
        "_util/clock.py",
    ),
    Group(
        "What mappers and refiners promise is their base.",
        "contracts/test_mappers.py contracts/test_refiners.py",
        "algorithms/base.py",
    ),
    Group(
        "One family of mappers by geometry.",
        "algorithms/mappers/test_multi_jagged.py",
        "algorithms/mappers/curve.py",
    ),
    Group(
        "Every registered mapper is run by the contract.",
        "contracts/test_mappers.py",
        "algorithms/mappers/dual_recursive_bipartitioning.py",
    ),
    Group(
        "PTRAM's serial mapper and refiner are what the parallel one must agree with.",
        "mpi/ptram/test_node_leaders.py engine/test_routed_search.py",
        "algorithms/mappers/ptram.py algorithms/refiners/refine_ptram.py",
    ),
    Group(
        "Groups cut to nodes, then grown by hops.",
        "algorithms/two_level/test_node_level.py",
        "algorithms/mappers/ug.py algorithms/two_level/level.py algorithms/two_level/within_node.py",
    ),
    Group(
        "The parts of one mapper.",
        "algorithms/mappers/test_multisection.py algorithms/multisection/test_scheduling.py",
        "algorithms/multisection/cut_level.py algorithms/multisection/effort_per_level.py "
        "algorithms/multisection/executor.py algorithms/multisection/hierarchy_levels.py",
    ),
    Group(
        "Cuts of other partitioners compete inside multisection.",
        "partitioners/test_candidates.py partitioners/test_backends.py",
        "algorithms/multisection/external_partitions.py partitioners/_solvers.py",
    ),
    Group(
        "Hidden levels and whole trees are TreeMatch's question.",
        "algorithms/mappers/test_treematch.py",
        "algorithms/multisection/subtree_sizes.py",
    ),
    Group(
        "The parts of LibTopoMap's three mappers.",
        "algorithms/papers/test_libtopomap.py",
        "algorithms/papers/libtopomap_*.py algorithms/two_level/host_graph.py",
    ),
    Group(
        "The neighbourhoods of paper 000 run in its pipeline.",
        "algorithms/mappers/test_two_phase.py",
        "algorithms/papers/n_*.py algorithms/shared/sequential_assignment.py",
    ),
    Group(
        "Every registered refiner is run by the contract.",
        "contracts/test_refiners.py",
        "algorithms/refiners/chains.py algorithms/refiners/evolve.py algorithms/refiners/vcycle.py "
        "algorithms/multisection/warm_start.py",
    ),
    Group(
        "Both move whole units of the machine.",
        "algorithms/refiners/test_subtrees.py",
        "algorithms/refiners/resplit.py algorithms/shared/unit_distances.py",
    ),
    Group(
        "The refiners that look at routes, and the nodes they move groups between.",
        "algorithms/refiners/test_congestion.py engine/test_routed_search.py "
        "algorithms/two_level/test_ports.py",
        "algorithms/refiners/routed.py algorithms/refiners/umc.py algorithms/refiners/umpa.py "
        "algorithms/two_level/neighbourhood.py algorithms/two_level/node_problem.py "
        "algorithms/two_level/node_routing.py",
    ),
    Group(
        "Coordinates of places are used by mappers along curves.",
        "algorithms/mappers/test_multi_jagged.py machines/common/test_geometry.py",
        "algorithms/shared/positions.py",
    ),
    Group(
        "Distances of searches on tables that differ by direction.",
        "algorithms/refiners/test_swap.py",
        "algorithms/shared/search_distances.py",
    ),
    Group(
        "Exit codes and the one line of an error.",
        "cli/test_cli_errors.py",
        "cli/ending.py",
    ),
    Group(
        "Options of machines, typed.",
        "cli/test_machine_options.py cli/test_place_options.py",
        "cli/spread.py",
    ),
    Group(
        "The verbs that start programs are thin, and tested with the library below them.",
        "launching/test_command.py launching/test_present.py cli/test_slips.py",
        "cli/launching_options.py cli/verb_measure.py cli/verb_record.py cli/verb_replay.py "
        "cli/verb_run.py cli/verb_verify.py",
    ),
    Group(
        "What can be done with the answer of map.",
        "cli/test_verb_map.py",
        "cli/verb_eval.py cli/verb_write.py",
    ),
    Group(
        "Times of messages, by levels and along routes.",
        "cost/message_time/test_times.py",
        "cost/message_time/along_routes.py cost/message_time/form.py cost/message_time/levels.py",
    ),
    Group(
        "All metrics are checked against one brute-force twin.",
        "cost/metrics/test_placement.py",
        "cost/metrics/baselines.py cost/metrics/evaluation.py cost/metrics/loads.py "
        "cost/metrics/plain_text.py",
    ),
    Group(
        "Metrics of links.",
        "cost/metrics/test_link_metrics.py",
        "cost/metrics/traffic.py",
    ),
    Group(
        "Times and the metrics that explain them.",
        "cost/metrics/test_regression.py",
        "cost/metrics/measurements.py",
    ),
    Group(
        "Objectives over routes, each of them compared with its definition.",
        "cost/objectives/test_link_sums.py machines/network/test_link_prices.py",
        "cost/objectives/base.py cost/objectives/hop_distances.py cost/objectives/hybrid.py",
    ),
    Group(
        "J itself.",
        "papers/test_known_answers.py engine/test_distances.py",
        "cost/objectives/comm_cost.py kernels/cost.py reference/cost_reference.py",
    ),
    Group(
        "What is measured, and where it is stored.",
        "discovery/test_measure.py",
        "discovery/pingpong.py discovery/store.py",
    ),
    Group(
        "Wrappers of compiled code, tested with the searches they call.",
        "engine/test_tabu_search.py engine/test_swap_search.py engine/test_refinement.py",
        "engine/assignment.py engine/call.py engine/settings.py kernels/__init__.py",
    ),
    Group(
        "Coarsening once is one mapper's.",
        "algorithms/mappers/test_integrated.py",
        "engine/coarse.py",
    ),
    Group(
        "Groups on places.",
        "engine/test_routed_search.py",
        "engine/places.py reference/groups.py reference/routed_groups.py",
    ),
    Group(
        "What the readers of fabrics fill.",
        "fabrics/test_ibnetdiscover.py fabrics/test_hosts.py fabrics/test_arrival.py",
        "fabrics/fabric.py fabrics/folder.py fabrics/ibports.py fabrics/survey.py",
    ),
    Group(
        "Files of links and shortest routes over them.",
        "machines/kinds/test_links.py",
        "fabrics/link_file.py fabrics/shortest.py",
    ),
    Group(
        "SimGrid's platforms.",
        "fabrics/test_simgrid_file.py fabrics/test_simgrid_routes.py",
        "fabrics/simgrid_platform.py machines/network/simgrid_*.py",
    ),
    Group(
        "Trees of switches, however they were written.",
        "fabrics/test_slurm_topology.py fabrics/test_slurm_yaml.py",
        "fabrics/switch_tree.py",
    ),
    Group(
        "Files in and out, whatever their format.",
        "contracts/test_pattern_formats.py formats/mappings/test_launch_files.py",
        "formats/base.py formats/exchange.py formats/recognition.py",
    ),
    Group(
        "A mapping for another pattern is refused by its fingerprint.",
        "formats/mappings/test_mapping_json.py",
        "formats/fingerprint.py",
    ),
    Group(
        "The launch formats beside those of Open MPI and Slurm.",
        "formats/mappings/test_launch_formats.py formats/mappings/test_numbering.py",
        "formats/mappings/mapping_*.py formats/mappings/binding.py formats/mappings/host_lists.py "
        "formats/mappings/slot_lists.py formats/mappings/torus_places.py",
    ),
    Group(
        "The script is run by a real shell.",
        "launchers/test_place_script.py",
        "formats/mappings/place_script.py",
    ),
    Group(
        "Formats of graphs share their contracts: round trips, recognition, bad input.",
        "contracts/test_pattern_formats.py contracts/test_pattern_bad_input.py",
        "formats/parsing.py formats/patterns/archive.py formats/patterns/graph_csv.py "
        "formats/patterns/graph_edges.py formats/patterns/graph_metis.py formats/patterns/graph_npz.py "
        "formats/patterns/graph_pattern.py formats/patterns/matrix.py formats/patterns/symmetrize.py",
    ),
    Group(
        "Formats of recordings.",
        "formats/patterns/test_recorded.py",
        "formats/patterns/graph_dumpi.py formats/patterns/graph_ipm.py "
        "formats/patterns/graph_monitoring.py formats/patterns/graph_mpip.py "
        "formats/patterns/graph_simgrid.py formats/patterns/graph_tau.py",
    ),
    Group(
        "The process that reads an archive.",
        "formats/patterns/test_graph_otf2.py",
        "formats/patterns/_otf2_events.py",
    ),
    Group(
        "Kernels are tested together with their twins.",
        "kernels/test_grouping.py kernels/test_graph.py kernels/test_leaders.py kernels/test_routes.py "
        "kernels/test_text.py",
        "kernels/best_swap.py reference/grouping_reference.py reference/graph_reference.py "
        "reference/leaders_reference.py reference/route_forms.py reference/routes_reference.py "
        "reference/text_reference.py",
    ),
    Group(
        "Kernels over slots and their twin.",
        "engine/test_slots.py engine/test_slot_groups.py",
        "reference/slots_reference.py",
    ),
    Group(
        "Moves that keep bounds.",
        "algorithms/test_balancer.py",
        "kernels/repair.py",
    ),
    Group(
        "Blocks of consecutive ranks.",
        "launching/test_consecutive_ranks.py",
        "launching/block_sizes.py",
    ),
    Group(
        "A launch, from the typed command to the comparison of what was seen.",
        "launching/test_command.py launching/test_launchers.py",
        "launching/launch.py launching/launcher_options.py launching/observed_placement.py "
        "launching/passing.py launching/placement_probe.py launching/start.py launching/usual.py "
        "launching/verify.py",
    ),
    Group(
        "Only a real MPI can run it.",
        "launchers/test_other_mpi.py launchers/test_reorder.py",
        "launching/replay.py launching/replay_program.py mpi/communicators.py mpi/process_places.py",
    ),
    Group(
        "What every kind of machine promises.",
        "contracts/test_machines.py",
        "machines/base.py machines/common/named_tree.py machines/common/nest_levels.py "
        "machines/common/delegating_machine.py machines/kinds/hyperx.py machines/network/network.py",
    ),
    Group(
        "Machines from files, with or without nodes inside.",
        "machines/common/test_stored_file.py machines/common/test_nested_machine.py",
        "machines/common/file_spec.py machines/common/attached_hosts.py machines/common/spec_fields.py "
        "machines/kinds/machine.py",
    ),
    Group(
        "Fabrics as machines: hosts, rails, adapters of GPUs.",
        "machines/common/test_fabric_machine.py",
        "machines/kinds/ib.py machines/common/gpu_rails.py machines/network/fabric_network.py",
    ),
    Group(
        "Cuts of tables along what distances show.",
        "machines/common/test_table.py",
        "machines/common/clustered_split.py",
    ),
    Group(
        "Slots with GPUs.",
        "contracts/test_gpu_slots.py machines/selection/test_allocate.py",
        "machines/common/gpu_level.py machines/selection/gpu_slots.py",
    ),
    Group(
        "Which cores a job may use.",
        "machines/selection/test_allocate.py machines/selection/test_placed_hosts.py",
        "machines/selection/chosen_hosts.py machines/common/level_names.py",
    ),
    Group(
        "Distances of networks, as compiled searches take them.",
        "engine/test_distances.py",
        "machines/common/lowering.py machines/network/node_distances.py",
    ),
    Group(
        "Levels measured or declared with their times.",
        "discovery/test_measure.py cost/message_time/test_times.py",
        "machines/common/timed_links.py",
    ),
    Group(
        "Nodes with their own numbers.",
        "machines/node/test_hwloc_file.py machines/common/test_leveling.py",
        "machines/kinds/hwloc.py machines/node/hwloc_adapters.py machines/node/hwloc_gpus.py "
        "machines/node/hardware_kinds.py machines/common/node_machine.py machines/selection/units.py",
    ),
    Group(
        "This host and this job.",
        "machines/node/test_job_environment.py discovery/test_probe.py",
        "machines/kinds/job.py machines/kinds/local.py machines/node/sysfs.py",
    ),
    Group(
        "The nouns: made by everything, checked where they are made.",
        "contracts/test_arguments.py machines/selection/test_allocate.py",
        "model/allocation.py model/mapping.py",
    ),
    Group(
        "The parts of one parallel mapper.",
        "mpi/ptram/test_node_leaders.py launchers/test_ptram_program.py",
        "mpi/ptram/*.py",
    ),
    Group(
        "The worker process, and the memory it is handed graphs in.",
        "partitioners/test_pool.py",
        "partitioners/_worker.py partitioners/parhip.py",
    ),
    Group(
        "Generators share known answers and refusals.",
        "patterns/test_generated_patterns.py",
        "patterns/*.py",
    ),
    Group(
        "Only a real MPI can be recorded.",
        "record/test_session.py record/test_every_call.py",
        "record/application.py record/build.py record/counts.py record/facts.py record/missing.py "
        "record/next_step.py",
    ),
    Group(
        "Comparisons of benchmarks, read and told.",
        "report/test_benchmark_comparison.py",
        "report/benchmark_text.py report/results.py",
    ),
    Group(
        "Pictures of nodes.",
        "report/test_boxes.py",
        "report/box_layout.py report/picture.py report/svg.py",
    ),
    Group(
        "What list and show print.",
        "cli/test_verb_list.py cli/test_verb_show_network.py machines/test_recognise.py",
        "report/catalogue.py report/network_text.py report/show.py report/summary.py report/thing.py",
    ),
    Group(
        "The steps of map_tasks around the searches.",
        "solve/test_map_tasks.py solve/test_constraints.py solve/test_zero_load.py "
        "solve/test_many_at_once.py",
        "solve/evict_forbidden.py solve/feasibility.py solve/presets.py solve/problem.py",
    ),
    Group(
        "Orders of slots that are tried.",
        "solve/test_slot_choice.py",
        "solve/slot_policies.py",
    ),
    Group(
        "Lists of CPUs.",
        "discovery/test_probe.py machines/node/test_hwloc_file.py",
        "textio/cpu_lists.py",
    ),
    Group(
        "Readers of lines, YAML and XML show in the files they read.",
        "fabrics/test_damaged_files.py fabrics/test_slurm_yaml.py machines/node/test_hwloc_file.py",
        "textio/lines.py textio/xml_tree.py textio/yaml_nodes.py",
    ),
)
