/* Types, and how a call is put before MPI's own. */
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI 5 says MPI 3.1 but has sessions, partitioned and persistent collective calls; large counts it has not. */
#if MPI_VERSION >= 4
#define LARGE_COUNTS 1
#define NEW_CALLS 1
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define NEW_CALLS 1
#endif

/* A preloaded library may use the fast way to its thread's variables. */
#define PER_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))

enum { BUCKETS = 1024 };
/* Kinds below zero are messages to one peer; DIRECT is what an all-to-all sends, which needs no model. */
enum { SENT = -1, GOT = -2, DIRECT = -3, WAYS = 3 };
static const char *const NAMES[] = {"sent", "got", "direct"};
enum { BCAST, REDUCE, GATHER, SCATTER, ALLREDUCE, ALLGATHER, REDUCE_SCATTER, ALLTOALL, SCAN, BARRIER };
static const char *const KINDS[] = {
    "bcast", "reduce", "gather", "scatter", "allreduce", "allgather", "reduce_scatter", "alltoall", "scan", "barrier",
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

/* The members of a communicator or window, and what was counted there. Kept when the handle is freed.
 * Between two groups peers are those of the other one; collectives name roots in the list of both.
 */
struct group {
    int id, named, own;      /* own: place of this rank in the list of both groups */
    int size, *world;        /* peers, as ranks of MPI_COMM_WORLD */
    int all, first, *listed; /* all members, and how many of them are of the first group; 0: one group */
    int remote;              /* where the other group begins in the list */
    struct tally *rows[WAYS]; /* one entry per peer, for SENT, GOT and DIRECT */
    struct call *calls;
    struct group *next;
};

struct event {
    struct group *group;
    int kind, peer;
    long long bytes;
};

/* What a persistent operation counts when it is started. */
struct kept {
    MPI_Request request;
    struct event *events;
    int used, room;
    struct kept *next;
};

/* Depth of calls of ours in this thread: what MPI, or another tool, calls inside a call is not the program's. */
PER_THREAD int depth;

/* The next one of that name: another tool's, or MPI's. */
#define NEXT(F) ({ \
    static __typeof__(F) *next_##F; \
    if (!next_##F) next_##F = (__typeof__(F) *)dlsym(RTLD_NEXT, #F); \
    next_##F; \
})

/* Every call is put before both of its names, since Fortran bindings use the one or the other. */
#define AROUND(F, NOTE, PARAMS, ARGS) \
    int MPI_##F PARAMS { \
        if (!depth) { NOTE; } \
        depth++; \
        int code = NEXT(MPI_##F) ARGS; \
        depth--; \
        return code; \
    } \
    int PMPI_##F PARAMS { \
        if (!depth) { NOTE; } \
        depth++; \
        int code = NEXT(PMPI_##F) ARGS; \
        depth--; \
        return code; \
    }
/* The same, with something to do afterwards. */
#define AROUND_BOTH(F, BEFORE, AFTER, PARAMS, ARGS) \
    int MPI_##F PARAMS { \
        if (!depth) { BEFORE; } \
        depth++; \
        int code = NEXT(MPI_##F) ARGS; \
        depth--; \
        if (!depth) { AFTER; } \
        return code; \
    } \
    int PMPI_##F PARAMS { \
        if (!depth) { BEFORE; } \
        depth++; \
        int code = NEXT(PMPI_##F) ARGS; \
        depth--; \
        if (!depth) { AFTER; } \
        return code; \
    }
