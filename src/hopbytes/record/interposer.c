/* Counts what a program sends. The library is preloaded before the MPI library: each wrapper counts a call
 * that moves data and passes it on. Each rank writes one text file at MPI_Finalize, and hopbytes adds the
 * files up.
 *
 * Two things are counted: bytes and messages to a rank of a communicator (or from it, for a one-sided get),
 * and collective calls by kind, root and bytes, which the reader turns into messages. The events of a
 * persistent operation are stored when it is created and counted each time it is started.
 */
#include "interposer.h"

/* A witness counts persistent sends only: the monitoring component of Open MPI counts all other messages
 * but misses these.
 */
static int active, witness, paused, phase, world_rank, world_size, users, opened;
static int split_types, shared_windows, spawned, outside;
static double began, skip_until;
static atomic_flag busy = ATOMIC_FLAG_INIT;
PER_THREAD struct kept *capturing;
static struct kept *persistent[BUCKETS];
static FILE *out;

/* The handling of a signal that ends the program is postponed while its thread holds the lock: the handler
 * waits for a thread that needs the same lock.
 */
PER_THREAD volatile sig_atomic_t holding;
static volatile sig_atomic_t ending;

static void enter(void) {
    holding = 1;
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {}
}

static void leave(void) {
    atomic_flag_clear_explicit(&busy, memory_order_release);
    holding = 0;
    if (ending) raise(ending);
}

#include "interposer_groups.h"

/* MPI may give the handle of a freed communicator to a new one, so the last group that was found must be
 * forgotten.
 */
static int comm_freed(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    enter();
    last_group = NULL;
    leave();
    return MPI_SUCCESS;
}

static int win_freed(MPI_Win win, int key, void *value, void *extra) {
    (void)win, (void)key, (void)value, (void)extra;
    return MPI_SUCCESS;
}

/* ------------------------------------------------------------ counting */

static int listening(void) {
    if (!active || paused) return 0;
    if (skip_until > 0) {
        if (PMPI_Wtime() < skip_until) return 0;
        skip_until = 0;
    }
    return 1;
}

static int counting(void) { return !witness && listening(); }

#include "interposer_order.h"

static void count_pair(struct group *g, int peer, int kind, long long bytes) {
    if (peer < 0 || peer >= g->size) return; /* MPI_PROC_NULL, or an invalid rank, which MPI itself reports */
    struct tally **row = &g->rows[-kind - 1];
    if (!*row) *row = calloc((size_t)g->size, sizeof **row);
    /* The peer was spawned, or it belongs to a program that was connected to. */
    if (g->world[peer] < 0) { outside++; return; }
    (*row)[peer].bytes += bytes;
    (*row)[peer].messages += 1;
}

static void count_call(struct group *g, int kind, int root, long long bytes) {
    if (g->first && kind <= SCATTER) {
        if (root == MPI_PROC_NULL) return;
        root = root == MPI_ROOT ? g->own : g->remote + root;
    }
    struct call *c = g->calls;
    while (c && (c->kind != kind || c->root != root)) c = c->next;
    if (!c) {
        c = calloc(1, sizeof *c);
        c->kind = kind, c->root = root, c->next = g->calls;
        g->calls = c;
    }
    c->bytes += bytes;
    c->times += 1;
}

/* `counts`: a witness keeps the order of what Open MPI counts. */
static void apply(struct group *g, int kind, int peer, int tag, long long bytes, int counts) {
    if (counts && kind >= 0) count_call(g, kind, peer, bytes);
    else if (counts) count_pair(g, peer, kind, bytes);
    if (ordering() && (kind >= 0 || (peer >= 0 && peer < g->size))) order_event(g, kind, peer, tag, bytes);
}

static void count(struct group *g, int kind, int peer, long long bytes) {
    struct kept *k = capturing;
    if (!k) { apply(g, kind, peer, message_tag, bytes, !witness); return; }
    if (k->used == k->room) k->events = realloc(k->events, sizeof *k->events * (size_t)(k->room += 16));
    k->events[k->used++] = (struct event){g, kind, peer, message_tag, bytes};
}

static long long size_of(MPI_Datatype type) {
    MPI_Count size = 0; /* the size of a datatype may exceed the range of int */
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
    return (long long)size;
}

static void note(MPI_Comm comm, int kind, int peer, long long bytes) {
    if (!noted() || comm == MPI_COMM_NULL) return;
    enter();
    count(group_of(comm), kind, peer, bytes);
    leave();
}

