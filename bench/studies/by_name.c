/* A library to preload in front of METIS, Scotch or PT-Scotch: it writes what a program asks them to divide,
 * what they answer and the processor time of the call to a file per call in the folder BY_NAME_DIR. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int32_t Index;

typedef struct {
  const char *name;
  void *function;
} Wanted;

static int look(struct dl_phdr_info *info, size_t size, void *data) {
  static const char *const known[] = {"/libmetis", "/libscotch-", "/libptscotch-", "/libscotch.",
                                      "/libptscotch."};
  const char *file = strrchr(info->dlpi_name, '/');
  Wanted *wanted = data;
  size_t i;
  (void)size;
  for (i = 0; file && !wanted->function && i < sizeof known / sizeof *known; ++i)
    if (!strncmp(file, known[i], strlen(known[i]))) {
      void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
      if (library) wanted->function = dlsym(library, wanted->name), dlclose(library);
    }
  return 0;
}

/* The function behind this library, also of a library that the program loaded by itself. */
static void *next(const char *name) {
  Wanted wanted = {name, NULL};
  wanted.function = dlsym(RTLD_NEXT, name);
  if (!wanted.function) dl_iterate_phdr(look, &wanted);
  if (!wanted.function) abort();
  return wanted.function;
}

static __thread int depth = 0; /* only what the program itself calls is written */

static double cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void array(FILE *file, const Index *values, Index count) {
  fwrite(values, sizeof(Index), (size_t)count, file);
}

/* A line of numbers, then rows from 0 on, targets, blocks. */
static void keep(const char *name, Index n, Index base, const Index *rows, const Index *ends,
                 const Index *targets, Index items, Index k, Index common, double seconds,
                 const Index *part) {
  static int calls = 0;
  const char *folder = getenv("BY_NAME_DIR");
  char path[4096];
  FILE *file;
  Index v, at = 0;
  if (!folder || !part) return;
  snprintf(path, sizeof path, "%s/%d-%d", folder, (int)getpid(),
           __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST));
  if (!(file = fopen(path, "wb"))) return;
  fprintf(file, "%s %d %d %d %d %d %.6f\n", name, n, base, items, k, common, seconds);
  array(file, &at, 1);
  for (v = 0; v < n; ++v) at += (ends ? ends[v] : rows[v + 1]) - rows[v], array(file, &at, 1);
  for (v = 0; v < n; ++v) array(file, targets + (rows[v] - base), (ends ? ends[v] : rows[v + 1]) - rows[v]);
  array(file, part, n);
  fclose(file);
}

#define GRAPH_ARGUMENTS \
  n, ncon, rows, targets, loads, sizes, weights, k, shares, allowances, options, cut, part
