/* Finds whether a process loaded two MPI libraries: that for which a preloaded library was built, and another.
 * The function that it looks up is one that no preloaded library of hopbytes has.
 */
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a file is an MPI library itself; the libraries of its Fortran and C++ bindings do not count. */
static int is_mpi(const char *path) {
    static const char *const NAMES_OF_MPI[] = {"libmpi.so", "libmpich.so", "libmpi_cray", "libmpi_gnu",
        "libmpi_ibm.so"};
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (size_t i = 0; i < sizeof NAMES_OF_MPI / sizeof *NAMES_OF_MPI; i++)
        if (!strncmp(name, NAMES_OF_MPI[i], strlen(NAMES_OF_MPI[i]))) return 1;
    return 0;
}

struct libraries {
    const char *ours;
    char other[4096];
};

static int look_for_other(struct dl_phdr_info *library, size_t size, void *found) {
    struct libraries *two = found;
    struct stat here, there;
    (void)size;
    if (!is_mpi(library->dlpi_name) || stat(library->dlpi_name, &there) || stat(two->ours, &here)) return 0;
    if (here.st_dev == there.st_dev && here.st_ino == there.st_ino) return 0;
    snprintf(two->other, sizeof two->other, "%s", library->dlpi_name);
    return 1;
}

static int other_library(struct libraries *two) {
    void *next = dlsym(RTLD_NEXT, "PMPI_Get_library_version");
    Dl_info info;
    if (!next || !dladdr(next, &info) || !info.dli_fname) return 0;
    two->ours = info.dli_fname;
    dl_iterate_phdr(look_for_other, two);
    return *two->other != 0;
}
