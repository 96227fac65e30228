/* Counts what a program sends. Preloaded before the MPI library: every call that moves data is counted and
 * handed on. One text file per rank is written at MPI_Finalize; hopbytes adds them up.
 *
 * Two things are counted: bytes and messages to a rank of a communicator (or from it: one-sided get), and
 * collective calls by kind, root and bytes, which the reader turns into messages. A persistent operation
 * keeps what it would have counted and counts it at every start.
 */
#include "interposer.h"

static struct group *groups;
static int next_id, comm_key = MPI_KEYVAL_INVALID, win_key = MPI_KEYVAL_INVALID;
static int active, paused, phase, split_types, world_rank, world_size;
static double began, skip_until;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static MPI_Comm last_comm;
static struct group *last_group;
static _Thread_local struct kept *capturing;
static struct kept *persistent[BUCKETS];
static FILE *out;

static void enter(void) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {}
}

static void leave(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }

/* ------------------------------------------------------------ communicators and windows */

static struct group *new_group(MPI_Group members) {
    struct group *g = calloc(1, sizeof *g);
    MPI_Group world;
    PMPI_Group_size(members, &g->size);
    g->id = next_id++;
    g->world = malloc(sizeof(int) * (size_t)(g->size + 1));
    int *own = malloc(sizeof(int) * (size_t)(g->size + 1));
    for (int i = 0; i < g->size; i++) own[i] = i;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(members, g->size, own, world, g->world);
    PMPI_Group_free(&world);
    free(own);
    g->next = groups;
    groups = g;
    return g;
}

static struct group *group_of(MPI_Comm comm) {
    if (comm == last_comm && last_group) return last_group;
    struct group *g = NULL;
    int found = 0, inter = 0;
    PMPI_Comm_get_attr(comm, comm_key, &g, &found);
    if (!found) {
        MPI_Group members;
        PMPI_Comm_test_inter(comm, &inter);
        if (inter) PMPI_Comm_remote_group(comm, &members);
        else PMPI_Comm_group(comm, &members);
        g = new_group(members);
        g->inter = inter;
        PMPI_Group_free(&members);
        PMPI_Comm_set_attr(comm, comm_key, g);
    }
    last_comm = comm;
    last_group = g;
    return g;
}

static struct group *group_of_window(MPI_Win win) {
    struct group *g = NULL;
    int found = 0;
    PMPI_Win_get_attr(win, win_key, &g, &found);
    if (!found) {
        MPI_Group members;
        PMPI_Win_get_group(win, &members);
        g = new_group(members);
        PMPI_Group_free(&members);
        PMPI_Win_set_attr(win, win_key, g);
    }
    return g;
}

/* A freed handle may come back as another communicator. */
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

static int counting(void) {
    if (!active || paused) return 0;
    if (skip_until > 0) {
        if (PMPI_Wtime() < skip_until) return 0;
        skip_until = 0;
    }
    return 1;
}

static void count_pair(struct group *g, int peer, int kind, long long bytes) {
    if (peer < 0 || peer >= g->size) return; /* MPI_PROC_NULL, or a fault that MPI itself reports */
    struct tally **row = &g->rows[-kind - 1];
    if (!*row) *row = calloc((size_t)g->size, sizeof **row);
    (*row)[peer].bytes += bytes;
    (*row)[peer].messages += 1;
}

static void count_call(struct group *g, int kind, int root, long long bytes) {
    if (g->inter || root < 0) { g->skipped++; return; }
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

static void apply(struct group *g, int kind, int peer, long long bytes) {
    if (kind >= 0) count_call(g, kind, peer, bytes);
    else count_pair(g, peer, kind, bytes);
}

static void count(struct group *g, int kind, int peer, long long bytes) {
    struct kept *k = capturing;
    if (!k) { apply(g, kind, peer, bytes); return; }
    if (k->used == k->room) k->events = realloc(k->events, sizeof *k->events * (size_t)(k->room += 16));
    k->events[k->used++] = (struct event){g, kind, peer, bytes};
}

static long long size_of(MPI_Datatype type) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
    return size;
}

static void note(MPI_Comm comm, int kind, int peer, long long bytes) {
    if ((!counting() && !capturing) || comm == MPI_COMM_NULL) return;
    enter();
    count(group_of(comm), kind, peer, bytes);
    leave();
}

static void note_window(MPI_Win win, int kind, int peer, long long bytes) {
    if (!counting() || peer < 0) return;
    enter();
    count(group_of_window(win), kind, peer, bytes);
    leave();
}

/* Counts for every rank: all-to-all. A rank's own part stays at home. */
static void note_all(MPI_Comm comm, const void *counts, int wide, MPI_Datatype type, const MPI_Datatype *types) {
    int inter = 0, n = 0, own = -1;
    if ((!counting() && !capturing) || comm == MPI_COMM_NULL) return;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter) PMPI_Comm_remote_size(comm, &n);
    else PMPI_Comm_size(comm, &n), PMPI_Comm_rank(comm, &own);
    for (int i = 0; i < n; i++) {
        long long many = COUNT_AT(counts, wide, i);
        if (i != own) note(comm, DIRECT, i, many * size_of(types ? types[i] : type));
    }
}

