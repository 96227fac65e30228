/* ParMETIS' and PT-Scotch's entry points over the libraries of METIS' and Scotch's names. The graph is
 * gathered on the first process of the communicator and divided there: up to 2^31 - 1 arcs.
 * A library is made of this file with the MPI of the program, since MPIs differ:
 *
 *   lib=$(python -m hopbytes.config --prefix)/lib
 *   mpicc -shared -fPIC -O2 $lib/hopbytes_mpi.c -L$lib -Wl,-rpath,$lib -lhopbytes_metis \
 *     -lhopbytes_scotch -ldl -o libhopbytes_mpi.so
 *
 * With -DIDXTYPEWIDTH=64 (and -DREALTYPEWIDTH=64) the other libraries are hopbytes_metis_i64 (or
 * hopbytes_metis_i64_r64) and hopbytes_scotch_i64. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(IDXTYPEWIDTH) && IDXTYPEWIDTH == 64
typedef int64_t Index;
#define INDEX_OF_MPI MPI_INT64_T
#else
typedef int32_t Index;
#define INDEX_OF_MPI MPI_INT32_T
#endif
#if defined(REALTYPEWIDTH) && REALTYPEWIDTH == 64
typedef double Real;
#else
typedef float Real;
#endif

enum { OK = 1, INPUT = -2, MEMORY = -3, ERROR = -4 };
#define EXPORT __attribute__((visibility("default")))

/* METIS_PartGraphKway and the mapping of a graph of Scotch, under names that no other library has. */
extern int hopbytes_metis_part(Index *n, Index *ncon, Index *rows, Index *targets, Index *loads, Index *sizes,
                               Index *weights, Index *k, Real *shares, Real *allowances, Index *options,
                               Index *cut, Index *part);
extern int hopbytes_scotch_map(const void *graph, const void *arch, const void *strategy, Index *part);

static void *reserve(size_t count, size_t size) { return malloc(count * size > 0 ? count * size : 1); }

/* Returns the least of what the processes have. */
static int least(int value, MPI_Comm comm) {
  int all = value;
  return MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS ? all : ERROR;
}

/* Sends what the first process found, which takes it a while: the others sleep in the meantime. */
static void tell(void *value, MPI_Datatype type, MPI_Comm comm) {
  const struct timespec nap = {0, 1000000};
  MPI_Request request;
  int done = 0;
  if (MPI_Ibcast(value, 1, type, 0, comm, &request) != MPI_SUCCESS) return;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) nanosleep(&nap, NULL);
}

/* ------------------------------------------------------------------------------------------- ParMETIS */

typedef struct {
  Index *vtxdist, *xadj, *adjncy, *vwgt, *adjwgt, *wgtflag, *numflag, *ncon, *nparts;
  Real *tpwgts, *ubvec;
  Index *options, *edgecut, *part;
} Call;

/* What the processes send, and where it goes to on the first one. */
typedef struct {
  int rank, size;
  int *vertices, *first_vertex, *arcs, *first_arc; /* of every process, one after the other in memory */
} Layout;

/* Whether the arguments of this process are complete. */
static int complete(const Call *c, int rank, int size) {
  Index i, n;
  if (!c->vtxdist || !c->wgtflag || !c->numflag || !c->ncon || !c->nparts || !c->edgecut || !c->xadj)
    return 0;
  if (*c->numflag < 0 || *c->numflag > 1 || *c->wgtflag < 0 || *c->wgtflag > 3 || *c->ncon < 1) return 0;
  if (*c->nparts < 1 || c->vtxdist[0] != *c->numflag) return 0;
  for (i = 0; i < size; ++i)
    if (c->vtxdist[i + 1] < c->vtxdist[i] || c->vtxdist[i + 1] > INT_MAX / *c->ncon) return 0;
  n = c->vtxdist[rank + 1] - c->vtxdist[rank];
  if (c->xadj[0] != *c->numflag || (n > 0 && !c->part)) return 0;
  for (i = 0; i < n; ++i)
    if (c->xadj[i + 1] < c->xadj[i]) return 0;
  if (c->xadj[n] - c->xadj[0] > 0 && (!c->adjncy || (*c->wgtflag & 1 && !c->adjwgt))) return 0;
  return !(n > 0 && *c->wgtflag & 2 && !c->vwgt);
}

