"""Writes the C functions that give MPI_COMM_WORLD another order, for all functions that an mpi.h declares."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hopbytes.errors import UnsupportedError

#: Functions that get the handle MPI_COMM_WORLD itself: its Fortran number, and launchers' ranks.
UNCHANGED = ("Comm_c2f", "Comm_toint", "Abort")
#: Functions that ``order.c`` implements by a function ``special_NAME``, to which the next one is given.
SPECIAL = (
    "Init", "Init_thread", "Session_init", "Group_from_session_pset", "Comm_get_attr", "Attr_get",
    "Comm_set_errhandler", "Errhandler_set", "Cart_create", "Graph_create", "Dist_graph_create",
    "Dist_graph_create_adjacent",
)  # fmt: skip
#: Functions that MPI-3 removed from headers; libraries have kept them for programs that were compiled before.
REMOVED = """
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler);
"""
#: Fortran functions about attributes, which do not call those of C: how many arguments each has, and which
#: tells whether an attribute was found (0: none). All are pointers, and the communicator is the first.
FORTRAN = {
    "comm_get_attr": (5, 4), "attr_get": (5, 4), "comm_set_attr": (4, 0), "attr_put": (4, 0),
    "comm_delete_attr": (3, 0), "attr_delete": (3, 0),
}  # fmt: skip
#: Names under which compilers and bindings call a Fortran function.
FORTRAN_NAMES = ("mpi_{}_", "pmpi_{}_", "mpi_{}__", "pmpi_{}__", "ompi_{}_f", "mpi_{}_f08_", "pmpi_{}_f08_")
_NAME = re.compile(r"\b(MPIX?_(\w+))\s*\(")
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_WORDS = re.compile(r"[\w\s*]+")


def wrappers(header: str) -> str:
    """Return C text with a wrapper for each function of a preprocessed ``mpi.h`` that needs one."""
    functions = dict(_functions(header))
    if not {"MPI_Send", "MPI_Comm_split", "MPI_Init"} <= functions.keys():
        raise UnsupportedError("mpi.h: no functions are recognised, expected declarations such as MPI_Send")
    removed = {name: found for name, found in _functions(REMOVED) if name not in functions}
    text = [f"#undef {name}\n#undef P{name}\nint {name}({params});\nint P{name}({params});\n"
            for name, (_, params) in removed.items()]
    # One of them may be a macro, or missing.
    number = "MPI_Comm_toint" if "MPI_Comm_toint" in functions else "MPI_Comm_c2f"
    text.append(f"static int number_of(MPI_Comm comm) {{ return (int){number}(comm); }}\n")
    for name, (kind, params) in (functions | removed).items():
        text.append(_wrapper(name, kind, params))
    for name, about in FORTRAN.items():
        text += [_fortran(template.format(name), *about) for template in FORTRAN_NAMES]
    return "".join(text)


def _functions(header: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the name, the type and the text of the parameters of each function that is declared."""
    text = _ATTRIBUTE.sub(" ", re.sub(r"^#.*$", "", header, flags=re.MULTILINE))
    for found in _NAME.finditer(text):
        before = re.split(r"[;{}]", text[max(0, found.start() - 200) : found.start()])[-1].split()
        words = all(re.fullmatch(r"[\w*]+", word) for word in before)
        if not before or not words or {"typedef", "return"} & set(before):
            continue  # a call, a type or a macro
        end, depth = found.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if not text[end : end + 80].lstrip().startswith(";"):
            continue
        kind = " ".join(word for word in before if word != "extern")
        yield found[1], (kind, " ".join(text[found.end() : end - 1].split()))


def _wrapper(name: str, kind: str, params: str) -> str:
    """Return the wrapper of a function under both names; "" if it needs none."""
    short = name.partition("_")[2]
    special = short in SPECIAL and name.startswith("MPI_")
    if not special and (short in UNCHANGED or not re.search(r"\bMPI_Comm\b(?!\s*\*)", params)):
        return ""
    names, changed = [], []
    for param in ([] if params == "void" else _split(params)):
        text, bracket, _ = param.partition("[")
        words = [word for word in re.findall(r"\w+|\*", text) if word != "const"]
        if not _WORDS.fullmatch(text) or len(words) < 2 or words[-1] in ("int", "MPI_Comm", "*"):
            raise UnsupportedError(f"mpi.h: {name}: {param.strip()[:80]!r}, expected a type and a name")
        whole = words[:-1] == ["MPI_Comm"] and not bracket
        names.append(words[-1])
        changed.append(f"IN({words[-1]})" if whole else words[-1])
    if special:
        call = f"special_{short}({', '.join(['NEXT({0})', *names])})"
    elif names == changed:
        return ""
    else:
        call = f"NEXT({{0}})({', '.join(changed)})"
    return "".join(
        f"{kind} {both}({params}) {{ return {call.format(both)}; }}\n" for both in (name, f"P{name}")
    )


def _split(params: str) -> list[str]:
    """Return the parameters of a function; commas in parentheses do not separate them."""
    return re.findall(r"(?:[^,()]|\((?:[^()]|\([^()]*\))*\))+", params)


def _fortran(name: str, count: int, flag: int) -> str:
    """Return the wrapper of a Fortran function, which gets the number of a communicator by reference."""
    arguments = [f"a{i}" for i in range(1, count)]
    listed = ", ".join(f"void *{argument}" for argument in ("comm", *arguments))
    again = ""
    if flag:
        missing = f"f != comm && !*(int *)a{flag - 1}"
        again = f"if ({missing}) NEXT({name})({', '.join(['comm', *arguments])});"
    call = f"NEXT({name})({', '.join(['f', *arguments])});"
    return f"void {name}({listed}) {{ void *f = in_fortran(comm); {call} {again} }}\n"
