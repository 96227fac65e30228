/* The order of what a rank does, for a replay: a step per message sent, receive posted or completed, and
 * collective call. Steps are kept in memory up to the number that HOPBYTES_RECORD_ORDER allows, and written
 * to a file of their own at the end. Tags are those of the program; sources that were not known when a
 * receive was posted are filled in when it completes.
 */
enum { NO_TAG = -1 };
struct step {
    /* p: receive posted, w: completed, a: blocks follow, b: block, c: collective; sent: s by a call that
     * returns at once, S by one that may block, y and Y the same if it waits for the receiver; f: a send
     * has been waited for */
    char what;
    int peer, tag, group;
    long long bytes;
};

/* A receive that has been posted, or can be started again and again; or a send that will be waited for. */
struct awaited {
    MPI_Request request;
    struct group *group;
    int source, tag, post, again, is_send;
    struct awaited *next;
};

static struct step *steps;
static long long steps_used, steps_room, steps_allowed, one_sided;
static int posts, sends, over;
static struct awaited *receives[BUCKETS];
/* Of the message that the call of this thread sends: tag, kind of step, and number of the send or -1. */
PER_THREAD int message_tag = NO_TAG, message_number = -1;
PER_THREAD char message_kind = 's';

static int ordering(void) { return steps_allowed > 0 && !over && listening(); }
/* Whether a call is of interest to anything. */
static int noted(void) { return counting() || ordering() || capturing; }

static void add_step(char what, int peer, int tag, int group, long long bytes) {
    if (steps_used == steps_allowed) { over = 1; return; }
    if (steps_used == steps_room) {
        steps_room = steps_room ? 2 * steps_room : 1024;
        struct step *more = realloc(steps, sizeof *steps * (size_t)steps_room);
        if (!more) { over = 1, steps_room = steps_used, steps_allowed = steps_used; return; }
        steps = more;
    }
    steps[steps_used++] = (struct step){what, peer, tag, group, bytes};
}

/* A counted event; blocks of collectives with a count per rank have no tag. */
static void order_event(struct group *g, int kind, int peer, int tag, long long bytes) {
    if (kind >= 0) add_step('c', peer, kind, g->id, bytes);
    else if (kind == SENT && tag != NO_TAG) {
        add_step(message_kind, g->world[peer], tag, g->id, bytes);
        message_number = over ? -1 : sends++;
    }
    else add_step('b', g->world[peer], NO_TAG, g->id, bytes);
}

static void order_blocks(MPI_Comm comm) {
    if (!ordering() || capturing) return;
    enter();
    add_step('a', 0, NO_TAG, group_of(comm)->id, 0);
    leave();
}

/* ------------------------------------------------------------ receives */

static int posted(struct group *g, int source, int tag) {
    add_step('p', source >= 0 && source < g->size ? g->world[source] : -1, tag, g->id, 0);
    return over ? -1 : posts++;
}

/* A step of completion refers to its receive or send by number; source and tag are those of the message. */
static void send_completed(struct group *g, int number) { add_step('f', -1, NO_TAG, g->id, number); }

static void completed(struct group *g, int post, const MPI_Status *status) {
    int source = status->MPI_SOURCE;
    if (post < 0 || source < 0 || source >= g->size) return;
    add_step('w', g->world[source], status->MPI_TAG, g->id, post);
}

static struct awaited *new_awaited(MPI_Request request, MPI_Comm comm, int source, int tag) {
    struct awaited *w = calloc(1, sizeof *w), **bucket = &receives[BUCKET(request)];
    *w = (struct awaited){request, group_of(comm), source, tag, -1, 0, 0, *bucket};
    return *bucket = w;
}

static void await(MPI_Request request, MPI_Comm comm, int source, int tag, int again) {
    if (!ordering() || source == MPI_PROC_NULL) return;
    enter();
    struct awaited *w = new_awaited(request, comm, source, tag);
    w->again = again;
    if (!again) w->post = posted(w->group, source, tag);
    leave();
}

static void await_send(MPI_Request request, MPI_Comm comm) {
    int number = message_number;
    message_number = -1;
    if (number < 0) return;
    enter();
    struct awaited *w = new_awaited(request, comm, -1, NO_TAG);
    w->post = number, w->is_send = 1;
    leave();
}

static void start_receive(MPI_Request request) {
    struct awaited *w = receives[BUCKET(request)];
    while (w && w->request != request) w = w->next;
    if (w && w->again && ordering()) w->post = posted(w->group, w->source, w->tag);
}

static void finished(MPI_Request request, const MPI_Status *status) {
    if (request == MPI_REQUEST_NULL) return;
    enter();
    struct awaited **w = &receives[BUCKET(request)];
    while (*w && (*w)->request != request) w = &(*w)->next;
    if (*w && (*w)->post >= 0) {
        struct awaited *found = *w;
        if (found->is_send) send_completed(found->group, found->post);
        else completed(found->group, found->post, status);
        found->post = -1;
        if (!found->again) *w = found->next, free(found);
    }
    leave();
}

/* A call under both of its names. NOTE is counted in any case; if the order is kept, the last argument does
 * the work, with the function behind the call as next_call.
 */