static int lay_out(const Call *c, MPI_Comm comm, Layout *at) {
  const Index n = c->vtxdist[at->rank + 1] - c->vtxdist[at->rank];
  int r, own = c->xadj[n] - c->xadj[0] > INT_MAX ? -1 : (int)(c->xadj[n] - c->xadj[0]);
  int64_t sum = 0;
  at->vertices = reserve(4 * (size_t)at->size, sizeof(int));
  if (least(at->vertices != NULL, comm) < 1) return MEMORY;
  at->first_vertex = at->vertices + at->size, at->arcs = at->first_vertex + at->size;
  at->first_arc = at->arcs + at->size;
  if (MPI_Allgather(&own, 1, MPI_INT, at->arcs, 1, MPI_INT, comm) != MPI_SUCCESS) return ERROR;
  for (r = 0; r < at->size; ++r) {
    at->vertices[r] = (int)(c->vtxdist[r + 1] - c->vtxdist[r]);
    at->first_vertex[r] = (int)(c->vtxdist[r] - c->vtxdist[0]);
    at->first_arc[r] = (int)sum;
    if (at->arcs[r] < 0 || (sum += at->arcs[r]) > INT_MAX) return ERROR;
  }
  return OK;
}

/* An edge of the graph of old and new blocks: the load that has both. */
typedef struct {
  int64_t load;
  Index fresh, old;
} Shared;

static int by_blocks(const void *a, const void *b) {
  const Shared *x = a, *y = b;
  if (x->fresh != y->fresh) return x->fresh < y->fresh ? -1 : 1;
  return x->old < y->old ? -1 : x->old > y->old;
}
static int by_load(const void *a, const void *b) {
  const Shared *x = a, *y = b;
  if (x->load != y->load) return x->load > y->load ? -1 : 1;
  return by_blocks(a, b);
}

/* Gives new blocks the numbers of old ones, those that share most load first, so that little has to move. */
static int keep_numbers(Index n, Index k, const Index *load, const Index *old, Index *part) {
  Shared *shared = reserve((size_t)n, sizeof(Shared));
  Index *number = reserve((size_t)k, sizeof(Index)), *taken = reserve((size_t)k, sizeof(Index));
  Index v, count = 0, next = 0;
  const int enough = shared && number && taken;
  if (enough) {
    for (v = 0; v < k; ++v) number[v] = -1, taken[v] = 0;
    for (v = 0; v < n; ++v)
      shared[v].load = load ? load[v] : 1, shared[v].fresh = part[v], shared[v].old = old[v];
    qsort(shared, (size_t)n, sizeof(Shared), by_blocks);
    for (v = 0; v < n; ++v)
      if (count > 0 && by_blocks(&shared[count - 1], &shared[v]) == 0)
        shared[count - 1].load += shared[v].load;
      else shared[count++] = shared[v];
    qsort(shared, (size_t)count, sizeof(Shared), by_load);
    for (v = 0; v < count; ++v) {
      const Index o = shared[v].old, f = shared[v].fresh;
      if (o >= 0 && o < k && !taken[o] && number[f] < 0) number[f] = o, taken[o] = 1;
    }
    for (v = 0; v < k; ++v) {
      while (number[v] < 0 && taken[next]) ++next;
      if (number[v] < 0) number[v] = next, taken[next] = 1;
    }
    for (v = 0; v < n; ++v) part[v] = number[part[v]];
  }
  free(shared), free(number), free(taken);
  return enough;
}

/* The graph on the first process; there are only null pointers on the others. */
typedef struct {
  Index *rows, *targets, *loads, *weights, *old, *part;
} Whole;

