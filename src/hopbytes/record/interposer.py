"""Libraries that are preloaded before MPI: built with the user's compiler, kept, and handed to every rank."""

from __future__ import annotations

import contextlib
import dataclasses
import grp
import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.formats.mappings.launchers import Launcher
from hopbytes.launch.command import LaunchCommand, Option, compiled, compilers_of
from hopbytes.record.application import Application, family_of, is_own, loaded_by, maker_of, mpi_library
from hopbytes.text.leftovers import name_of_process, remove_left

#: Number of symbolic links on a path from which it is considered to be a cycle.
MOST_LINKS = 40
#: File with the user number that the kernel shows for users that do not exist here, as in a container.
_OVERFLOW = "/proc/sys/kernel/overflowuid"
FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC", "-pthread", "-w", "-Werror=implicit-function-declaration")
COMPONENT = "monitoring"
#: Frameworks of Open MPI with a monitoring component. Ranks crash if coll excludes it while pml includes it.
FRAMEWORKS = ("pml", "coll", "osc")
#: Options by which launchers set variables of ranks, and a setting of LD_PRELOAD in them.
SETTERS = ("x", "genv", "env", "export", "mca", "gmca")
PRELOAD = re.compile(r"(?<![A-Za-z0-9_])LD_PRELOAD=([^,;]*)")
#: Open MPI's parameter with variables for every process: NAME=value, separated by semicolons.
ENV_LIST = "OMPI_MCA_mca_base_env_list"
#: Slurm's variable with the names of the variables that srun exports: ALL, NONE or names.
EXPORT = "SLURM_EXPORT_ENV"


@frozen
class Preloaded:
    """A library to preload: its name, and the files it is made of, of which the first is compiled."""

    name: str
    files: tuple[Path, ...]
    #: writes the file ``calls.h`` from what the preprocessor makes of mpi.h; its source is one of the files
    generated: Callable[[str], str] | None = None


_HERE = Path(__file__).parent
RECORD = Preloaded("record", (_HERE / "interposer.c", *sorted(_HERE.glob("interposer*.h"))))
#: Text whose preprocessed form declares all functions of an MPI library.
_DECLARATIONS = "#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n"


def interposer_for(
    application: Application, command: LaunchCommand, compiler: str | None = None,
    library: Preloaded = RECORD,
) -> Path:
    """Return a library to preload for an application's MPI, built with the given compiler or one found."""
    wanted = f"{application.path} uses {application.library}"
    if not application.library:
        wanted = f"{command.tool} is the launcher of {command.launcher.maker or 'any MPI'}"
    refused = []
    near = [compiler] if compiler else compilers_of(command, application.library, application.family)
    for candidate in near:
        try:
            built = interposer(candidate, library=library)
        except UnsupportedError as error:
            if compiler:
                raise
            refused.append(str(error))
            continue
        theirs = mpi_library(loaded_by(str(built)) or "")
        if _fits(application, command.launcher, theirs, named=bool(compiler)):
            return built
        maker = maker_of(theirs) or "another MPI"
        refused.append(f"{candidate}: its MPI is {maker} ({theirs or 'not found'})")
    if not refused:
        refused = [f"mpicc of {command.launcher.maker or 'the program'}: not found"]
    expected = "expected the compiler of the application's MPI (`compiler='mpicc'`)"
    raise UnsupportedError(f"{'; '.join(refused)}; {wanted}, {expected}")


def _fits(application: Application, launcher: Launcher, library: str, *, named: bool) -> bool:
    """Return whether a compiler's MPI is that of the application or, if this is unknown, of the launcher."""
    # A compiler that the user named may belong to any MPI whose programs the launcher can start.
    if application.library:
        return library == application.library
    family = launcher.family
    return family in ("", family_of(library)) and (named or is_own(launcher, library))


