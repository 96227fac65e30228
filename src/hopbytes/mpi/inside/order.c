/* Gives MPI_COMM_WORLD another order of ranks. The library is preloaded before the MPI library. At MPI_Init rank
 * 0 starts hopbytes, which answers with the new rank of every process, and a communicator with that order takes
 * the place of MPI_COMM_WORLD in every call. The topology functions do the same for reorder = 1.
 *
 * The wrappers (calls.h) are generated from the mpi.h that the compiler finds; those with a function special_NAME
 * here call it. The first argument of such a function is the next function of that name.
 */
#include "../../record/interposer.h"
#include "../../record/interposer_clash.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;

/* Calls of this library itself go to the next library, since others may count the calls of the program. */
#define REAL(F) NEXT(PMPI_##F)
#define IN(comm) ((comm) == MPI_COMM_WORLD ? world : (comm))

static MPI_Comm world = MPI_COMM_WORLD;
static int *order, started; /* order: new rank of each process of MPI_COMM_WORLD, NULL: its own */
static int world_in_fortran, ours_in_fortran;

static void say(const char *what) {
    fprintf(stderr, "hopbytes: %s; the ranks keep the order of the launcher\n", what);
}

static int number_of(MPI_Comm comm); /* in calls.h: its number in Fortran */

static void *in_fortran(void *comm) {
    return order && *(int *)comm == world_in_fortran ? &ours_in_fortran : comm;
}

/* ------------------------------------------------------------ the place of this process */

static const char *const UNITS[] = {"topology/package_cpus_list", "cache/index3/shared_cpu_list",
    "cache/index2/shared_cpu_list", "topology/core_cpus_list"};

/* Write the first line of a file, as far as it fits; nothing if there is none. */
static void copy_line(FILE *to, const char *path) {
    char line[4096] = "";
    FILE *from = fopen(path, "re");
    if (from && fgets(line, sizeof line, from)) line[strcspn(line, "\n\t")] = 0;
    if (from) fclose(from);
    fprintf(to, "\t%s", line);
}

/* A number that differs, most likely, between processes that run different programs or arguments. */
static unsigned long long program_number(void) {
    unsigned long long number = 14695981039346656037ull;
    int *section, found = 0, c;
    FILE *words = fopen("/proc/self/cmdline", "re");
    while (words && (c = getc(words)) != EOF) number = (number ^ (unsigned)c) * 1099511628211ull;
    if (words) fclose(words);
    if (REAL(Comm_get_attr)(MPI_COMM_WORLD, MPI_APPNUM, &section, &found) == MPI_SUCCESS && found)
        number = (number ^ (unsigned)*section) * 1099511628211ull;
    return number;
}

/* Write a line with host, program, CPUs, and the units of the first CPU: what hopbytes.mpi.processes reads. */
static void write_place(FILE *to) {
    enum { MOST = 1 << 16 };
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "", path[128];
    int length = 0, first = -1;
    cpu_set_t *set = CPU_ALLOC(MOST);
    REAL(Get_processor_name)(host, &length);
    host[strcspn(host, "\t\n")] = 0;
    fprintf(to, "process\t%s\t%llx\t", host, program_number());
    if (set && !sched_getaffinity(0, CPU_ALLOC_SIZE(MOST), set))
        for (int cpu = 0, begin = -1; cpu <= MOST; cpu++) {
            int in = cpu < MOST && CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(MOST), set);
            if (in && begin < 0) begin = cpu;
            if (in || begin < 0) continue;
            fprintf(to, first < 0 ? "%d-%d" : ",%d-%d", begin, cpu - 1);
            first = first < 0 ? begin : first;
            begin = -1;
        }
    if (set) CPU_FREE(set);
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", first, UNITS[i]);
        copy_line(to, path);
    }
    fputc('\n', to);
}

/* ------------------------------------------------------------ question and answer */

/* Start the script with `question` as its input and return what it prints; NULL if it does not start. It does
 * not load this library. The program may have any handling of signals: no signal comes from the socket.
 */