static int gather(const Call *c, const Index *old, const Layout *at, MPI_Comm comm, Whole *g) {
  const int root = at->rank == 0, last = at->size - 1, n = at->vertices[at->rank];
  const size_t all = (size_t)(at->first_vertex[last] + at->vertices[last]), ncon = (size_t)*c->ncon;
  const size_t arcs = (size_t)(at->first_arc[last] + at->arcs[last]);
  Index *degree = reserve((size_t)n, sizeof(Index));
  MPI_Datatype of_vertex;
  size_t v;
  int failed;
  if (root) {
    g->rows = reserve(all + 1, sizeof(Index)), g->targets = reserve(arcs, sizeof(Index));
    g->loads = *c->wgtflag & 2 ? reserve(all * ncon, sizeof(Index)) : NULL;
    g->weights = *c->wgtflag & 1 ? reserve(arcs, sizeof(Index)) : NULL;
    g->old = old ? reserve(all, sizeof(Index)) : NULL, g->part = reserve(all, sizeof(Index));
  }
  failed = !degree || (root && (!g->rows || !g->targets || !g->part || (old && !g->old) ||
                                (*c->wgtflag & 2 && !g->loads) || (*c->wgtflag & 1 && !g->weights)));
  if (least(!failed, comm) < 1) {
    free(degree);
    return MEMORY;
  }
  for (v = 0; v < (size_t)n; ++v) degree[v] = c->xadj[v + 1] - c->xadj[v];
#define GATHER(from, to, counts, firsts, type) \
  MPI_Gatherv(from, counts[at->rank], type, to, counts, firsts, type, 0, comm)
  GATHER(degree, root ? g->rows + 1 : NULL, at->vertices, at->first_vertex, INDEX_OF_MPI);
  GATHER(c->adjncy, g->targets, at->arcs, at->first_arc, INDEX_OF_MPI);
  if (*c->wgtflag & 1) GATHER(c->adjwgt, g->weights, at->arcs, at->first_arc, INDEX_OF_MPI);
  if (old) GATHER(old, g->old, at->vertices, at->first_vertex, INDEX_OF_MPI);
  if (*c->wgtflag & 2) {
    MPI_Type_contiguous((int)ncon, INDEX_OF_MPI, &of_vertex);
    MPI_Type_commit(&of_vertex);
    GATHER(c->vwgt, g->loads, at->vertices, at->first_vertex, of_vertex);
    MPI_Type_free(&of_vertex);
  }
  free(degree);
  if (root) {
    g->rows[0] = 0;
    for (v = 0; v < all; ++v) g->rows[v + 1] += g->rows[v];
    for (v = 0; v < arcs; ++v) g->targets[v] -= *c->numflag;
    for (v = 0; old && v < all; ++v) g->old[v] -= *c->numflag;
  }
  return OK;
}

/* Divides the graph of the first process. */
static int divide(const Call *c, const Whole *g, Index n) {
  Index options[40], v, seed = c->options && c->options[0] == 1 ? c->options[2] : -1;
  const char *version = getenv("HOPBYTES_METIS");
  int status;
  for (v = 0; v < 40; ++v) options[v] = -1;
  options[version && !strncmp(version, "5.2", 3) ? 9 : 8] = seed;
  status = hopbytes_metis_part(&n, c->ncon, g->rows, g->targets, g->loads, NULL, g->weights, c->nparts,
                               c->tpwgts, c->ubvec, options, c->edgecut, g->part);
  if (status != OK) return status;
  if (g->old && !getenv("HOPBYTES_MACHINE") &&
      !keep_numbers(n, *c->nparts, *c->ncon == 1 ? g->loads : NULL, g->old, g->part))
    return MEMORY;
  for (v = 0; v < n; ++v) g->part[v] += *c->numflag;
  return OK;
}

