/* Begins to count at MPI_Init, or at the first MPI session, and ends at MPI_Finalize, or with the last
 * session. The file also wraps MPI_Pcontrol and the calls that only set a flag in the recording.
 */
#include "interposer_components.h"
#include "interposer_clash.h"
#include <fcntl.h>

/* A program that loads another MPI library than this one would call functions of both. The process
 * therefore ends here, and a file tells hopbytes which two libraries were loaded.
 */
static void refuse_two(void) {
    const char *folder = getenv("HOPBYTES_RECORD_FOLDER");
    struct libraries two = {"", ""};
    char path[4096];
    if (!folder || !other_library(&two)) return;
    snprintf(path, sizeof path, "%s/clash.%ld", folder, (long)getpid());
    FILE *clash = fopen(path, "w");
    if (clash) fprintf(clash, "%s\n%s\n", two.ours, two.other), fclose(clash);
    _exit(1);
}

/* ------------------------------------------------------------ the file of this rank */

/* Open the file of this rank. Only one process may use it: if the launcher belongs to another MPI library,
 * every process is rank 0 of its own world. A process that finds the file taken leaves a file "again."
 * instead.
 */
static FILE *own_file(const char *folder, const char *host) {
    char path[4096];
    snprintf(path, sizeof path, "%s/rank.%d.txt", folder, world_rank);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (opened ? O_APPEND : O_EXCL), 0600);
    if (descriptor >= 0) return fdopen(descriptor, "a");
    snprintf(path, sizeof path, "%s/again.%d.%s.%ld", folder, world_rank, host, (long)getpid());
    descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor >= 0) close(descriptor);
    return NULL;
}

static void open_file(const char *folder) {
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "", version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    PMPI_Get_processor_name(host, &length);
    out = own_file(folder, host);
    if (!out || opened) return; /* if there is no file, the reader reports that this rank is missing */
    opened = 1;
    PMPI_Get_library_version(version, &length);
    fprintf(out, "hopbytes recording 1\nrank %d %d\nhost %s\n", world_rank, world_size, host);
    for (char *line = strtok(version, "\n"); line; line = strtok(NULL, "\n"))
        if (line == version || strstr(line, "Device")) fprintf(out, "mpi %s\n", line);
    fflush(out); /* so that the reader can tell a rank that died from one that never started */
}

#include "interposer_cut.h"

/* `world` is the group of MPI_COMM_WORLD or of the process set mpi://WORLD. This function takes ownership
 * of it.
 */
static void begin(MPI_Group world) {
    const char *folder = getenv("HOPBYTES_RECORD_FOLDER"), *skip = getenv("HOPBYTES_RECORD_SKIP");
    const char *order = getenv("HOPBYTES_RECORD_ORDER"), *kept = getenv("HOPBYTES_RECORD_KEPT");
    if (users++ || !folder) return;
    world_group = world;
    PMPI_Group_rank(world, &world_rank);
    PMPI_Group_size(world, &world_size);
    if (world_rank < 0) return;
    open_file(folder);
    if (!out) return;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_freed, &comm_key, NULL);
    PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_freed, &win_key, NULL);
    last_group = NULL;
    if (began == 0) {
        began = PMPI_Wtime();
        skip_until = skip && atof(skip) > 0 ? began + atof(skip) : 0;
    }
    witness = getenv("HOPBYTES_RECORD_WITNESS") != NULL;
    /* A number of steps per rank, or one that all ranks share. */
    steps_allowed = order ? atoll(order) : 0;
    if (!order && kept) steps_allowed = atoll(kept) / world_size > 64 ? atoll(kept) / world_size : 64;
    active = 1;
    watch_for_signals();
}

static void end(void) {
    sigset_t all, before;
    if (users == 0 || --users) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no signal may interrupt the writing of the last lines */
    pthread_mutex_lock(&closing);
    if (out) {
        write_counts();
        write_order();
        write_components();
        write_facts();
        fprintf(out, "seconds %.6f\nend\n", PMPI_Wtime() - began);
        fclose(out);
    }
    out = NULL, active = 0;
    pthread_mutex_unlock(&closing);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A spawned program has an MPI_COMM_WORLD of its own, which is not the one that is recorded. */
static void begin_world(void) {
    MPI_Comm parent;
    MPI_Group world;
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    begin(world);
}

AROUND_BOTH(Init, refuse_two(), if (code == MPI_SUCCESS) begin_world(),
            (int *argc, char ***argv), (argc, argv))
AROUND_BOTH(Init_thread, refuse_two(), if (code == MPI_SUCCESS) begin_world(),
            (int *argc, char ***argv, int wanted, int *given), (argc, argv, wanted, given))
AROUND(Finalize, end(), (void), ())

#ifdef NEW_CALLS
static void begin_session(MPI_Session session) {
    MPI_Group world;
    if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS) return;
    begin(world);
}

AROUND_BOTH(Session_init, refuse_two(), if (code == MPI_SUCCESS) begin_session(*session),
            (MPI_Info info, MPI_Errhandler handler, MPI_Session *session), (info, handler, session))
AROUND(Session_finalize, end(), (MPI_Session *session), (session))
#endif

/* Level 0 of MPI_Pcontrol pauses counting, level 1 resumes it, and a level above 1 begins the phase of that
 * number.
 */
static void control(int level) {
    if (active && level > 1) write_counts(), phase = level;
    paused = level == 0;
}

int MPI_Pcontrol(const int level, ...) {
    if (!depth) control(level);
    return NEXT(MPI_Pcontrol)(level);
}

int PMPI_Pcontrol(const int level, ...) {
    if (!depth) control(level);
    return NEXT(PMPI_Pcontrol)(level);
}

AROUND(Comm_split_type, split_types++, (MPI_Comm c, int kind, int key, MPI_Info info, MPI_Comm *made),
       (c, kind, key, info, made))
AROUND(Win_allocate_shared, shared_windows++,
       (MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, void *base, MPI_Win *win),
       (size, unit, info, c, base, win))
#ifdef LARGE_COUNTS
AROUND(Win_allocate_shared_c, shared_windows++,
       (MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm c, void *base, MPI_Win *win),
       (size, unit, info, c, base, win))
#endif
AROUND(Comm_spawn, spawned++,
       (const char *command, char *argv[], int n, MPI_Info info, int root, MPI_Comm c, MPI_Comm *made,
        int codes[]), (command, argv, n, info, root, c, made, codes))
AROUND(Comm_spawn_multiple, spawned++,
       (int n, char *commands[], char **argvs[], const int many[], const MPI_Info infos[], int root,
        MPI_Comm c, MPI_Comm *made, int codes[]), (n, commands, argvs, many, infos, root, c, made, codes))
