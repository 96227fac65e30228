/* Types, and the macros that define a wrapper for each MPI function. */
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI 5 reports MPI 3.1, but it provides sessions, partitioned communication and persistent
 * collectives. It does not provide the functions with large counts.
 */
#if MPI_VERSION >= 4
#define LARGE_COUNTS 1
#define NEW_CALLS 1
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define NEW_CALLS 1
#endif

/* The initial-exec model makes access to thread-local variables fast; it is allowed since this library is
 * preloaded.
 */
#define PER_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))

enum { BUCKETS = 1024 };
/* Kinds below zero are messages to one peer. DIRECT counts the blocks of an all-to-all with counts per
 * rank: the sizes for every peer are known, so the reader needs no model of the collective.
 */
enum { SENT = -1, GOT = -2, DIRECT = -3, WAYS = 3 };
static const char *const NAMES[] = {"sent", "got", "direct"};
enum { BCAST, REDUCE, GATHER, SCATTER, ALLREDUCE, ALLGATHER, REDUCE_SCATTER, ALLTOALL, SCAN, BARRIER };
static const char *const KINDS[] = {
    "bcast", "reduce", "gather", "scatter", "allreduce", "allgather", "reduce_scatter", "alltoall", "scan",
    "barrier",
};

#define BUCKET(request) (((uintptr_t)(request) >> 4 ^ (uintptr_t)(request)) % BUCKETS)
#define COUNT_AT(counts, wide, i) \
    ((wide) ? (long long)((const MPI_Count *)(counts))[i] : (long long)((const int *)(counts))[i])

struct tally {
    long long bytes, messages;
};

struct call {
    int kind, root;
    long long bytes, times;
    struct call *next;
};

/* The members of a communicator or window, and what was counted there. The record is kept when the handle
 * is freed, since its counts are written at the end. In an intercommunicator peers are members of the
 * remote group, while the roots of collectives are positions in the list of both groups.
 */
struct group {
    int id, named, own;      /* own: position of this rank in the list of both groups */
    int size, *world;        /* peers, as ranks of MPI_COMM_WORLD */
    int all, first, *listed; /* number of members, and of those in the first group (0: there is one group) */
    int remote;              /* position in the list at which the remote group begins */
    struct tally *rows[WAYS]; /* one entry per peer, for SENT, GOT and DIRECT */
    struct call *calls;
    struct group *next;
};

struct event {
    struct group *group;
    int kind, peer, tag;
    long long bytes;
};

/* The events that are counted each time a persistent operation is started. */
struct kept {
    MPI_Request request;
    struct event *events;
    int used, room;
    struct kept *next;
};

/* Number of wrappers that are active in this thread. MPI and other tools call MPI functions inside a call;
 * these are not calls of the program and must not be counted.
 */
PER_THREAD int depth;

/* The next function of that name in the order of the loader: that of another tool, or that of MPI. */
#define NEXT(F) ({ \
    static __typeof__(F) *next_##F; \
    if (!next_##F) next_##F = (__typeof__(F) *)dlsym(RTLD_NEXT, #F); \
    next_##F; \
})

/* A function that runs one statement before the function that it wraps, and one after it. */
#define WRAPPER(NAME, BEFORE, AFTER, PARAMS, ARGS) \
    int NAME PARAMS { \
        if (!depth) { BEFORE; } \
        depth++; \
        int code = NEXT(NAME) ARGS; \
        depth--; \
        if (!depth) { AFTER; } \
        return code; \
    }
/* Each function is wrapped under both of its names, since some Fortran bindings call MPI_ and others PMPI_.
 */
#define AROUND_BOTH(F, BEFORE, AFTER, PARAMS, ARGS) \
    WRAPPER(MPI_##F, BEFORE, AFTER, PARAMS, ARGS) WRAPPER(PMPI_##F, BEFORE, AFTER, PARAMS, ARGS)
#define AROUND(F, NOTE, PARAMS, ARGS) AROUND_BOTH(F, NOTE, , PARAMS, ARGS)
