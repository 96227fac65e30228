"""Recipe for Spack; docs/install.md says how to use it from a clone."""

from spack.package import *

# Up to Spack 0.23 the class comes with the line above.
try:
    from spack_repo.builtin.build_systems.python import PythonPackage
except ImportError:
    from spack.package import PythonPackage


class PyHopbytes(PythonPackage):
    """Map MPI ranks, GPUs or graph vertices to cores so that communication stays local.

    The C library, and libraries with the names of METIS, Scotch and ParMETIS, are where
    ``python -m hopbytes.config --prefix`` says; ``hopbytes run --inside`` orders the ranks of MPI programs.
    """

    # The repository has no public address yet, so a clone is named:
    # spack develop --path /path/of/the/clone py-hopbytes@=0.1.0
    license("MIT", checked_by="hopbytes developers")

    version("0.1.0")

    variant("yaml", default=True, description="Read topologies that are written in YAML")
    variant("plot", default=False, description="Draw pictures as PNG and PDF")
    variant("mpi", default=False, description="Reorder communicators inside a running program")

    depends_on("cxx", type="build")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")

    depends_on("py-numpy@1.24:", type=("build", "run"))
    depends_on("py-scipy@1.10:", type=("build", "run"))
    depends_on("py-click@8.1:", type=("build", "run"))

    depends_on("py-pyyaml@6:", when="+yaml", type=("build", "run"))
    depends_on("py-matplotlib@3.7:", when="+plot", type=("build", "run"))
    depends_on("py-mpi4py@4:", when="+mpi", type=("build", "run"))

    # The core is C++20.
    conflicts("%gcc@:10")
    conflicts("%clang@:12")

    @property
    def import_modules(self):
        return ["hopbytes", "hopbytes.cli"]
