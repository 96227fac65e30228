/* Types of the interposer. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The members of a communicator or window, and what was counted there. Kept when the handle is freed. */
struct group {
    int id, size, inter, named, skipped;
    int *world;
    struct tally *rows[WAYS]; /* one entry per rank, for SENT, GOT and DIRECT */
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