static int part_kway(const Call *c, const Index *old, const MPI_Comm *given) {
  Whole whole = {NULL, NULL, NULL, NULL, NULL, NULL};
  Layout at = {0, 0, NULL, NULL, NULL, NULL};
  Index cut = 0;
  MPI_Comm comm;
  int status;
  if (!given || *given == MPI_COMM_NULL || MPI_Comm_dup(*given, &comm) != MPI_SUCCESS) return INPUT;
  MPI_Comm_rank(comm, &at.rank), MPI_Comm_size(comm, &at.size);
  status = least(complete(c, at.rank, at.size), comm) == 1 ? OK : INPUT;
  if (status == OK) status = least(lay_out(c, comm, &at), comm);
  if (status == OK) status = gather(c, old, &at, comm, &whole);
  if (status == OK) {
    if (at.rank == 0) status = divide(c, &whole, c->vtxdist[at.size] - c->vtxdist[0]), cut = *c->edgecut;
    tell(&status, MPI_INT, comm);
    tell(&cut, INDEX_OF_MPI, comm);
  }
  if (status == OK) {
    *c->edgecut = cut;
    MPI_Scatterv(whole.part, at.vertices, at.first_vertex, INDEX_OF_MPI, c->part, at.vertices[at.rank],
                 INDEX_OF_MPI, 0, comm);
  }
  free(whole.rows), free(whole.targets), free(whole.loads), free(whole.weights), free(whole.old),
      free(whole.part);
  free(at.vertices);
  MPI_Comm_free(&comm);
  return status;
}

EXPORT int ParMETIS_V3_PartKway(Index *vtxdist, Index *xadj, Index *adjncy, Index *vwgt, Index *adjwgt,
                                Index *wgtflag, Index *numflag, Index *ncon, Index *nparts, Real *tpwgts,
                                Real *ubvec, Index *options, Index *edgecut, Index *part, MPI_Comm *comm) {
  const Call call = {vtxdist, xadj,   adjncy, vwgt,  adjwgt,  wgtflag, numflag,
                     ncon,    nparts, tpwgts, ubvec, options, edgecut, part};
  return part_kway(&call, NULL, comm);
}

/* Coordinates are not used. */
EXPORT int ParMETIS_V3_PartGeomKway(Index *vtxdist, Index *xadj, Index *adjncy, Index *vwgt, Index *adjwgt,
                                    Index *wgtflag, Index *numflag, Index *ndims, Real *xyz, Index *ncon,
                                    Index *nparts, Real *tpwgts, Real *ubvec, Index *options, Index *edgecut,
                                    Index *part, MPI_Comm *comm) {
  (void)ndims, (void)xyz;
  return ParMETIS_V3_PartKway(vtxdist, xadj, adjncy, vwgt, adjwgt, wgtflag, numflag, ncon, nparts, tpwgts,
                              ubvec, options, edgecut, part, comm);
}

/* Divides anew; blocks get the numbers of those that they share most load with. */
static int repartition(const Call *c, const MPI_Comm *comm) {
  Index *old = NULL, n = 0, v;
  int rank, size, status;
  if (!comm || *comm == MPI_COMM_NULL) return INPUT;
  MPI_Comm_rank(*comm, &rank), MPI_Comm_size(*comm, &size);
  if (complete(c, rank, size)) {
    n = c->vtxdist[rank + 1] - c->vtxdist[rank];
    old = reserve((size_t)n, sizeof(Index));
    /* Where blocks and processes are not coupled the program says where a vertex is. */
    for (v = 0; old && v < n; ++v)
      old[v] = c->options && c->options[0] == 1 && c->options[3] == 2 ? c->part[v] : rank + *c->numflag;
  }
  status = least(old ? 1 : 0, *comm) == 1 ? part_kway(c, old, comm) : INPUT;
  free(old);
  return status;
}

EXPORT int ParMETIS_V3_RefineKway(Index *vtxdist, Index *xadj, Index *adjncy, Index *vwgt, Index *adjwgt,
                                  Index *wgtflag, Index *numflag, Index *ncon, Index *nparts, Real *tpwgts,
                                  Real *ubvec, Index *options, Index *edgecut, Index *part, MPI_Comm *comm) {
  const Call call = {vtxdist, xadj,   adjncy, vwgt,  adjwgt,  wgtflag, numflag,
                     ncon,    nparts, tpwgts, ubvec, options, edgecut, part};
  return repartition(&call, comm);
}

