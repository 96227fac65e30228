-- Module file for Lmod. Install hopbytes into a virtual environment, for example
--   python3 -m venv /opt/hopbytes/0.1.0 && /opt/hopbytes/0.1.0/bin/pip install hopbytes-0.1.0-*.whl
--   mkdir /opt/hopbytes/0.1.0/module-bin && ln -s ../bin/hopbytes /opt/hopbytes/0.1.0/module-bin/
-- and copy this file to hopbytes/0.1.0.lua in a folder of MODULEPATH: its name is the version.
help([[
hopbytes places the tasks of a parallel program on the cores of a machine so that tasks that talk much to each
other are close. Start with: hopbytes --help
]])
whatis("Name: hopbytes")
whatis("Version: " .. myModuleVersion())
whatis("Description: Map MPI ranks, GPUs or graph vertices to cores so that communication stays local.")
whatis("Category: MPI, process mapping")

local prefix = pathJoin(os.getenv("HOPBYTES_PREFIX") or "/opt/hopbytes", myModuleVersion())

conflict("hopbytes")
setenv("HOPBYTES_ROOT", prefix)
-- A folder with a link to the program alone, so that python and pip of the environment do not hide others.
prepend_path("PATH", pathJoin(prefix, "module-bin"))
-- Programs in C, C++ and Fortran find the C library by `python -m hopbytes.config` (docs/do/c-library.md),
-- and those that call METIS, Scotch or ParMETIS use its libraries unchanged (docs/do/metis-names.md). MPI programs
-- get another order of ranks by `hopbytes run --inside` (docs/do/inside.md) or `hopbytes env` (docs/do/without-files.md).
