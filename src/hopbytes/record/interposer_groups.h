/* Communicators and windows: the ranks of their members in MPI_COMM_WORLD, or in the process set
 * mpi://WORLD.
 */

static struct group *groups, *last_group;
static int next_id, comm_key = MPI_KEYVAL_INVALID, win_key = MPI_KEYVAL_INVALID;
static MPI_Comm last_comm;
static MPI_Group world_group;

/* The members of a group as ranks of MPI_COMM_WORLD; -1 stands for a member that is not in it. */
static int *ranks_of(MPI_Group members, int *size) {
    PMPI_Group_size(members, size);
    int *own = malloc(sizeof(int) * (size_t)(*size + 1)), *world = malloc(sizeof(int) * (size_t)(*size + 1));
    for (int i = 0; i < *size; i++) own[i] = i;
    PMPI_Group_translate_ranks(members, *size, own, world_group, world);
    for (int i = 0; i < *size; i++)
        if (world[i] == MPI_UNDEFINED) world[i] = -1;
    free(own);
    return world;
}

static int lowest_rank(const int *ranks, int size) {
    int found = ranks[0];
    for (int i = 1; i < size; i++)
        if (ranks[i] < found) found = ranks[i];
    return found;
}

/* The handle `members` is freed. */
static struct group *new_group(MPI_Group members) {
    struct group *g = calloc(1, sizeof *g);
    g->id = next_id++;
    g->world = g->listed = ranks_of(members, &g->size);
    PMPI_Group_free(&members);
    g->all = g->size;
    g->next = groups;
    return groups = g;
}

/* Both groups of an intercommunicator in one list. The group with the lowest rank comes first, so that the
 * members of both groups build the same list.
 */
static struct group *new_pair(MPI_Comm comm) {
    MPI_Group here, there;
    int size, own;
    PMPI_Comm_remote_group(comm, &there);
    struct group *g = new_group(there);
    PMPI_Comm_group(comm, &here);
    int *near = ranks_of(here, &size);
    int near_first = lowest_rank(near, size) < lowest_rank(g->world, g->size);
    PMPI_Comm_rank(comm, &own);
    g->all = size + g->size;
    g->first = near_first ? size : g->size;
    g->remote = near_first ? size : 0;
    g->own = (near_first ? 0 : g->size) + own;
    g->listed = malloc(sizeof(int) * (size_t)g->all);
    memcpy(g->listed + g->remote, g->world, sizeof(int) * (size_t)g->size);
    memcpy(g->listed + (near_first ? 0 : g->size), near, sizeof(int) * (size_t)size);
    free(near);
    PMPI_Group_free(&here);
    return g;
}

static struct group *group_of(MPI_Comm comm) {
    if (comm == last_comm && last_group) return last_group;
    struct group *g = NULL;
    int found = 0, inter = 0;
    MPI_Group members;
    PMPI_Comm_get_attr(comm, comm_key, &g, &found);
    if (!found) {
        PMPI_Comm_test_inter(comm, &inter);
        if (!inter) PMPI_Comm_group(comm, &members);
        g = inter ? new_pair(comm) : new_group(members);
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
        PMPI_Win_set_attr(win, win_key, g);
    }
    return g;
}