static void note_window(MPI_Win win, int kind, int peer, long long bytes) {
    if ((!counting() && !ordering()) || peer < 0) return;
    enter();
    struct group *g = group_of_window(win);
    if (!witness) count_pair(g, peer, kind, bytes);
    one_sided++;
    leave();
}

/* An all-to-all with a count for every rank. The block of a rank for itself is not a message and is left
 * out.
 */
static void note_all(MPI_Comm comm, const void *counts, int wide, MPI_Datatype type,
    const MPI_Datatype *types) {
    int inter = 0, n = 0, own = -1;
    if (!noted() || comm == MPI_COMM_NULL) return;
    order_blocks(comm);
    PMPI_Comm_test_inter(comm, &inter);
    if (inter) PMPI_Comm_remote_size(comm, &n);
    else PMPI_Comm_size(comm, &n), PMPI_Comm_rank(comm, &own);
    for (int i = 0; i < n; i++) {
        long long many = COUNT_AT(counts, wide, i);
        if (i != own) note(comm, DIRECT, i, many * size_of(types ? types[i] : type));
    }
}

/* A neighbourhood collective: the same block, or a block with its own count, to each destination in the
 * topology.
 */
static void note_neighbours(MPI_Comm comm, const void *counts, int wide, long long same, MPI_Datatype type,
                            const MPI_Datatype *types) {
    int kind = MPI_UNDEFINED, in = 0, many = 0, weighted = 0, *to = NULL;
    if (!noted() || comm == MPI_COMM_NULL) return;
    order_blocks(comm);
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in, &many, &weighted);
        int *from = malloc(sizeof(int) * (size_t)(in + 1)),
            *weights = malloc(sizeof(int) * (size_t)(in + many + 1));
        to = malloc(sizeof(int) * (size_t)(many + 1));
        PMPI_Dist_graph_neighbors(comm, in, from, weights, many, to, weights + in);
        free(from), free(weights);
    } else if (kind == MPI_GRAPH) {
        int own;
        PMPI_Comm_rank(comm, &own);
        PMPI_Graph_neighbors_count(comm, own, &many);
        to = malloc(sizeof(int) * (size_t)(many + 1));
        PMPI_Graph_neighbors(comm, own, many, to);
    } else if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &many);
        to = malloc(sizeof(int) * (size_t)(2 * many + 1));
        for (int d = 0; d < many; d++) PMPI_Cart_shift(comm, d, 1, &to[2 * d], &to[2 * d + 1]);
        many *= 2;
    }
    for (int i = 0; i < many; i++) {
        long long bytes = counts ? COUNT_AT(counts, wide, i) : same;
        note(comm, SENT, to[i], bytes * size_of(types ? types[i] : type));
    }
    free(to);
}

/* ------------------------------------------------------------ persistent operations */

static void begin_capture(int send) {
    if (active && (send || !witness)) capturing = calloc(1, sizeof *capturing);
}

static void end_capture(MPI_Request request) {
    struct kept *k = capturing;
    capturing = NULL;
    if (!k) return;
    enter();
    k->request = request;
    k->next = persistent[BUCKET(request)];
    persistent[BUCKET(request)] = k;
    leave();
}

static void started(MPI_Request request) {
    if (!active || (!witness && !counting())) return;
    enter();
    struct kept *k = persistent[BUCKET(request)];
    while (k && k->request != request) k = k->next;
    for (int i = 0; k && i < k->used; i++) apply(k->events[i].group, k->events[i].kind,
        k->events[i].peer, k->events[i].tag, k->events[i].bytes, 1);
    if (!k) start_receive(request);
    leave();
}

static void forget(MPI_Request request) {
    enter();
    struct kept **k = &persistent[BUCKET(request)];
    while (*k && (*k)->request != request) k = &(*k)->next;
    if (*k) {
        struct kept *removed = *k;
        *k = removed->next;
        free(removed->events), free(removed);
    }
    leave();
}

static void all_started(int n, const MPI_Request *requests) {
    for (int i = 0; i < n; i++) started(requests[i]);
}

AROUND(Start, started(*r), (MPI_Request *r), (r))
AROUND(Startall, all_started(n, r), (int n, MPI_Request r[]), (n, r))
AROUND(Request_free, forget(*r), (MPI_Request *r), (r))

#include "interposer_output.h"
#include "interposer_life.h"
#include "interposer_calls.h"
