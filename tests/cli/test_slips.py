"""Natural slips on the command line are answered with what was probably meant."""

import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES

EXAMPLE = EXAMPLES / "lammps_lj_64.csv"
ON = ("--on", "node:8@10 core:8@1")


def said(done):
    """What an error says, without the frame around it and its line ends."""
    return " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("alias", "name"),
    [("rankfile", "openmpi"), ("ompi", "openmpi"), ("srun", "slurm"), ("mpich", "hydra"), ("impi", "intel")],
)
def test_formats_go_by_the_names_people_use(hopbytes, tmp_path, alias, name):
    for form in (alias, name):
        done = hopbytes("map", EXAMPLE, *ON, "-o", form, "--format", form, "--for", form)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / alias).read_text() == (tmp_path / name).read_text()
    lines = hopbytes("show", "formats").stdout.splitlines()
    assert not any(line.startswith(f"{alias} ") for line in lines)


def test_an_unknown_format_is_compared_with_those_that_fit(hopbytes):
    message = hopbytes("map", EXAMPLE, *ON, "-o", "x", "--format", "rankfil").stderr
    assert "unknown format 'rankfil'" in message
    assert "openmpi" in message
    assert "metis" not in message
    message = hopbytes("write", EXAMPLE, "-o", "x", "--format", "metiss").stderr
    assert "did you mean 'metis'?" in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("map", EXAMPLE, "--machine", "node:8 core:8"), "--machine; did you mean --on?"),
        (("map", EXAMPLE, *ON, "--hostfile", "h"), "--hostfile; did you mean --hosts?"),
        (("map", EXAMPLE, *ON, "--epsilon", "0.03"), "--epsilon; did you mean --imbalance?"),
        (
            ("map", EXAMPLE, "--on", "node:6@10", "package:2@3", "core:6@1"),
            'quote the machine: --on "node:6@10 package:2@3 core:6@1"',
        ),
        (("map", "--on", "node:8", "core:8", EXAMPLE), 'quote the machine: --on "node:8 core:8"'),
        (("map", EXAMPLE, "--on=node:8", "core:8"), 'quote the machine: --on "node:8 core:8"'),
        (
            ("eval", EXAMPLE, "--on", "node:8", "core:8", "--order", "block"),
            'quote the machine: --on "node:8 core:8"',
        ),
        (("map", EXAMPLE, "node:8@10 core:8@1"), 'the machine is given by --on: --on "node:8@10 core:8@1"'),
        (("map", "node:8 core:8", "--on", EXAMPLE), "the machine is given by --on, the pattern comes first:"),
        (("map", "node:8 core:8", EXAMPLE), 'the machine is given by --on: --on "node:8 core:8"'),
        (
            ("run", "--pattern", EXAMPLE, "mpirun", "-n", "64", "./app"),
            "put -- before the launcher: … -- mpirun -n 64 ./app",
        ),
        (("record", "-o", "x", "srun", "-n", "2", "./a"), "put -- before the launcher: … -- srun -n 2 ./a"),
        (("report", EXAMPLE, "--json"), "--json; 'hopbytes eval … --json'"),
        (("probe", "--json"), "--json; the file that -o names is JSON"),
        (("run", "--json", "--", "mpirun", "./a"), "--json; 'hopbytes map … --json'"),
        (("map", EXAMPLE, *ON, "--dry-run"), "--dry-run; without -o no file is written"),
        (("map", EXAMPLE, *ON, "-v"), "-v; all messages are shown"),
        (("eval", EXAMPLE, *ON, "--verbose"), "--verbose; all messages are shown"),
        (("verify", "m.json", "bin/mpiexec", "-np", "2"), "put -- before the launcher: … -- bin/mpiexec"),
    ],
)  # fmt: skip
def test_usage_errors_name_what_was_meant(hopbytes, arguments, words):
    done = hopbytes(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in said(done)


def test_what_is_no_slip_goes_on(hopbytes):
    for arguments in (("map", "--on", "core:8", "stencil:8"), ("map", "stencil:8", "--on=core:8"),
                      ("map", "--on", "node:2 core:4", "transpose:2x4")):  # fmt: skip
        done = hopbytes(*arguments)
        assert done.returncode == 0, done.stderr
    assert "did you mean" not in said(hopbytes("map", EXAMPLE, *ON, "--frobnicate"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("eval", "m.json", EXAMPLE),
            "m.json: a stored mapping, expected a pattern: the order is PATTERN MAPPING",
        ),
        (("eval", "m.txt", EXAMPLE, *ON), "m.txt: a mapping (plain), expected a pattern: the order is"),
        (
            ("map", "mlp:tp=8", *ON),
            "mlp:tp=8: no such file, and no pattern generator 'mlp' (did you mean ml?)",
        ),
        (("map", "qqqq:3", *ON), "no pattern generator 'qqqq' (known: alltoall, butterfly,"),
        (("map", "ml:fsdp=64", *ON), "fsdp= is unknown, expected zero=3"),
        (
            ("map", "ml:tp=8,pp=4", "--on", "rails:4x8"),
            "256 processes = 8 x 4 x 8 (tp x pp x dp; dp=8 by default), but the machine has 32",
        ),
        (("map", "ml:tp=8", "--on", "dgx:4"), "dgx' is no machine kind, expected rails:4x8"),
        (("map", EXAMPLE, "--on", "hgx"), "expected rails:HOSTSx8"),
        (("map", EXAMPLE, *ON, "-o", "x", "--format", "pytorch"), "no format, expected torchrun"),
        (("map", EXAMPLE, *ON, "-o", "x", "--format", "DeepSpeed"), "no format, expected hosts"),
        (("map", EXAMPLE, *ON, "-o", "x", "--format", "megatron"), "no format, expected mesh"),
        (("map", "ml:layer=8", *ON), "option 'layer=8' is unknown (did you mean layers=8?)"),
        (
            ("run", "--pattern", EXAMPLE, "--", "sbatch", "job.sh"),
            "sbatch submits a job and starts no ranks: call hopbytes inside the job script, in front of srun",
        ),
        (("record", "-o", "x.pattern", "--", "qsub", "job.sh"), "qsub submits a job and starts no ranks"),
        (("run", "--pattern", EXAMPLE, "--", "true"), "such as mpirun -n 16"),
        (("map", "tri.txt", *ON), "could be any of: dense, edges (name it with --input-format)"),
    ],
)
def test_errors_name_what_was_meant(hopbytes, tmp_path, arguments, words):
    mapping = hb.map_tasks(hb.read(EXAMPLE), hb.machine(ON[1]), mapper="identity")
    for name in ("m.json", "m.txt"):
        hb.write(mapping, tmp_path / name)
    (tmp_path / "tri.txt").write_text("0 1 5\n1 2 5\n2 0 5\n")
    done = hopbytes(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr


def test_defaults_of_sizes_are_said(hopbytes):
    """Groups that were not asked for are as much of the number of tasks as the others."""
    done = hopbytes("map", "ml:tp=8,pp=4", "--on", "rails:32x8")
    assert "256 tasks = 8 x 4 x 8 (tp x pp x dp; dp=8 by default)" in done.stderr
    for pattern in ("ml:tp=8,pp=4,dp=8", "ml:"):  # all were named, or none
        assert "by default" not in hopbytes("map", pattern, "--on", "rails:32x8").stderr
