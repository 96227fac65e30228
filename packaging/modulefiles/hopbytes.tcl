#%Module1.0
# Module file for Environment Modules. Install hopbytes into a virtual environment, for example
#   python3 -m venv /opt/hopbytes/0.1.0 && /opt/hopbytes/0.1.0/bin/pip install hopbytes-0.1.0-*.whl
#   mkdir /opt/hopbytes/0.1.0/module-bin && ln -s ../bin/hopbytes /opt/hopbytes/0.1.0/module-bin/
# and copy this file to hopbytes/0.1.0 in a folder of MODULEPATH: its name is the version.
proc ModulesHelp { } {
    puts stderr "hopbytes places the tasks of a parallel program on the cores of a machine so that tasks that talk"
    puts stderr "much to each other are close. Start with: hopbytes --help"
}
module-whatis "Map MPI ranks, GPUs or graph vertices to cores so that communication stays local."

set version [file tail [module-info name]]
set base [expr {[info exists ::env(HOPBYTES_PREFIX)] ? $::env(HOPBYTES_PREFIX) : "/opt/hopbytes"}]
set prefix [file join $base $version]

conflict hopbytes
setenv HOPBYTES_ROOT $prefix
# A folder with a link to the program alone, so that python and pip of the environment do not hide others.
prepend-path PATH [file join $prefix module-bin]
# Programs in C, C++ and Fortran find the C library by `python -m hopbytes.config` (docs/do/c-library.md),
# and those that call METIS, Scotch or ParMETIS use its libraries unchanged (docs/do/metis-names.md). MPI programs
# get another order of ranks by `hopbytes run --inside` (docs/do/inside.md) or `hopbytes env` (docs/do/without-files.md).
