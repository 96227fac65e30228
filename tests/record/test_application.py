"""Programs that only look like binaries, a stand-in for ldd, and launchers that only say who they are."""

import os

import pytest

from helpers.errors import mentions, refused
from helpers.paths import executable
from hopbytes.errors import UnsupportedError
from hopbytes.launch.command import LaunchCommand
from hopbytes.record import interposer
from hopbytes.record.application import (
    Application,
    application_of,
    check_belongs,
    explain_lone_processes,
    family_of,
    is_own,
    maker_of,
    mpi_library,
)
from hopbytes.record.interposer import (
    check_private,
    handed_on,
    interposer_for,
    keeps_monitoring_out,
    monitoring,
    preloading,
)

SAYS = {
    "mpirun": "mpirun (Open MPI) 5.0.3", "mpirun4": "mpirun (Open MPI) 4.1.4", "mpiexec": "HYDRA build",
    "mpiexec.intel": "Intel(R) MPI Library", "mpiexec.pals": "PALS version 1.2", "srun": "slurm",
    "mpirun_rsh": "rsh",
}  # fmt: skip
OPEN = "\tlibmpi_mpifh.so.40 => {0}/libmpi_mpifh.so.40 (0x1)\n\tlibmpi.so.40 => {0}/libmpi.so.40 (0x2)\n"
MPICH = "\tlibmpi.so.12 => {0}/libmpi.so.12 (0x2)\n"
OWN = "\tlibown.so => {0}/libown.so (0x3)\n\tlinux-vdso.so.1 (0x4)\n\tlibc.so.6 => {0}/libc.so.6 (0x5)\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with launchers, an ldd that prints FILE.libs, and libraries."""
    (tmp_path / "bin").mkdir()
    for name, text in SAYS.items():
        executable(tmp_path / "bin" / name, f"#!/bin/sh\necho '{text}'\n")
    executable(
        tmp_path / "bin" / "ldd",
        '#!/bin/sh\ncat "$1.libs" 2>/dev/null || echo not a dynamic executable >&2\n',
    )
    for name, content in {
        "libmpi.so.40": b"MPI_Pcontrol",
        "libmpi_mpifh.so.40": b"",
        "libmpi.so.12": b"xx MPICH Version: 4",
        "libown.so": b"..MPI_Ineighbor_alltoall..PMPI_Send_init",
        "libc.so.6": b"mpi_comm_spawn",
        "libintel.so.12": b"Intel(R) MPI Library .. MPICH Version",
        "libmv.so.12": b"MVAPICH2 Version MPICH Version",
        "libcray.so.12": b"CRAY MPICH version 8 (ANL base MPICH Version)",
    }.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    for name in ("LD_PRELOAD", interposer.ENV_LIST, interposer.EXPORT, "OMPI_MCA_pml", "OMPI_MCA_coll"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def binary(name, libraries=None, content=b""):
    """Write what begins as a binary, and the libraries that ldd will name."""
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(b"\x7fELF" + content)
    os.chmod(name, 0o755)
    if libraries is not None:
        with open(f"{name}.libs", "w") as file:
            file.write(libraries.format(os.getcwd()))


def parsed(*words, **options):
    return LaunchCommand.parse([word for part in words for word in part.split()], **options)


def test_a_program_tells_its_mpi_and_what_it_calls(here):
    binary("app", OPEN + OWN, b"..MPI_Comm_spawn_multiple..")
    found = application_of(parsed("mpirun -n 2 ./app"))
    assert (found.path, found.family, found.linked, found.is_binary) == ("./app", "openmpi", True, True)
    assert found.library == f"{here}/libmpi.so.40"
    assert found.unfit == ("neighbourhood collectives", "spawned ranks")
    assert (found.persistent, found.has_mpi_inside) == (True, False)
    binary("there/plain", MPICH)
    plain = application_of(parsed("mpiexec -wdir there -n 2 ./plain"))
    assert (plain.path, plain.family, plain.unfit, plain.persistent) == ("there/./plain", "mpich", (), False)
    binary("odd", "\tlibmpi_odd.so => /opt/libmpi_odd.so (0x1)\n")
    assert application_of(parsed("srun ./odd")).family == "other"
    binary("none", OWN, b"PMPI_Init")
    alone = application_of(parsed("mpirun ./none"))
    assert (alone.family, alone.linked, alone.has_mpi_inside, alone.library) == ("openmpi", False, True, "")
    assert application_of(parsed("srun ./none")).family == "other"
    executable(here / "script", "#!/bin/sh\n")
    script = application_of(parsed("mpiexec ./script"))
    assert (script.family, script.linked, script.is_binary) == ("mpich", False, False)
    binary("static")
    for words, text in (("mpirun ./static", "linked statically"), ("mpirun ./nowhere", "not found"),
                        ("mpirun -n 2", "no program")):  # fmt: skip
        with refused(UnsupportedError, text):
            application_of(parsed(words))


@pytest.mark.parametrize(("name", "family", "maker"), [
    ("libmpi.so.40", "openmpi", "Open MPI"), ("libmpi.so.12", "mpich", "MPICH"),
    ("libintel.so.12", "", "Intel MPI"), ("libmv.so.12", "", "MVAPICH"), ("libcray.so.12", "", "Cray MPICH"),
    ("libmpich.so", "mpich", ""), ("libmpi_abi.so.0", "mpich", ""), ("libmpix.so", "other", ""),
    ("libc.so.6", "", ""),
])  # fmt: skip
def test_libraries_belong_to_families_and_makers(here, name, family, maker):
    assert family_of(name) == family
    assert maker_of(str(here / name)) == maker


def test_launchers_belong_to_makers(here):
    makers = {
        "mpirun": "Open MPI", "mpiexec": "MPICH", "mpiexec.intel": "Intel MPI", "mpirun_rsh": "MVAPICH",
        "srun": "",
    }  # fmt: skip
    for name, maker in makers.items():
        launcher = parsed(f"{name} ./app").launcher
        assert launcher.maker == maker
        assert is_own(launcher, str(here / "libmpi.so.12")) == (maker in ("MPICH", ""))
    assert mpi_library("\tlibmpi.so.12 => not found\n") == os.path.realpath("not")
    assert mpi_library("\tlibmpifort.so.12 => /x/libmpifort.so.12 (0x1)\n") == ""


def test_a_launcher_of_another_mpi_is_refused_unless_it_starts_any(here):
    mpich = Application("./ring", "mpich", True, str(here / "libmpi.so.12"))
    said = mentions("./ring", "MPICH", "mpirun", "Open MPI", "mpiexec")
    with pytest.raises(UnsupportedError, match=said):
        check_belongs(parsed("mpirun -n 2 ./ring"), mpich)
    (here / "libmpi.so.12.libs").write_text("libpmix.so.2 => /x\n")
    check_belongs(parsed("mpirun -n 2 ./ring"), mpich)
    ours = Application("./ring", "openmpi", True, str(here / "libmpi.so.40"))
    with pytest.raises(UnsupportedError, match=mentions("Open MPI", "MPICH", "mpirun")):
        check_belongs(parsed("mpiexec ./ring"), ours)
    for words, fine in (("mpirun ./ring", ours), ("srun ./ring", mpich), ("mpiexec ./ring", mpich),
                        ("mpiexec ./ring", Application("./ring", "openmpi", False)),
                        ("mpiexec ./ring", Application("./ring", "other", True))):  # fmt: skip
        check_belongs(parsed(words), fine)


@pytest.mark.parametrize(("words", "others", "n", "mpi", "facts"), [
    ("mpiexec -n 4 ./a", 3, 1, "MPICH 4,x", ("4", "./a", "MPICH 4", "expected a launcher that its")),
    ("mpiexec -n 4 ./a", 0, 1, "Open MPI v5, x", ("4", "Open MPI v5", "MPICH", "such as mpirun")),
    ("mpirun ./a", 2, 1, "MPICH", ("3", "Open MPI", "such as mpiexec")),
    ("srun ./a", 1, 1, "", ("2", "another MPI", "--mpi=TYPE")), ("srun -n 1 ./a", 0, 1, "", ()),
    ("mpirun -n 4 ./a", 0, 4, "", ()), ("mpiexec.pals ./a", 1, 1, "x", ("2", "x", "supports")),
])  # fmt: skip
def test_processes_that_were_alone_are_explained(here, words, others, n, mpi, facts):
    for number in range(others):
        (here / "bin" / f"again.{number}").write_text("")
    said = explain_lone_processes(str(here / "bin"), parsed(words), n, mpi)
    assert bool(said) == bool(facts)
    assert all(fact in said for fact in facts)


def test_a_group_of_one_may_write(tmp_path, monkeypatch):
    """Many systems have a group per user, of the same name and without other members."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    folder.chmod(0o770)
    user = type("User", (), {"pw_gid": 4321, "pw_name": "me"})()
    about = os.stat_result((0o040770, 0, 0, 1, os.geteuid(), 4321, 0, 0, 0, 0))
    monkeypatch.setattr(
        interposer.os, "stat", lambda path, **_: about if str(path) == str(folder) else os.lstat(path)
    )
    monkeypatch.setattr(interposer.pwd, "getpwuid", lambda number: user)
    cases = (("me", [], True), ("me", ["me"], True), ("me", ["me", "you"], False), ("us", [], False))
    for name, members, fine in cases:
        group = type("Group", (), {"gr_name": name, "gr_mem": members})()
        monkeypatch.setattr(interposer.grp, "getgrgid", lambda number, group=group: group)
        assert interposer._others_write(about) != fine
    check_private(str(tmp_path))


def test_several_programs_have_one_mpi_and_the_calls_of_all(here):
    binary("a", OPEN, b"MPI_Pcontrol")
    binary("b", OPEN + OWN)
    binary("c", MPICH)
    both = application_of(parsed("mpirun -n 1 ./a : -n 1 ./b", several=True))
    assert (both.unfit, both.persistent) == (("MPI_Pcontrol", "neighbourhood collectives"), True)
    with pytest.raises(UnsupportedError, match=mentions("./a", "./c", f"{here}/libmpi.so.12")):
        application_of(parsed("mpirun -n 1 ./a : -n 1 ./c", several=True))


def test_components_that_are_chosen_get_the_one_that_counts(here, monkeypatch):
    """By the environment, or by files, of which ompi_info tells; not those that were typed."""
    plain = monitoring("/f", parsed("mpirun ./a"))
    assert plain == {"OMPI_MCA_pml_monitoring_enable": "2", "OMPI_MCA_pml_monitoring_enable_output": "3",
                     "OMPI_MCA_pml_monitoring_filename": "/f/rank"}  # fmt: skip
    monkeypatch.setenv("OMPI_MCA_pml", "ob1")
    monkeypatch.setenv("OMPI_MCA_coll", "^hcoll")
    executable(here / "bin" / "ompi_info", "#!/bin/sh\necho mca:osc:base:param:osc:value:sm,monitoring\n"
               "echo mca:coll:base:param:coll:value:basic\n"
               "echo mca:btl:base:param:btl:value:self\n")  # fmt: skip
    chosen = {"OMPI_MCA_pml": "ob1,monitoring", "OMPI_MCA_coll": "basic,monitoring"}
    assert monitoring("/f", parsed("mpirun ./a")) == plain | chosen
    typed = parsed("mpirun --mca pml ob1 ./a")
    assert monitoring("/f", typed) == plain | {"OMPI_MCA_coll": "basic,monitoring"}
    assert keeps_monitoring_out(typed) == "--mca pml ob1"
    for words in ("--mca pml ^ob1", "--mca pml ob1,monitoring", "--mca btl self", "--mca pml"):
        typed = f"mpirun {words} ./a".replace("pml ./a", "pml x,monitoring ./a")
        assert keeps_monitoring_out(parsed(typed)) == ""


def test_the_environment_of_the_interposer(monkeypatch):
    both = {"LD_PRELOAD": "/i.so", "HOPBYTES_RECORD_FOLDER": "/f"}
    assert preloading("/i.so", "/f", 0.0) == both
    more = {"HOPBYTES_RECORD_SKIP": "0.5", "HOPBYTES_RECORD_ORDER": "7", "HOPBYTES_RECORD_KEPT": "9"}
    assert preloading("/i.so", "/f", 0.5, 7, 9) == both | more
    monkeypatch.setenv("LD_PRELOAD", "/env.so")
    assert preloading("/i.so", "/f", 0.0)["LD_PRELOAD"] == "/i.so:/env.so"
    two = {"A": "1", "B": "2"}
    assert handed_on(parsed("mpirun ./a"), two) == {interposer.ENV_LIST: "A=1;B=2"}
    assert handed_on(parsed("mpirun4 ./a"), two) == handed_on(parsed("mpirun -x C ./a"), two)
    assert handed_on(parsed("mpirun4 -x C ./a"), two) == handed_on(parsed("mpiexec ./a"), two) == two
    assert handed_on(parsed("mpirun ./a"), {}) == {}
    monkeypatch.setenv(interposer.ENV_LIST, "C=3")
    assert handed_on(parsed("mpirun ./a"), two) == {interposer.ENV_LIST: "C=3;A=1;B=2"}


def test_the_interposer_is_built_by_the_compiler_of_the_programs_mpi(here, monkeypatch):
    """Compilers beside the launcher are tried in turn; what they build is loaded with their own MPI."""
    for name, library in (("mpicc", MPICH), ("mpicc.openmpi", OPEN)):
        libs = library.format(here).replace("\t", "").replace("\n", "\\n")
        executable(here / "bin" / name, f'#!/bin/sh\n[ "$1" = -show ] && exec echo {name}\n'
                   f'for last; do :; done; echo made > "$last"\n'
                   f'printf "{libs}" > {here}/built-{name}\n')  # fmt: skip
    made, build = [], interposer.interposer
    monkeypatch.setattr(
        interposer, "loaded_by", lambda path: (OPEN if "openmpi" in made[-1] else MPICH).format(here)
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    here.chmod(0o700)
    monkeypatch.setattr(
        interposer, "interposer",
        lambda candidate, library: made.append(candidate) or build(candidate, library=library),
    )  # fmt: skip
    command = parsed("mpirun -n 2 ./app")
    ours = Application("./app", "openmpi", True, f"{here}/libmpi.so.40")
    assert interposer_for(ours, command).parent == here / "cache" / "hopbytes"
    assert [os.path.basename(path) for path in made] == ["mpicc", "mpicc.openmpi"]
    with pytest.raises(UnsupportedError, match=mentions("its MPI is MPICH", f"{here}/libmpi.so.40")):
        interposer_for(ours, command, str(here / "bin" / "mpicc"))
    script = Application("./app", "openmpi", False)
    assert interposer_for(script, command)
    with pytest.raises(UnsupportedError, match=mentions("mpirun is the launcher of Open MPI")):
        interposer_for(script, command, str(here / "bin" / "mpicc"))
    intel = parsed("mpiexec.intel ./app")
    assert interposer_for(script, intel, str(here / "bin" / "mpicc"))  # named, same family
    with pytest.raises(UnsupportedError, match=mentions("is the launcher of Intel MPI")):
        interposer_for(script, intel)