#define PART_GRAPH(name)                                                                                   \
  int name(Index *n, Index *ncon, Index *rows, Index *targets, Index *loads, Index *sizes, Index *weights, \
           Index *k, float *shares, float *allowances, Index *options, Index *cut, Index *part) {          \
    __typeof__(&name) original = (__typeof__(&name))next(#name);                                           \
    const double began = cpu();                                                                            \
    int status;                                                                                            \
    ++depth;                                                                                               \
    status = original(GRAPH_ARGUMENTS);                                                                    \
    if (--depth == 0 && status == 1)                                                                       \
      keep(#name, *n, rows[0], rows, NULL, targets, *n, *k, 0, cpu() - began, part);                       \
    return status;                                                                                         \
  }
PART_GRAPH(METIS_PartGraphKway)
PART_GRAPH(METIS_PartGraphRecursive)

int METIS_PartMeshDual(Index *ne, Index *nn, Index *start, Index *item, Index *loads, Index *sizes,
                       Index *common, Index *k, float *shares, Index *options, Index *cut, Index *elements,
                       Index *nodes) {
  __typeof__(&METIS_PartMeshDual) original = (__typeof__(&METIS_PartMeshDual))next("METIS_PartMeshDual");
  const double began = cpu();
  int status;
  ++depth;
  status = original(ne, nn, start, item, loads, sizes, common, k, shares, options, cut, elements, nodes);
  if (--depth == 0 && status == 1)
    keep("METIS_PartMeshDual", *ne, start[0], start, NULL, item, *nn, *k, *common, cpu() - began, elements);
  return status;
}

typedef struct {
  Index base, n;
  Index *rows, *ends, *loads, *labels, arcs, *targets, *weights;
} View;
typedef void (*Data)(const void *, Index *, Index *, Index **, Index **, Index **, Index **, Index *,
                     Index **, Index **);
typedef void (*DistributedData)(const void *, Index *, Index *, Index *, Index *, Index *, Index **, Index **,
                                Index **, Index **, Index *, Index *, Index *, Index **, Index **, Index **,
                                void *);

static void keep_graph(const char *name, const void *graph, Index k, double seconds, const Index *part) {
  View v;
  memset(&v, 0, sizeof v);
  ((Data)next("SCOTCH_graphData"))(graph, &v.base, &v.n, &v.rows, &v.ends, &v.loads, &v.labels, &v.arcs,
                                   &v.targets, &v.weights);
  keep(name, v.n, v.base, v.rows, v.ends, v.targets, v.n, k, 0, seconds, part);
}

static void keep_distributed(const char *name, const void *graph, Index k, double seconds,
                             const Index *part) {
  View v;
  Index whole = 0;
  double comm;
  memset(&v, 0, sizeof v);
  ((DistributedData)next("SCOTCH_dgraphData"))(graph, &v.base, &whole, &v.n, NULL, NULL, &v.rows, &v.ends,
                                               &v.loads, &v.labels, NULL, &v.arcs, NULL, &v.targets, NULL,
                                               &v.weights, &comm);
  keep(name, v.n, v.base, v.rows, v.ends, v.targets, whole, k, 0, seconds, part);
}

static const void *arch_of_mapping;
static Index *part_of_mapping;

static Index size_of(const void *arch) { return ((Index (*)(const void *))next("SCOTCH_archSize"))(arch); }

#define SCOTCH(name, parameters, arguments, keep_it, k, blocks)    \
  int name parameters {                                            \
    __typeof__(&name) original = (__typeof__(&name))next(#name);   \
    const double began = cpu();                                    \
    int status;                                                    \
    ++depth;                                                       \
    status = original arguments;                                   \
    if (--depth == 0 && status == 0) {                             \
      const double seconds = cpu() - began;                        \
      ++depth, keep_it(#name, graph, k, seconds, blocks), --depth; \
    }                                                              \
    return status;                                                 \
  }
SCOTCH(SCOTCH_graphPart, (void *graph, Index k, void *strategy, Index *part), (graph, k, strategy, part),
       keep_graph, k, part)
SCOTCH(SCOTCH_dgraphPart, (void *graph, Index k, void *strategy, Index *part), (graph, k, strategy, part),
       keep_distributed, k, part)
SCOTCH(SCOTCH_graphMap, (void *graph, const void *arch, void *strategy, Index *part),
       (graph, arch, strategy, part), keep_graph, size_of(arch), part)
SCOTCH(SCOTCH_dgraphMap, (void *graph, const void *arch, void *strategy, Index *part),
       (graph, arch, strategy, part), keep_distributed, size_of(arch), part)
SCOTCH(SCOTCH_graphMapCompute, (void *graph, void *mapping, void *strategy), (graph, mapping, strategy),
       keep_graph, size_of(arch_of_mapping), part_of_mapping)
SCOTCH(SCOTCH_dgraphMapCompute, (void *graph, void *mapping, void *strategy), (graph, mapping, strategy),
       keep_distributed, size_of(arch_of_mapping), part_of_mapping)

#define BEGIN(name)                                                           \
  int name(const void *graph, void *mapping, const void *arch, Index *part) { \
    if (depth == 0) arch_of_mapping = arch, part_of_mapping = part;           \
    return ((__typeof__(&name))next(#name))(graph, mapping, arch, part);      \
  }
BEGIN(SCOTCH_graphMapInit)
BEGIN(SCOTCH_dgraphMapInit)
