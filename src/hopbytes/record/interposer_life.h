/* Beginning and end: MPI_Init and MPI_Finalize, or the first and last session; what is asked of MPI besides. */
#include "interposer_components.h"

static void open_file(const char *folder) {
    char path[4096], host[MPI_MAX_PROCESSOR_NAME + 1] = "", version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    snprintf(path, sizeof path, "%s/rank.%d.txt", folder, world_rank);
    out = fopen(path, opened ? "a" : "w");
    if (!out || opened) return; /* without a file the reader misses this rank and says so */
    opened = 1;
    PMPI_Get_processor_name(host, &length);
    PMPI_Get_library_version(version, &length);
    fprintf(out, "hopbytes recording 1\nrank %d %d\nhost %s\n", world_rank, world_size, host);
    for (char *line = strtok(version, "\n"); line; line = strtok(NULL, "\n"))
        if (line == version || strstr(line, "Device")) fprintf(out, "mpi %s\n", line);
    fflush(out); /* so that a rank that dies is told from one that was never there */
}

/* `world` is MPI_COMM_WORLD's group or that of the process set of this name; it is ours from here on. */
static void begin(MPI_Group world) {
    const char *folder = getenv("HOPBYTES_RECORD_FOLDER"), *skip = getenv("HOPBYTES_RECORD_SKIP");
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
    active = 1;
}

static void end(void) {
    if (users == 0 || --users) return;
    if (out) {
        write_counts();
        write_components();
        if (split_types) fprintf(out, "split_type %d\n", split_types);
        if (shared_windows) fprintf(out, "shared %d\n", shared_windows);
        if (spawned) fprintf(out, "spawned %d\n", spawned);
        if (outside) fprintf(out, "outside %d\n", outside);
        fprintf(out, "seconds %.6f\nend\n", PMPI_Wtime() - began);
        fclose(out);
        split_types = shared_windows = spawned = outside = 0;
    }
    out = NULL, active = 0;
}

/* A program that another one spawned has a world of its own, which is not the one that is recorded. */
static void begin_world(void) {
    MPI_Comm parent;
    MPI_Group world;
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    begin(world);
}

AROUND_BOTH(Init, , if (code == MPI_SUCCESS) begin_world(), (int *argc, char ***argv), (argc, argv))
AROUND_BOTH(Init_thread, , if (code == MPI_SUCCESS) begin_world(), (int *argc, char ***argv, int wanted, int *given),
            (argc, argv, wanted, given))
AROUND(Finalize, end(), (void), ())

#ifdef NEW_CALLS
static void begin_session(MPI_Session session) {
    MPI_Group world;
    if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS) return;
    begin(world);
}

AROUND_BOTH(Session_init, , if (code == MPI_SUCCESS) begin_session(*session),
            (MPI_Info info, MPI_Errhandler handler, MPI_Session *session), (info, handler, session))
AROUND(Session_finalize, end(), (MPI_Session *session), (session))
#endif

/* 0 pauses, 1 goes on, another level begins a phase of that number. */
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
       (MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, void *base, MPI_Win *win), (size, unit, info, c, base, win))
#ifdef LARGE_COUNTS
AROUND(Win_allocate_shared_c, shared_windows++,
       (MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm c, void *base, MPI_Win *win),
       (size, unit, info, c, base, win))
#endif
AROUND(Comm_spawn, spawned++,
       (const char *command, char *argv[], int n, MPI_Info info, int root, MPI_Comm c, MPI_Comm *made, int codes[]),
       (command, argv, n, info, root, c, made, codes))
AROUND(Comm_spawn_multiple, spawned++,
       (int n, char *commands[], char **argvs[], const int many[], const MPI_Info infos[], int root, MPI_Comm c,
        MPI_Comm *made, int codes[]),
       (n, commands, argvs, many, infos, root, c, made, codes))
