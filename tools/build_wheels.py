"""Make wheels for Linux without containers: ``python tools/build_wheels.py --out dist``.

The compiler is Zig's clang, which PyPI's package ``ziglang`` brings together with the headers of
every C library that it can link against. So one computer makes wheels for an old glibc (a manylinux
tag) and for another processor (``--arch aarch64``: an extension module is not linked against
libpython, so the headers of the Python that runs this suffice). The wheel is abi3 from Python 3.12
on; an older Python makes a wheel for its own version. What auditwheel finds in the wheel is
compared with the tag that was asked for. Needs ``pip install --group release .``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
ARCHITECTURES = ("x86_64", "aarch64")
#: Where Zig's name of a tool is also what CMake calls it.
TOOLS = {"CXX": "c++", "CC": "cc", "AR": "ar", "RANLIB": "ranlib"}


def write_tools(folder: Path, architecture: str, glibc: str) -> dict[str, Path]:
    """Write a script per tool, since CMake expects a program where Zig is called with a subcommand."""
    (place,) = importlib.import_module("ziglang").__path__
    paths = {}
    for name, verb in TOOLS.items():
        command = [f"{place}/zig", verb]
        if name in ("CXX", "CC"):
            command += ["-target", f"{architecture}-linux-gnu.{glibc}"]
        paths[name] = folder / name.lower()
        paths[name].write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        paths[name].chmod(0o755)
    return paths


def build(architecture: str, glibc: str, folder: Path) -> Path:
    """Build an unrepaired wheel into `folder` and return its path."""
    tools = write_tools(folder, architecture, glibc)
    environment = {
        **os.environ,
        "CC": str(tools["CC"]),
        "CXX": str(tools["CXX"]),
        # Compiled libraries of Zig are kept with the rest, so that the home directory stays as it is.
        "ZIG_GLOBAL_CACHE_DIR": os.environ.get("ZIG_GLOBAL_CACHE_DIR", str(ROOT / "build" / "zig")),
        # What sysconfig says of the target; the tag of the wheel and the name of the module follow from it.
        "_PYTHON_HOST_PLATFORM": f"linux-{architecture}",
    }
    if sys.version_info < (3, 12):
        version = f"{sys.version_info.major}{sys.version_info.minor}"
        environment["SETUPTOOLS_EXT_SUFFIX"] = f".cpython-{version}-{architecture}-linux-gnu.so"
    target = f"{architecture}-glibc{glibc}-{sys.implementation.cache_tag}"
    defines = {
        "CMAKE_AR": tools["AR"],
        "CMAKE_RANLIB": tools["RANLIB"],
        # The strip of this computer may not know the other processor; the linker drops the symbols instead.
        "CMAKE_STRIP": "true",
        "CMAKE_MODULE_LINKER_FLAGS": "-s",
    }
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder)]
    command += ["-C", f"build-dir=build/zig-{target}"]
    for name, value in defines.items():
        command += ["-C", f"cmake.define.{name}={value}"]
    subprocess.run([*command, str(ROOT)], check=True, env=environment)
    (wheel,) = folder.glob("hopbytes-*.whl")
    return wheel


def repair(wheel: Path, architecture: str, glibc: str, out: Path) -> Path:
    """Give a wheel its manylinux tag and return the path of the result.

    auditwheel reads the versions of the symbols that the module needs and chooses the oldest tag that they
    allow; naming a tag is possible for the processor of this computer only. A tag that asks for a newer
    glibc than `glibc` is an error. Nothing is copied into the wheel: Zig links its C++ library statically.
    """
    auditwheel = [sys.executable, "-m", "auditwheel"]
    with tempfile.TemporaryDirectory(prefix="hopbytes-repaired-") as folder:
        subprocess.run([*auditwheel, "repair", "--wheel-dir", folder, str(wheel)], check=True)
        (repaired,) = Path(folder).glob("*.whl")
        check_tag(repaired.name, architecture, glibc)
        out.mkdir(parents=True, exist_ok=True)
        made = Path(shutil.move(repaired, out / repaired.name))
    subprocess.run([*auditwheel, "show", str(made)], check=True)
    return made


def check_tag(name: str, architecture: str, glibc: str) -> None:
    """Raise SystemExit unless a wheel's name has a tag for `architecture` and `glibc` or an older one."""
    found = re.findall(rf"manylinux_(\d+)_(\d+)_{architecture}\b", name)
    asked = tuple(int(part) for part in glibc.split("."))
    if not any((int(major), int(minor)) <= asked for major, minor in found):
        expected = f"a tag for {architecture} and glibc {glibc} or older"
        raise SystemExit(f"build_wheels: {name}: expected {expected}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make and repair the wheels that were asked for; return an exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="folder of the wheels (default: dist)"
    )
    parser.add_argument(
        "--arch", action="append", choices=ARCHITECTURES, help="repeatable, x86_64 unless given"
    )
    parser.add_argument("--glibc", default="2.17", help="oldest glibc (default: 2.17)")
    options = parser.parse_args(arguments)
    missing = [name for name in ("ziglang", "auditwheel") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"build_wheels: missing {' '.join(missing)}: pip install --group release", file=sys.stderr)
        return 2
    for architecture in options.arch or ["x86_64"]:
        with tempfile.TemporaryDirectory(prefix="hopbytes-wheel-") as folder:
            wheel = build(architecture, options.glibc, Path(folder))
            made = repair(wheel, architecture, options.glibc, options.out)
        print(f"{made}: {made.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