#define BOTH_NAMES(F, PARAMS, ARGS, ...) BOTH_NOTED(F, , PARAMS, ARGS, __VA_ARGS__)
#define BOTH_NOTED(F, NOTE, PARAMS, ARGS, ...) \
    ORDERED(MPI_##F, NOTE, PARAMS, ARGS, __VA_ARGS__) ORDERED(PMPI_##F, NOTE, PARAMS, ARGS, __VA_ARGS__)
#define ORDERED(NAME, NOTE, PARAMS, ARGS, ...) \
    int NAME PARAMS { \
        if (!depth) { NOTE; } \
        if (depth || !steps_allowed) { depth++; int code = NEXT(NAME) ARGS; depth--; return code; } \
        __typeof__(NAME) *next_call = NEXT(NAME); \
        __VA_ARGS__ \
    }
#define OWN_STATUS MPI_Status known, *used = s == MPI_STATUS_IGNORE ? &known : s;
#define PASS(CALL) depth++; int code = CALL; depth--;

static int post_now(MPI_Comm comm, int source, int tag) {
    if (!ordering() || source == MPI_PROC_NULL) return -1;
    enter();
    int post = posted(group_of(comm), source, tag);
    leave();
    return post;
}

static void complete_now(MPI_Comm comm, int post, const MPI_Status *status) {
    if (post < 0) return;
    enter();
    completed(group_of(comm), post, status);
    leave();
}

static void complete_send(MPI_Comm comm, int number) {
    if (number < 0) return;
    enter();
    send_completed(group_of(comm), number);
    leave();
}

#define AWAITED(F, N, AGAIN) \
    AROUND_BOTH(F, , if (code == MPI_SUCCESS) await(*request, c, from, tag, AGAIN), \
        (void *b, N n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *request), \
        (b, n, t, from, tag, c, request))
#define RECEIVES(S, N) \
    BOTH_NAMES(Recv##S, (void *b, N n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), \
        (b, n, t, from, tag, c, s), \
        int post = post_now(c, from, tag); OWN_STATUS \
        PASS(next_call(b, n, t, from, tag, c, used)) complete_now(c, post, used); return code;) \
    AWAITED(Irecv##S, N, 0) AWAITED(Recv_init##S, N, 1)

BOTH_NAMES(Wait, (MPI_Request *r, MPI_Status *s), (r, s), MPI_Request before = *r; OWN_STATUS
    PASS(next_call(r, used)) finished(before, used); return code;)
BOTH_NAMES(Test, (MPI_Request *r, int *flag, MPI_Status *s), (r, flag, s), MPI_Request before = *r; OWN_STATUS
    PASS(next_call(r, flag, used)) if (*flag) finished(before, used); return code;)

/* Copies of requests, which completed calls overwrite, and statuses where the program wants none. */
struct several {
    MPI_Request *before;
    MPI_Status *statuses, *own;
};

static struct several several(int n, const MPI_Request *requests, MPI_Status *statuses) {
    struct several all = {malloc(sizeof *requests * (size_t)(n + 1)), statuses, NULL};
    memcpy(all.before, requests, sizeof *requests * (size_t)n);
    if (statuses == MPI_STATUSES_IGNORE) all.statuses = all.own = calloc((size_t)n + 1, sizeof *statuses);
    return all;
}

/* indices NULL: all of them. */
static void several_finished(struct several all, int n, const int *indices) {
    for (int i = 0; i < n; i++) finished(all.before[indices ? indices[i] : i], &all.statuses[i]);
    free(all.before), free(all.own);
}

BOTH_NAMES(Waitall, (int n, MPI_Request r[], MPI_Status *s), (n, r, s), struct several all = several(n, r, s);
    PASS(next_call(n, r, all.statuses)) several_finished(all, n, NULL); return code;)
BOTH_NAMES(Testall, (int n, MPI_Request r[], int *flag, MPI_Status *s), (n, r, flag, s),
    struct several all = several(n, r, s);
    PASS(next_call(n, r, flag, all.statuses)) several_finished(all, *flag ? n : 0, NULL); return code;)
#define SOME(F) \
    BOTH_NAMES(F, (int n, MPI_Request r[], int *done, int at[], MPI_Status *s), (n, r, done, at, s), \
        struct several all = several(n, r, s); PASS(next_call(n, r, done, at, all.statuses)) \
        several_finished(all, *done == MPI_UNDEFINED ? 0 : *done, at); return code;)
SOME(Waitsome)
SOME(Testsome)
BOTH_NAMES(Waitany, (int n, MPI_Request r[], int *at, MPI_Status *s), (n, r, at, s),
    struct several all = several(n, r, MPI_STATUSES_IGNORE); OWN_STATUS PASS(next_call(n, r, at, used))
    all.statuses[0] = *used; several_finished(all, *at != MPI_UNDEFINED, at); return code;)
BOTH_NAMES(Testany, (int n, MPI_Request r[], int *at, int *flag, MPI_Status *s), (n, r, at, flag, s),
    struct several all = several(n, r, MPI_STATUSES_IGNORE); OWN_STATUS PASS(next_call(n, r, at, flag, used))
    all.statuses[0] = *used; several_finished(all, *flag && *at != MPI_UNDEFINED, at); return code;)
RECEIVES(, int)
#ifdef LARGE_COUNTS
RECEIVES(_c, MPI_Count)
#endif

/* ------------------------------------------------------------ the file */

static void write_order(void) {
    const char *folder = getenv("HOPBYTES_RECORD_FOLDER");
    char path[4096];
    if (steps_allowed <= 0 || !folder) return;
    snprintf(path, sizeof path, "%s/order.%d.txt", folder, world_rank);
    FILE *file = fopen(path, "w");
    if (!file) return;
    for (struct group *g = groups; g; g = g->next) {
        fprintf(file, "g %d %d", g->id, g->first);
        for (int i = 0; i < g->all; i++) fprintf(file, " %d", g->listed[i]);
        fprintf(file, "\n");
    }
    for (long long i = 0; i < steps_used; i++)
        fprintf(file, "%c %d %d %d %lld\n", steps[i].what, steps[i].peer, steps[i].tag, steps[i].group,
            steps[i].bytes);
    fprintf(file, "%s %lld\n", over ? "over" : "end", one_sided);
    fclose(file);
}