def interposer(compiler: str = "mpicc", folder: Path | None = None, library: Preloaded = RECORD) -> Path:
    """Return the library to preload; build it if it does not exist yet."""
    path = shutil.which(compiler)
    if path is None:
        raise UnsupportedError(
            f"{compiler}: compiler not found, expected the application's MPI compiler (`compiler='mpicc'`)"
        )
    try:
        shown = subprocess.run([path, "-show"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{path}: {type(error).__name__}, expected an MPI compiler") from None
    # The name of the library depends on source, compiler and MPI, so that a change of any leads to a rebuild.
    content = [source.read_bytes() for source in library.files]
    made_of = b"\0".join([*content, os.path.realpath(path).encode(), shown.encode()])
    key = hashlib.sha256(made_of).hexdigest()[:16]
    folder = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hopbytes"
    target = folder / f"{library.name}-{key}.so"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_private(str(folder))
        if is_private_file(str(target)):
            return target
        _build(path, library, target)
    except OSError as error:
        raise UnsupportedError(f"{folder}: cannot build the interposer there: {error}") from None
    return target


def _build(compiler: str, library: Preloaded, target: Path) -> None:
    """Build in a temporary folder and move the library at once, since other processes may build it too."""
    what = "the interposer"
    remove_left(str(target.parent), ".record-")
    with tempfile.TemporaryDirectory(prefix=name_of_process(".record-"), dir=target.parent) as private:
        part = os.path.join(private, target.name)
        if library.generated is not None:
            header = compiled(compiler, "-E", "-P", "-x", "c", "-", what=what, text=_DECLARATIONS)
            Path(private, "calls.h").write_text(library.generated(header))
        compiled(compiler, *FLAGS, f"-I{private}", str(library.files[0]), "-o", part, what=what)
        os.chmod(part, 0o700)
        os.replace(part, target)


def check_private(folder: str) -> None:
    """Refuse a folder in which another user could create or replace a library that will be preloaded."""
    # The folder must belong to the user, and others must not be able to write to it. The same holds for every
    # folder on the path, symbolic links included, where the owner may also be root. A folder with sticky bit
    # may be writable by others, since they cannot rename the files of other users in it.
    def refuse(path: str, what: str, remedy: str = "") -> None:
        where = f"expected a private folder ({remedy}XDG_CACHE_HOME=FOLDER)"
        raise UnsupportedError(f"{path}: {what}, and the interposer runs with your rights: {where}")

    def check(path: str, about: os.stat_result, trusted: set[int], sticky: int) -> None:
        if about.st_uid not in trusted:
            refuse(path, f"belongs to user {about.st_uid}")
        if stat.S_ISDIR(about.st_mode) and _others_write(about) and not about.st_mode & sticky:
            refuse(path, "others can write there", f"chmod go-w {path}, or ")

    for path in steps(os.path.abspath(folder)):
        check(path, os.lstat(path), {0, os.geteuid(), _unknown_user()}, stat.S_ISVTX)
    check(folder, os.stat(folder), {os.geteuid()}, 0)


def is_private_file(path: str) -> bool:
    """Return whether a regular file exists that belongs to the user and that others cannot write."""
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not _others_write(about)


def steps(path: str) -> Iterator[str]:
    """Yield all folders and symbolic links on an absolute path, the path itself last."""
    left, here, links = [part for part in path.split("/") if part], "/", 0
    yield here
    while left:
        part = left.pop(0)
        if part in (".", ".."):
            here = os.path.dirname(here) if part == ".." else here
            continue
        here = os.path.join(here, part)
        yield here
        if os.path.islink(here):
            links += 1
            if links > MOST_LINKS:
                raise UnsupportedError(f"{path}: symbolic links form a cycle, expected a folder")
            target = os.readlink(here)
            here = "/" if target.startswith("/") else os.path.dirname(here)
            left = [part for part in target.split("/") if part] + left


def _others_write(about: os.stat_result) -> bool:
    if about.st_mode & stat.S_IWOTH:
        return True
    return bool(about.st_mode & stat.S_IWGRP) and not _is_group_of_one(about.st_gid)


def _is_group_of_one(number: int) -> bool:
    """Return whether this user is the only member of a group; many systems have such a group per user."""
    if number == 0:
        return True
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _unknown_user() -> int:
    try:
        with open(_OVERFLOW, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def monitoring(folder: str, command: LaunchCommand) -> dict[str, str]:
    """Return the environment that enables Open MPI's monitoring."""
    # Value 2 counts the messages of collectives separately, and output 3 writes to a file. If the user's
    # environment or configuration files list the components to choose from, monitoring is added to the list.
    typed = _typed(command)
    named = _set(command).items()
    chosen = {name: value for name, value in named if name not in typed and _leaves_out(value)}
    return {
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": os.path.join(folder, "rank"),
        **{f"OMPI_MCA_{name}": f"{value},{COMPONENT}" for name, value in chosen.items()},
    }


def keeps_monitoring_out(command: LaunchCommand) -> str:
    """Return the option that excludes Open MPI's monitoring, which no environment overrides; else ""."""
    words = (f"--mca {name} {value}" for name, value in _typed(command).items() if _leaves_out(value))
    return next(words, "")


def _typed(command: LaunchCommand) -> dict[str, str]:
    """Return the components named on the command line, by framework."""
    options = (option for part in command.parts for option in part.options)
    words = (option.words for option in options if option.name in ("mca", "gmca"))
    return {option[1]: option[2] for option in words if len(option) > 2 and option[1] in FRAMEWORKS}


def _leaves_out(chosen: str) -> bool:
    """Return whether a list of components excludes monitoring; a list of exclusions begins with ``^``."""
    return bool(chosen) and not chosen.startswith("^") and COMPONENT not in chosen.split(",")


def _set(command: LaunchCommand) -> dict[str, str]:
    """Return the components that environment or configuration files name, as ``ompi_info`` reports them."""
    folder = os.path.dirname(shutil.which(command.tool) or "")
    words = [os.path.join(folder, "ompi_info"), "--parsable", "--all", "--level", "9"]
    output = ""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        output = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL
        ).stdout
    lines = r"^mca:(pml|coll|osc):base:param:\1:value:(.*)$"
    named = {name: os.environ.get(f"OMPI_MCA_{name}", "") for name in FRAMEWORKS}
    return named | {name: value.strip() for name, value in re.findall(lines, output, re.MULTILINE)}


def preloaded(library: str) -> str:
    """Return LD_PRELOAD with a library before those that it names."""
    before = os.environ.get("LD_PRELOAD", "")
    return f"{library}:{before}" if before else library


def preloading(
    library: str, folder: str, skip_first: float, trace_steps: int = 0, kept_steps: int = 0
) -> dict[str, str]:
    """Return the environment that preloads the interposer."""
    # It keeps the order of `trace_steps` steps of each rank, or of `kept_steps` of all ranks together.
    return {
        "LD_PRELOAD": preloaded(library),
        "HOPBYTES_RECORD_FOLDER": folder,
        **({"HOPBYTES_RECORD_SKIP": str(skip_first)} if skip_first > 0 else {}),
        **({"HOPBYTES_RECORD_ORDER": str(trace_steps)} if trace_steps else {}),
        **({"HOPBYTES_RECORD_KEPT": str(kept_steps)} if kept_steps else {}),
    }


def with_preloaded(command: LaunchCommand, library: str) -> LaunchCommand:
    """Return a command whose own settings of LD_PRELOAD name the interposer, too, before their libraries."""
    # They are in options (``-x``, ``-genv``, ``--env``, ``--export``, ``--mca``), in assignments of ``env``
    # before the launcher or the program, and in those of mpirun_rsh.
    def joined(word: str) -> str:
        return PRELOAD.sub(lambda found: f"LD_PRELOAD={library}{':' * bool(found[1])}{found[1]}", word)

    def of_option(option: Option) -> Option:
        if option.name not in (*SETTERS, "LD_PRELOAD"):
            return option
        words = [joined(word) for word in option.words]
        if "LD_PRELOAD" in words:  # -genv NAME VALUE; -x NAME takes the value of the environment
            at = words.index("LD_PRELOAD")
            given = words[at + 1 :] or [os.environ.get("LD_PRELOAD", "")]
            value = f"{library}:{given[0]}" if given[0] else library
            words[at:] = ["LD_PRELOAD", value] if words[at + 1 :] else [f"LD_PRELOAD={value}"]
        return Option(option.name, tuple(words))

    def of_program(words: tuple[str, ...]) -> tuple[str, ...]:
        if not words or os.path.basename(words[0]) != "env":
            return words
        end = next((i for i, word in enumerate(words) if i and "=" not in word), len(words))
        return (*map(joined, words[:end]), *words[end:])

    return dataclasses.replace(
        command,
        start=of_program(command.start),
        options=tuple(map(of_option, command.options)),
        program=of_program(command.program),
        others=tuple(with_preloaded(part, library) for part in command.others),
    )


def handed_on(command: LaunchCommand, settings: dict[str, str]) -> dict[str, str]:
    """Return the environment of the launcher that passes `settings` to every rank."""
    # Hydra, PALS and Flux export all variables, and so does Slurm unless a job was submitted with
    # ``--export``. Open MPI's mpirun exports only its own parameters to other nodes; one of them names
    # further variables. Version 4 does not accept this parameter together with ``-x``: the variables are then
    # set on this node only, unless the user's ``-x`` names them.
    if settings and command.launcher.form in ("slurm", "mvapich"):
        for part in command.parts:
            _check_export(part)
    if settings and command.launcher.form == "slurm":
        exported = os.environ.get(EXPORT, "ALL").split(",")
        named = [name for name in exported if name != "NONE"]
        return settings if "ALL" in exported else {**settings, EXPORT: ",".join([*named, *settings])}
    if not settings or command.launcher.form != "openmpi":
        return settings
    exports = any(option.name == "x" for part in command.parts for option in part.options)
    if exports and command.launcher.version.startswith("4"):
        return settings
    listed = {word.partition("=")[0]: word for word in os.environ.get(ENV_LIST, "").split(";") if word}
    for name, value in settings.items():
        before = listed.get(name, "").partition("=")[2] if name == "LD_PRELOAD" else ""
        listed[name] = f"{name}={value}:{before}" if before else f"{name}={value}"
    return {ENV_LIST: ";".join(listed.values())}


def _check_export(command: LaunchCommand) -> None:
    """Refuse options by which ranks do not get the variables, since no environment overrides them."""
    typed = {option.name: option for option in command.options}
    if command.launcher.form == "mvapich" and not typed.keys() & {"export", "export-all"}:
        raise UnsupportedError(f"{command.tool}: exports no variables, expected the option -export-all")
    export = typed.get("export")
    if command.launcher.form == "slurm" and export is not None and "ALL" not in export.value.split(","):
        what = "the ranks do not get the variables of the recording, expected ALL in --export"
        raise UnsupportedError(f"{' '.join(export.words)}: {what}")