EXPORT int ParMETIS_V3_AdaptiveRepart(Index *vtxdist, Index *xadj, Index *adjncy, Index *vwgt, Index *vsize,
                                      Index *adjwgt, Index *wgtflag, Index *numflag, Index *ncon,
                                      Index *nparts, Real *tpwgts, Real *ubvec, Real *ipc2redist,
                                      Index *options, Index *edgecut, Index *part, MPI_Comm *comm) {
  const Call call = {vtxdist, xadj,   adjncy, vwgt,  adjwgt,  wgtflag, numflag,
                     ncon,    nparts, tpwgts, ubvec, options, edgecut, part};
  (void)vsize, (void)ipc2redist;
  return repartition(&call, comm);
}

/* ------------------------------------------------------------------------------------------ PT-Scotch */

/* Room for any object of Scotch. */
typedef struct {
  double words[64];
} Object;

typedef struct {
  const char *name;
  void *function;
} Wanted;

static int look(struct dl_phdr_info *info, size_t size, void *data) {
  const char *file = strrchr(info->dlpi_name, '/');
  void *library;
  Wanted *wanted = data;
  (void)size;
  if (wanted->function || !file || strncmp(file, "/libptscotch", 12)) return 0;
  library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library) wanted->function = dlsym(library, wanted->name), dlclose(library);
  return 0;
}

/* Returns a function of the PT-Scotch behind this library, also of one that the program loaded by itself. */
static void *behind(const char *name) {
  Wanted wanted = {name, NULL};
  wanted.function = dlsym(RTLD_NEXT, name);
  if (!wanted.function) dl_iterate_phdr(look, &wanted);
  return wanted.function;
}

static __thread int inside = 0; /* PT-Scotch calls its own entry points */

/* Mappings that were begun. */
typedef struct Begun {
  const void *mapping, *arch;
  Index *part;
  struct Begun *next;
} Begun;
static Begun *mappings = NULL;
static pthread_mutex_t lock_of_mappings = PTHREAD_MUTEX_INITIALIZER;

typedef int (*Gather)(const void *, void *);
typedef int (*Prepare)(void *);
typedef void (*Finish)(void *);
typedef void (*Data)(const void *, Index *, Index *, Index *, Index *, Index *, Index **, Index **, Index **,
                     Index **, Index *, Index *, Index *, Index **, Index **, Index **, MPI_Comm *);

/* Maps the graph on the first process. Returns -1 if PT-Scotch has to do it, on all processes. */
static int map_gathered(const void *graph, const void *arch, const void *strategy, Index *part, int local,
                        MPI_Comm comm) {
  const Gather collect = (Gather)behind("SCOTCH_dgraphGather");
  const Prepare init = (Prepare)behind("SCOTCH_graphInit");
  const Finish leave = (Finish)behind("SCOTCH_graphExit");
  Object whole;
  Index *found = NULL;
  int rank, size, r, all = 0, status = -1, prepared = 0, *counts = NULL, *firsts = NULL;
  MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &size);
  if (rank == 0) {
    counts = reserve((size_t)size, sizeof(int)), firsts = reserve((size_t)size, sizeof(int));
    prepared = collect && init && leave && counts && firsts && init(&whole) == 0;
  }
  MPI_Bcast(&prepared, 1, MPI_INT, 0, comm);
  if (prepared && collect(graph, rank == 0 ? &whole : NULL) == 0) {
    MPI_Gather(&local, 1, MPI_INT, counts, 1, MPI_INT, 0, comm);
    for (r = 0; rank == 0 && r < size; ++r) firsts[r] = all, all += counts[r];
    if (rank == 0 && (found = reserve((size_t)all, sizeof(Index))))
      status = hopbytes_scotch_map(&whole, arch, strategy, found);
    tell(&status, MPI_INT, comm);
    if (status == 0) MPI_Scatterv(found, counts, firsts, INDEX_OF_MPI, part, local, INDEX_OF_MPI, 0, comm);
  }
  if (rank == 0 && prepared) leave(&whole);
  free(found), free(counts), free(firsts);
  return status;
}