static char *script_says(const char *script, const char *question) {
    int ends[2], from, count = 0;
    char *words[] = {"sh", (char *)script, NULL}, *said = NULL, part[4096], **variables;
    size_t size = 0, length = strlen(question);
    ssize_t n = 0;
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return NULL;
    while (environ[count]) count++;
    variables = calloc((size_t)count + 1, sizeof *variables);
    for (int i = from = 0; i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11)) variables[from++] = environ[i];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int failed = posix_spawn(&child, "/bin/sh", &actions, NULL, words, variables);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    free(variables);
    FILE *text = open_memstream(&said, &size);
    while (!failed && length && ((n = send(ends[0], question, length, MSG_NOSIGNAL)) > 0 || errno == EINTR))
        if (n > 0) question += n, length -= (size_t)n;
    shutdown(ends[0], SHUT_WR);
    while (!failed && ((n = read(ends[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0) fwrite(part, 1, (size_t)n, text);
    fclose(text);
    close(ends[0]);
    if (!failed) while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    return said;
}

/* Read n new ranks; return 0 and say why if the text does not hold each rank once. */
static int read_ranks(char *said, int n, int *ranks) {
    char *seen = calloc((size_t)n, 1), *at = said, *end;
    int i = 0;
    while (said && i < n) {
        long rank = strtol(at, &end, 10);
        if (end == at || rank < 0 || rank >= n || seen[rank]) break;
        seen[rank] = 1, ranks[i++] = (int)rank, at = end;
    }
    free(seen);
    if (i == n && !at[strspn(at, " \n")]) return 1;
    if (said) said[strcspn(said, "\n")] = 0;
    if (said && !strncmp(said, "error ", 6)) say(said + 6);
    else say("the program that orders the ranks gave no order");
    return 0;
}

static int is_identity(const int *ranks, int n) {
    for (int i = 0; i < n; i++) if (ranks[i] != i) return 0;
    return 1;
}

/* Wait without using the core, which other processes may need: rank 0 has a program to run. */
static void broadcast(void *value, int n, MPI_Comm comm) {
    struct timespec pause = {0, 1000000};
    MPI_Request request;
    int done = 0;
    REAL(Ibcast)(value, n, MPI_INT, 0, comm, &request);
    while (REAL(Test)(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) nanosleep(&pause, NULL);
}

/* Gather the lines of all processes of a communicator on its rank 0, which asks hopbytes. Return the new rank of
 * each process, NULL if all keep their own; the caller frees it. `lines` is freed here.
 */
static int *new_ranks(MPI_Comm comm, char *lines) {
    int n, rank, length = (int)strlen(lines), good = 0, *lengths = NULL, *starts = NULL, *ranks;
    char *all = NULL, *said = NULL;
    REAL(Comm_size)(comm, &n);
    REAL(Comm_rank)(comm, &rank);
    ranks = malloc(sizeof *ranks * (size_t)n);
    if (!rank) lengths = calloc((size_t)n + 1, sizeof *lengths), starts = calloc((size_t)n + 1, sizeof *starts);
    REAL(Gather)(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm);
    long long total = 0;
    for (int i = 0; !rank && i < n; i++) starts[i] = (int)total, total += lengths[i];
    good = total < INT_MAX;
    broadcast(&good, 1, comm);
    if (good) {
        if (!rank) all = calloc((size_t)total + 1, 1);
        REAL(Gatherv)(lines, length, MPI_CHAR, all, lengths, starts, MPI_CHAR, 0, comm);
    } else if (!rank) say("the descriptions of all processes take more than 2^31 bytes");
    if (good && !rank) {
        said = script_says(getenv("HOPBYTES_INSIDE"), all);
        good = read_ranks(said, n, ranks) && !is_identity(ranks, n);
    }
    broadcast(&good, 1, comm);
    if (good) broadcast(ranks, n, comm);
    free(all), free(said), free(lengths), free(starts), free(lines);
    if (good) return ranks;
    free(ranks);
    return NULL;
}

/* ------------------------------------------------------------ MPI_COMM_WORLD */

/* Free our communicator when MPI_Finalize deletes the attributes of MPI_COMM_SELF: that of this library was set
 * first, so it is deleted last, and communication is still possible then.
 */
static int at_end(MPI_Comm self, int key, void *value, void *extra) {
    MPI_Comm made = world;
    (void)self, (void)key, (void)value, (void)extra;
    if (made != MPI_COMM_WORLD) REAL(Comm_free)(&made);
    world = MPI_COMM_WORLD, ours_in_fortran = world_in_fortran;
    return MPI_SUCCESS;
}

static void replace_world(void) {
    int rank, mine, key;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Info info;
    REAL(Comm_rank)(MPI_COMM_WORLD, &rank);
    if (REAL(Comm_split)(MPI_COMM_WORLD, 0, order[rank], &made) != MPI_SUCCESS) return;
    REAL(Comm_rank)(made, &mine);
    REAL(Comm_set_name)(made, "MPI_COMM_WORLD");
    if (REAL(Comm_get_info)(MPI_COMM_WORLD, &info) == MPI_SUCCESS) {
        REAL(Comm_set_info)(made, info);
        REAL(Info_free)(&info);
    }
    REAL(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
    REAL(Comm_set_attr)(MPI_COMM_SELF, key, NULL);
    REAL(Comm_free_keyval)(&key);
    world_in_fortran = number_of(MPI_COMM_WORLD), ours_in_fortran = number_of(made);
    world = made;
}

/* The variable names the script; without it, or in a spawned program, everything stays as it is. */
static void set_order(void) {
    MPI_Comm parent = MPI_COMM_NULL;
    char *lines = NULL;
    size_t size;
    if (started++ || !getenv("HOPBYTES_INSIDE")) return;
    REAL(Comm_get_parent)(&parent);
    if (parent != MPI_COMM_NULL) return;
    FILE *text = open_memstream(&lines, &size);
    fputs("world\n", text);
    write_place(text);
    fclose(text);
    order = new_ranks(MPI_COMM_WORLD, lines);
    if (order) replace_world();
}

static void refuse_two(void) {
    struct libraries two = {"", ""};
    if (!getenv("HOPBYTES_INSIDE") || !other_library(&two)) return;
    fprintf(stderr, "hopbytes: the program loads %s, but the library that orders ranks was built for %s, expected "
        "the compiler of its MPI (--cc)\n", two.other, two.ours);
    _exit(1);
}

static int special_Init(int (*next)(int *, char ***), int *argc, char ***argv) {
    if (!depth) refuse_two();
    depth++;
    int code = next(argc, argv);
    if (!--depth && code == MPI_SUCCESS) depth++, set_order(), depth--;
    return code;
}

static int special_Init_thread(int (*next)(int *, char ***, int, int *), int *argc, char ***argv, int wanted,
    int *given) {
    if (!depth) refuse_two();
    depth++;
    int code = next(argc, argv, wanted, given);
    if (!--depth && code == MPI_SUCCESS) depth++, set_order(), depth--;
    return code;
}

#ifdef NEW_CALLS
/* A session begins without communication, so its processes cannot be asked where they run. */
static int special_Session_init(int (*next)(MPI_Info, MPI_Errhandler, MPI_Session *), MPI_Info info,
    MPI_Errhandler handler, MPI_Session *session) {
    int ready = 0;
    if (!depth) refuse_two();
    depth++;
    int code = next(info, handler, session);
    depth--;
    REAL(Initialized)(&ready);
    if (!depth && !ready && code == MPI_SUCCESS && getenv("HOPBYTES_INSIDE")) {
        MPI_Group all;
        int rank = -1;
        if (!started++ && REAL(Group_from_session_pset)(*session, "mpi://WORLD", &all) == MPI_SUCCESS) {
            REAL(Group_rank)(all, &rank);
            REAL(Group_free)(&all);
            if (!rank) say("the program uses sessions before MPI_Init");
        }
    }
    return code;
}

/* The group of all processes has the order of MPI_COMM_WORLD in a session, too. */
static int special_Group_from_session_pset(int (*next)(MPI_Session, const char *, MPI_Group *), MPI_Session session,
    const char *name, MPI_Group *group) {
    int n, code = next(session, name, group);
    if (code != MPI_SUCCESS || !order || depth || strcasecmp(name, "mpi://WORLD")) return code;
    MPI_Group launched = *group;
    REAL(Group_size)(launched, &n);
    int *process = malloc(sizeof *process * (size_t)n);
    for (int i = 0; i < n; i++) process[order[i]] = i;
    code = REAL(Group_incl)(launched, n, process, group);
    REAL(Group_free)(&launched);
    free(process);
    return code;
}
#endif

/* What MPI itself attaches to MPI_COMM_WORLD is not attached to our communicator, nor to its copies. */
static int special_Comm_get_attr(int (*next)(MPI_Comm, int, void *, int *), MPI_Comm comm, int key, void *value,
    int *found) {
    int code = next(IN(comm), key, value, found);
    int of_world = comm == MPI_COMM_WORLD || key == MPI_TAG_UB || key == MPI_HOST || key == MPI_IO ||
        key == MPI_WTIME_IS_GLOBAL;
    if (order && code == MPI_SUCCESS && !*found && of_world) code = next(MPI_COMM_WORLD, key, value, found);
    return code;
}
#define special_Attr_get special_Comm_get_attr

/* Errors without a communicator are raised on MPI_COMM_WORLD itself. */
static int special_Comm_set_errhandler(int (*next)(MPI_Comm, MPI_Errhandler), MPI_Comm comm,
    MPI_Errhandler handler) {
    int code = next(IN(comm), handler);
    if (code == MPI_SUCCESS && IN(comm) != comm) next(comm, handler);
    return code;
}
#define special_Errhandler_set special_Comm_set_errhandler

/* ------------------------------------------------------------ topologies with reorder = 1 */

/* Return whether ranks of a communicator may be ordered, and begin the text about this process. */
static FILE *begin_question(MPI_Comm comm, int reorder, char **lines, size_t *size) {
    int inter = 1;
    if (!reorder || depth || !started || comm == MPI_COMM_NULL || !getenv("HOPBYTES_INSIDE")) return NULL;
    if (REAL(Comm_test_inter)(comm, &inter) != MPI_SUCCESS || inter) return NULL;
    FILE *text = open_memstream(lines, size);
    write_place(text);
    return text;
}

/* End the text, ask, and return a communicator with the new order; the given one if it stays. */
static MPI_Comm ordered(MPI_Comm comm, FILE *text, char **lines, int **ranks) {
    int rank;
    MPI_Comm made = comm;
    fclose(text);
    *ranks = new_ranks(comm, *lines);
    if (!*ranks) return comm;
    REAL(Comm_rank)(comm, &rank);
    return REAL(Comm_split)(comm, 0, (*ranks)[rank], &made) == MPI_SUCCESS ? made : comm;
}

/* Make the topology on the ordered communicator, which is then no longer needed. */
#define WITH_ORDER(COMM, TEXT, REORDER, CALL) do { \
    int *ranks, keep = 0, code; \
    MPI_Comm of = ordered(COMM, TEXT, &lines, &ranks); \
    if (of == COMM) keep = REORDER; \
    code = CALL; \
    if (of != COMM) REAL(Comm_free)(&of); \
    free(ranks); \
    return code; \
} while (0)

static int special_Cart_create(int (*next)(MPI_Comm, int, const int *, const int *, int, MPI_Comm *), MPI_Comm comm,
    int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *made) {
    char *lines = NULL;
    size_t size;
    int rank = 0, n = 0, valid = ndims > 0;
    long long cells = 1;
    comm = IN(comm);
    FILE *text = begin_question(comm, reorder, &lines, &size);
    if (!text) return next(comm, ndims, dims, periods, reorder, made);
    REAL(Comm_size)(comm, &n);
    REAL(Comm_rank)(comm, &rank);
    for (int d = 0; valid && d < ndims; d++) valid = dims[d] > 0 && (cells *= dims[d]) <= n;
    if (!valid) fputs("invalid\n", text); /* MPI itself says what is wrong */
    long long below = cells;
    for (int d = 0; valid && rank < cells && d < ndims; d++) {
        below /= dims[d];
        int at = (int)(rank / below % dims[d]);
        for (int step = -1; step <= 1; step += 2) {
            int to = at + step, inside = to >= 0 && to < dims[d];
            if (!inside && !periods[d]) continue;
            to = (to + dims[d]) % dims[d];
            if (to != at) fprintf(text, "%d %lld 1\n", rank, rank + (to - at) * below);
        }
    }
    WITH_ORDER(comm, text, reorder, next(of, ndims, dims, periods, keep, made));
}

static int special_Graph_create(int (*next)(MPI_Comm, int, const int *, const int *, int, MPI_Comm *), MPI_Comm comm,
    int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made) {
    char *lines = NULL;
    size_t size;
    int rank = 0, n = 0;
    comm = IN(comm);
    FILE *text = begin_question(comm, reorder, &lines, &size);
    if (!text) return next(comm, nodes, index, edges, reorder, made);
    REAL(Comm_size)(comm, &n);
    REAL(Comm_rank)(comm, &rank);
    if (nodes <= 0 || nodes > n) fputs("invalid\n", text);
    else if (rank < nodes)
        for (int i = rank ? index[rank - 1] : 0; i < index[rank]; i++) fprintf(text, "%d %d 1\n", rank, edges[i]);
    WITH_ORDER(comm, text, reorder, next(of, nodes, index, edges, keep, made));
}

static int weight_of(const int *weights, int i) {
    return weights == MPI_UNWEIGHTED || weights == MPI_WEIGHTS_EMPTY ? 1 : weights[i];
}

static int special_Dist_graph_create(int (*next)(MPI_Comm, int, const int *, const int *, const int *, const int *,
    MPI_Info, int, MPI_Comm *), MPI_Comm comm, int n, const int sources[], const int degrees[],
    const int targets[], const int weights[], MPI_Info info, int reorder, MPI_Comm *made) {
    char *lines = NULL;
    size_t size;
    comm = IN(comm);
    FILE *text = begin_question(comm, reorder, &lines, &size);
    if (!text) return next(comm, n, sources, degrees, targets, weights, info, reorder, made);
    for (int i = 0, arc = 0; i < n; i++)
        for (int end = arc + degrees[i]; arc < end; arc++)
            fprintf(text, "%d %d %d\n", sources[i], targets[arc], weight_of(weights, arc));
    WITH_ORDER(comm, text, reorder, next(of, n, sources, degrees, targets, weights, info, keep, made));
}

/* Rank i of the new communicator has the neighbours that rank i of the old one gave. So a process whose new rank
 * is i gets them from there: they move inside the new communicator, in which nothing else is under way.
 */
struct neighbours {
    int many, *ranks, *weights;
};

static struct neighbours moved(MPI_Comm in, int to, int from, int many, const int *ranks, const int *weights) {
    struct neighbours got = {0, NULL, NULL};
    int weighted = weights != MPI_UNWEIGHTED, room;
    REAL(Sendrecv)(&many, 1, MPI_INT, to, 0, &got.many, 1, MPI_INT, from, 0, in, MPI_STATUS_IGNORE);
    room = got.many + 1;
    got.ranks = calloc((size_t)(2 * room), sizeof *got.ranks);
    got.weights = got.many ? got.ranks + room : MPI_WEIGHTS_EMPTY;
    REAL(Sendrecv)(ranks, many, MPI_INT, to, 0, got.ranks, got.many, MPI_INT, from, 0, in, MPI_STATUS_IGNORE);
    if (!weighted) got.weights = MPI_UNWEIGHTED;
    else REAL(Sendrecv)(weights, many, MPI_INT, to, 0, got.ranks + room, got.many, MPI_INT, from, 0, in,
        MPI_STATUS_IGNORE);
    return got;
}

static int special_Dist_graph_create_adjacent(int (*next)(MPI_Comm, int, const int *, const int *, int, const int *,
    const int *, MPI_Info, int, MPI_Comm *), MPI_Comm comm, int indegree, const int sources[], const int sweights[],
    int outdegree, const int targets[], const int tweights[], MPI_Info info, int reorder, MPI_Comm *made) {
    char *lines = NULL;
    size_t size;
    int rank, *ranks = NULL;
    MPI_Comm of;
    comm = IN(comm);
    FILE *text = begin_question(comm, reorder, &lines, &size);
    if (!text)
        return next(comm, indegree, sources, sweights, outdegree, targets, tweights, info, reorder, made);
    REAL(Comm_rank)(comm, &rank);
    if (indegree < 0 || outdegree < 0) fputs("invalid\n", text);
    for (int i = 0; i < outdegree; i++) fprintf(text, "%d %d %d\n", rank, targets[i], weight_of(tweights, i));
    of = ordered(comm, text, &lines, &ranks);
    if (of == comm)
        return next(comm, indegree, sources, sweights, outdegree, targets, tweights, info, reorder, made);
    int from = ranks[ranks[rank]];
    struct neighbours in = moved(of, rank, from, indegree, sources, sweights);
    struct neighbours out = moved(of, rank, from, outdegree, targets, tweights);
    int code = next(of, in.many, in.ranks, in.weights, out.many, out.ranks, out.weights, info, 0, made);
    REAL(Comm_free)(&of);
    free(in.ranks), free(out.ranks), free(ranks);
    return code;
}

#include "calls.h"