/* One block, or a count per neighbour, to those a topology names as destinations. */
static void note_neighbours(MPI_Comm comm, const void *counts, int wide, long long same, MPI_Datatype type,
                            const MPI_Datatype *types) {
    int kind = MPI_UNDEFINED, in = 0, many = 0, weighted = 0, *to = NULL;
    if ((!counting() && !capturing) || comm == MPI_COMM_NULL) return;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in, &many, &weighted);
        int *from = malloc(sizeof(int) * (size_t)(in + 1)), *weights = malloc(sizeof(int) * (size_t)(in + many + 1));
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

static void begin_keeping(void) { capturing = calloc(1, sizeof *capturing); }

static void keep(MPI_Request request) {
    struct kept *k = capturing;
    capturing = NULL;
    enter();
    k->request = request;
    k->next = persistent[BUCKET(request)];
    persistent[BUCKET(request)] = k;
    leave();
}

static void started(MPI_Request request) {
    if (!counting()) return;
    enter();
    struct kept *k = persistent[BUCKET(request)];
    while (k && k->request != request) k = k->next;
    for (int i = 0; k && i < k->used; i++) apply(k->events[i].group, k->events[i].kind, k->events[i].peer, k->events[i].bytes);
    leave();
}

int MPI_Start(MPI_Request *r) {
    started(*r);
    return PMPI_Start(r);
}

int MPI_Startall(int n, MPI_Request r[]) {
    for (int i = 0; i < n; i++) started(r[i]);
    return PMPI_Startall(n, r);
}

int MPI_Request_free(MPI_Request *r) {
    enter();
    struct kept **k = &persistent[BUCKET(*r)];
    while (*k && (*k)->request != *r) k = &(*k)->next;
    if (*k) {
        struct kept *gone = *k;
        *k = gone->next;
        free(gone->events), free(gone);
    }
    leave();
    return PMPI_Request_free(r);
}

/* ------------------------------------------------------------ the file */

static void write_counts(void) {
    if (!out) return;
    enter();
    for (struct group *g = groups; g; g = g->next) {
        if (!g->named) {
            fprintf(out, "group %d", g->id);
            for (int i = 0; i < g->size; i++) fprintf(out, " %d", g->world[i]);
            fprintf(out, "\n");
            g->named = 1;
        }
        for (int way = 0; way < WAYS; way++) {
            struct tally *row = g->rows[way];
            for (int i = 0; row && i < g->size; i++)
                if (row[i].messages)
                    fprintf(out, "%s %d %d %d %lld %lld\n", NAMES[way], phase, g->id, g->world[i], row[i].bytes, row[i].messages);
            if (row) memset(row, 0, sizeof *row * (size_t)g->size);
        }
        for (struct call *c = g->calls; c; c = c->next) {
            if (c->times) fprintf(out, "call %d %d %s %d %lld %lld\n", phase, g->id, KINDS[c->kind], c->root, c->bytes, c->times);
            c->bytes = c->times = 0;
        }
        if (g->skipped) fprintf(out, "skipped %d\n", g->skipped);
        g->skipped = 0;
    }
    leave();
}

static void begin(void) {
    const char *folder = getenv("HOPBYTES_RECORD_FOLDER"), *skip = getenv("HOPBYTES_RECORD_SKIP");
    char path[4096], host[MPI_MAX_PROCESSOR_NAME + 1] = "", version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    if (!folder || active) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    snprintf(path, sizeof path, "%s/rank.%d.txt", folder, world_rank);
    out = fopen(path, "w");
    if (!out) return; /* the reader misses this rank and says so */
    PMPI_Get_processor_name(host, &length);
    PMPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = 0;
    fprintf(out, "hopbytes recording 1\nrank %d %d\nhost %s\nmpi %s\n", world_rank, world_size, host, version);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_freed, &comm_key, NULL);
    PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_freed, &win_key, NULL);
    began = PMPI_Wtime();
    skip_until = skip && atof(skip) > 0 ? began + atof(skip) : 0;
    active = 1;
}

int MPI_Init(int *argc, char ***argv) {
    int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS) begin();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given) {
    int code = PMPI_Init_thread(argc, argv, wanted, given);
    if (code == MPI_SUCCESS) begin();
    return code;
}

int MPI_Finalize(void) {
    if (active) {
        write_counts();
        fprintf(out, "split_type %d\nseconds %.6f\nend\n", split_types, PMPI_Wtime() - began);
        fclose(out);
        out = NULL, active = 0;
    }
    return PMPI_Finalize();
}

/* 0 pauses, 1 goes on, another level begins a phase of that number. */
int MPI_Pcontrol(const int level, ...) {
    if (active && level > 1) write_counts(), phase = level;
    paused = level == 0;
    return PMPI_Pcontrol(level);
}

int MPI_Comm_split_type(MPI_Comm c, int kind, int key, MPI_Info info, MPI_Comm *made) {
    split_types++;
    return PMPI_Comm_split_type(c, kind, key, info, made);
}

#include "interposer_calls.h"
