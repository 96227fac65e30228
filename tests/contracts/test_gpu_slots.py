"""Every launch format on slots with GPUs: each rank sees its own GPU, and cores only where they are known."""

import os
import re
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.launch.observed import Seen, mapping_by_node, mapping_seen
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.model.mapping import Mapping
from hopbytes.show.describe import machine_text

FORMATS = sorted(
    name for name in formats if formats[name].holds == "mapping" and name not in ("json", "plain", "openfoam")
)
#: Formats that leave GPUs to local ranks, which count from 0 on every host.
LOCAL = {"hosts", "kubernetes", "mesh", "torchrun"}
#: jsrun binds to hardware threads, which these machines do not name.
REFUSING = {"fujitsu", "jsrun"}
SPECS = ("node:2@10 gpu:4@1", "node:2 package:2 gpu:2", "node:2@10 gpu:4@1 core:3@1", "gpu:8 core:1")
BINDING = re.compile(
    r"map_cpu|mask_cpu|cpu-affinity=.?map|-bind-to user|--cpu-bind list|PIN_(PROCESSOR|DOMAIN)"
    r"|MV2_CPU_MAPPING|bind-to core|gpu-bind=map_gpu|OMP_"
)
SCRIPTED = re.compile(r"^(\d+)\) (?:cores=(\S+) threads=(\d+) )?gpus=(\S+) ;;$", re.MULTILINE)


def mapping_on(spec, pe):
    where = hb.allocate(spec, hosts=("n1", "n2") if spec.startswith("node") else None)
    return Mapping(np.array(pe, np.int32), where, {"problem": "processes"})


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("form", sorted(REFUSING))
def test_formats_without_a_word_for_gpus_name_some_that_have(form, spec):
    with pytest.raises(UnsupportedError, match="openmpi"):
        formats[form].write_mapping(mapping_on(spec, range(8)), {})


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("form", sorted(set(FORMATS) - REFUSING))
def test_every_rank_sees_its_gpu_and_only_known_cores_are_named(form, spec):
    pe = list(range(8)) if form in LOCAL else [2, 3, 0, 1, 7, 6, 5, 4]
    mapping = mapping_on(spec, pe)
    written = formats[form].write_mapping(mapping, {})
    if form in LOCAL:
        assert not BINDING.search(written.launch + written.files[""])
        return
    script = written.files[".place.sh"]
    assert "sh {stem}.place.sh ./app" in written.launch
    assert not BINDING.search(written.launch)
    found = {int(rank): (cores, int(gpus)) for rank, cores, _, gpus in SCRIPTED.findall(script)}
    # Processes that are renumbered when they run.
    order = np.argsort(pe) if form in ("cray", "lammps", "newrank") else range(8)
    per_node = 8 // len(mapping.where.hosts or "1")
    expected = [pe[task] % per_node for task in order]
    assert [found[rank][1] for rank in range(8)] == expected
    if "core" not in spec:
        assert "taskset" not in script
        assert "OMP_" not in script
        assert "core" not in written.files[""] + "".join(written.files.get(".hosts", ""))
        assert not any("CPU numbers" in notice for notice in written.notices)
        if form not in ("pbs", "lsf"):  # whose script always binds
            assert any("no rank is bound to cores" in notice for notice in written.notices)
    else:
        each = 3 if "core:3" in spec else 1
        cores = [f"{own * each}-{own * each + each - 1}" if each > 1 else str(own) for own in expected]
        assert [found[rank][0] for rank in range(8)] == cores


@pytest.mark.parametrize("form", sorted(LOCAL))
def test_gpus_that_local_ranks_do_not_count_are_refused(form):
    with pytest.raises(UnsupportedError, match=mentions("n2", "0", "2")):
        formats[form].write_mapping(mapping_on("node:2 gpu:4", [0, 1, 4, 6]), {})


def test_a_slot_is_a_gpu_where_a_level_is_called_so():
    alone = hb.allocate("node:2 gpu:4")
    beside = hb.allocate("node:2 gpu:4 core:8")
    assert (alone.k, beside.k) == (8, 8)
    assert alone.gpus.tolist() == beside.gpus.tolist() == [0, 1, 2, 3] * 2
    assert not alone.has_cores
    assert beside.cores_of(5).tolist() == list(range(40, 48))
    for accepted in (alone, beside):
        again = hb.allocate(accepted.machine, per="gpu")
        assert again.gpus.tolist() == accepted.gpus.tolist()
        assert np.array_equal(again.cores, accepted.cores)
    assert hb.allocate("node:2 gpu:4 core:8", cores_per_task=2).cores_of(1).tolist() == [8, 9]