static int map_distributed(const void *graph, const void *arch, const void *strategy, Index *part) {
  const Data data = (Data)behind("SCOTCH_dgraphData");
  Index local = 0;
  MPI_Comm comm = MPI_COMM_NULL, own;
  int status;
  if (inside || !data) return -1;
  data(graph, NULL, NULL, &local, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       &comm);
  if (comm == MPI_COMM_NULL || MPI_Comm_dup(comm, &own) != MPI_SUCCESS) return -1;
  status = least(local == 0 || part ? 0 : -1, own) == 0
               ? map_gathered(graph, arch, strategy, part, (int)local, own)
               : 1;
  MPI_Comm_free(&own);
  return status;
}

/* Calls the original with its calls to itself kept to itself. */
#define PASS_ON(name, ...)                                         \
  do {                                                             \
    __typeof__(&name) original = (__typeof__(&name))behind(#name); \
    int result = 1, before = inside;                               \
    inside = 1;                                                    \
    if (original) result = original(__VA_ARGS__);                  \
    inside = before;                                               \
    return result;                                                 \
  } while (0)

EXPORT int SCOTCH_dgraphMap(void *graph, const void *arch, void *strategy, Index *part) {
  int status;
  if (!graph || !arch || !strategy) return 1;
  status = map_distributed(graph, arch, strategy, part);
  if (status >= 0) return status;
  PASS_ON(SCOTCH_dgraphMap, graph, arch, strategy, part);
}

EXPORT int SCOTCH_dgraphPart(void *graph, Index k, void *strategy, Index *part) {
  const Prepare init = (Prepare)behind("SCOTCH_archInit");
  int (*complete_graph)(void *, Index) = (int (*)(void *, Index))behind("SCOTCH_archCmplt");
  const Finish leave = (Finish)behind("SCOTCH_archExit");
  Object arch;
  int status = -1;
  if (!graph || k < 1 || !strategy) return 1;
  if (init && complete_graph && leave && init(&arch) == 0) {
    if (complete_graph(&arch, k) == 0) status = map_distributed(graph, &arch, strategy, part);
    leave(&arch);
  }
  if (status >= 0) return status;
  PASS_ON(SCOTCH_dgraphPart, graph, k, strategy, part);
}

static void forget_mapping(const void *mapping) {
  Begun **at = &mappings, *found;
  pthread_mutex_lock(&lock_of_mappings);
  while (*at && (*at)->mapping != mapping) at = &(*at)->next;
  if ((found = *at)) *at = found->next, free(found);
  pthread_mutex_unlock(&lock_of_mappings);
}

EXPORT int SCOTCH_dgraphMapInit(const void *graph, void *mapping, const void *arch, Index *part) {
  Begun *begun;
  if (!graph || !mapping || !arch) return 1;
  forget_mapping(mapping);
  if (!inside && (begun = malloc(sizeof *begun))) {
    begun->mapping = mapping, begun->arch = arch, begun->part = part;
    pthread_mutex_lock(&lock_of_mappings);
    begun->next = mappings, mappings = begun;
    pthread_mutex_unlock(&lock_of_mappings);
  }
  PASS_ON(SCOTCH_dgraphMapInit, graph, mapping, arch, part);
}

EXPORT void SCOTCH_dgraphMapExit(const void *graph, void *mapping) {
  void (*original)(const void *, void *) = (void (*)(const void *, void *))behind("SCOTCH_dgraphMapExit");
  forget_mapping(mapping);
  if (graph && mapping && original) original(graph, mapping);
}

EXPORT int SCOTCH_dgraphMapCompute(void *graph, void *mapping, void *strategy) {
  const Begun *begun;
  const void *arch = NULL;
  Index *part = NULL;
  int status = -1;
  if (!graph || !mapping || !strategy) return 1;
  pthread_mutex_lock(&lock_of_mappings);
  for (begun = mappings; begun && begun->mapping != mapping; begun = begun->next) {
  }
  if (begun) arch = begun->arch, part = begun->part;
  pthread_mutex_unlock(&lock_of_mappings);
  if (arch) status = map_distributed(graph, arch, strategy, part);
  if (status >= 0) return status;
  PASS_ON(SCOTCH_dgraphMapCompute, graph, mapping, strategy);
}
