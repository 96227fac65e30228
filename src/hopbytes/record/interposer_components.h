/* Finds which components of Open MPI this process used, and which loaded libraries move data without MPI
 * messages. It does so at the end, when Open MPI has closed the components that it did not select.
 */
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

/* Read memory of this process; an address that is not mapped gives an error instead of a segmentation
 * fault.
 */
static int peek(const void *from, void *to, size_t size) {
    struct iovec here = {to, size}, there = {(void *)from, size};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* The description of an Open MPI component holds the name of its framework and its own name, each in a
 * field that is padded with zeros. The offsets differ between versions, so this function searches for the
 * names.
 */
static void write_component(const char *framework, const void *description) {
    char text[257] = "", word[sizeof "-" + 64];
    size_t length = strlen(framework);
    if (!peek(description, text, 256)) return;
    text[256] = 0;
    for (size_t i = 0; i + length < 256; i++) {
        if (memcmp(text + i, framework, length + 1) || (i && text[i - 1])) continue;
        for (i += length; i < 256; i++) {
            size_t run = strspn(text + i, "abcdefghijklmnopqrstuvwxyz0123456789_");
            if (run > 1 && run < 64 && text[i + run] == 0) {
                snprintf(word, sizeof word, "%.*s", (int)run, text + i);
                fprintf(out, "component %s %s\n", framework, word);
                return;
            }
            i += run;
        }
    }
}

/* Write the transports in use. Open MPI keeps them in a circular list; in each item the pointer to the
 * component follows the pointers to the next and the previous item.
 */
static void write_transports(const char *list) {
    enum { OBJECT = 16, LINK = 40, MOST = 64 };
    const char *first = list + OBJECT, *item, *component;
    if (!peek(first + OBJECT, &item, sizeof item)) return;
    for (int i = 0; i < MOST && item != first; i++) {
        if (!peek(item + LINK, &component, sizeof component)) return;
        write_component("btl", component);
        if (!peek(item + OBJECT, &item, sizeof item)) return;
    }
}

static int write_library(struct dl_phdr_info *library, size_t size, void *none) {
    static const char *const WANTED[] = {
        "mca_pml_", "mca_mtl_", "mca_coll_", "mca_osc_", "libmpi", "libuct", "libucp", "libfabric", "libpsm",
        "libhcoll", "libucc", "libsharp", "libnccl", "librccl", "libnvshmem", "libefa", "libibverbs",
        "libportals", "libcxi", "libsma", "liboshmem",
    };
    const char *name = strrchr(library->dlpi_name, '/');
    (void)size, (void)none;
    name = name ? name + 1 : library->dlpi_name;
    for (size_t i = 0; i < sizeof WANTED / sizeof *WANTED; i++)
        if (!strncmp(name, WANTED[i], strlen(WANTED[i]))) fprintf(out, "library %s\n", name);
    return 0;
}

static void write_components(void) {
    const void *chosen = dlsym(RTLD_DEFAULT, "mca_pml_base_selected_component");
    const char *transports = dlsym(RTLD_DEFAULT, "mca_btl_base_modules_initialized");
    if (chosen) write_component("pml", chosen);
    if (transports) write_transports(transports);
    dl_iterate_phdr(write_library, NULL);
}