def test_numbers_of_gpus_are_those_of_the_node_whatever_is_left_out():
    where = hb.allocate("node:2 package:2 gpu:4", exclude="gpu=0,5")
    assert where.gpus.tolist() == [1, 2, 3, 4, 6, 7] * 2


def test_other_slots_keep_the_gpus_they_lie_beside():
    shared = hb.allocate("node:2 gpu:2 core:2", per="core")
    assert shared.gpus.tolist() == [0, 0, 1, 1] * 2
    several = hb.allocate("node:2 package:2 gpu:2", per="package")
    assert several.gpus is None
    assert [several.gpus_of(pe) for pe in range(4)] == [(0, 1), (2, 3)] * 2
    script = formats["slurm"].write_mapping(
        Mapping(np.array([1, 2], np.int32), several, {"problem": "processes"}), {}
    ).files[".place.sh"]
    assert "0) gpus=2,3 ;;\n1) gpus=0,1 ;;" in script


@pytest.mark.parametrize("options", [{"per": "core"}, {"per": "pu"}, {"cores_per_task": 4}])
def test_cores_of_gpus_that_have_none_are_refused(options):
    with pytest.raises(UnsupportedError, match=mentions("node:2@10", "gpu:4@1")):
        hb.allocate("node:2 gpu:4", **options)


def test_a_gpu_around_nodes_is_an_ordinary_level():
    where = hb.allocate(Tree((Level("gpu", 10), Level("node", 1)), (2, 4)))
    assert where.gpus is None
    assert where.has_cores


def test_a_stored_mapping_keeps_gpus(tmp_path):
    path = tmp_path / "m.json"
    for spec in SPECS:
        mapping = mapping_on(spec, [2, 3, 0, 1, 7, 6, 5, 4])
        hb.write(mapping, path, "json")
        again = hb.read(path)
        for pe in range(8):
            assert again.where.gpus_of(pe) == mapping.where.gpus_of(pe)
        assert again.where.has_cores == mapping.where.has_cores


def test_the_script_starts_the_program_unbound_with_its_gpu(tmp_path):
    script = tmp_path / "place.sh"
    written = formats["slurm"].write_mapping(mapping_on("node:2 gpu:4", [6, 1]), {})
    script.write_text(written.files[".place.sh"])
    show = 'echo "$CUDA_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES$ZE_AFFINITY_MASK|$OMP_NUM_THREADS|$*"; '
    show += "grep allowed_list /proc/self/status"
    env = {"PATH": os.environ["PATH"], "SLURM_PROCID": "0"}
    words = ["sh", str(script), "sh", "-c", show, "name", "a b", "$x"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=30)
    first, *rest = done.stdout.splitlines()
    assert first == "2||a b $x"
    allowed = subprocess.run(["grep", "allowed_list", "/proc/self/status"], capture_output=True, text=True)
    assert rest == allowed.stdout.splitlines()


def test_a_real_launch_on_gpus_is_known_by_what_ranks_were_shown():
    where = hb.allocate("node:2 gpu:4", hosts=("n1", "n2"))
    seen = {0: Seen("n2", frozenset({0, 1}), "3"), 1: Seen("n1", frozenset({0, 1}), "0")}
    assert mapping_seen(where, seen).pe.tolist() == [7, 0]
    for shown in ("", "0,1", "GPU-abc", "4"):
        with pytest.raises(FormatError, match=r"rank 1: sees GPUs .*, expected those of one slot"):
            mapping_seen(where, seen | {1: Seen("n1", frozenset({0}), shown)})


def test_a_machine_of_gpus_is_described_as_one():
    text = machine_text(hb.allocate("node:2 gpu:4")).splitlines()
    assert text[1] == "GPUs       8, 4 per node"


def test_ranks_that_were_shown_no_gpu_are_known_by_node():
    where = hb.allocate("node:2 gpu:2", hosts=("n1", "n2"))
    seen = {0: Seen("n2", frozenset({0, 1})), 1: Seen("n1", frozenset({0}), "1"), 2: Seen("n2", frozenset())}
    found = mapping_by_node(where, seen)
    assert found.pe.tolist() == [2, 1, 3]
    assert found.info["notices"][0].startswith("2 of 3 ranks may run on several slots (rank 0 on 2)")
