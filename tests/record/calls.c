/* One class of MPI calls per word on the command line, with sizes that tell them apart. Four ranks. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char a[4096], b[4096], *shown;
static int rank, size;
#define WORLD MPI_COMM_WORLD

static void receive(int from, int tag, MPI_Comm comm) {
    MPI_Recv(b, sizeof b, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
}

/* Each rank to the next: 1 + 2 + 4 + 8 + 16 + 3 * 32 + 64 + 128 ints, and more that must not count. */
static void point_to_point(void) {
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request r[2];
    static char buffer[4096 + MPI_BSEND_OVERHEAD];
    MPI_Irecv(b, sizeof b, MPI_BYTE, from, 3, WORLD, &r[0]);
    MPI_Isend(a, 1, MPI_INT, to, 1, WORLD, &r[1]);
    receive(from, 1, WORLD);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Issend(a, 2, MPI_INT, to, 2, WORLD, &r[1]);
    receive(from, 2, WORLD);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    /* Ready: the other has said by its message 2 that its receive is posted. */
    MPI_Sendrecv(a, 8, MPI_INT, to, 4, b + 2048, 8, MPI_INT, from, 4, WORLD, MPI_STATUS_IGNORE);
    MPI_Send(a, 4, MPI_INT, to, 3, WORLD);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(a, 16, MPI_INT, to, 5, WORLD);
    receive(from, 5, WORLD);
    void *old;
    int length;
    MPI_Buffer_detach(&old, &length);
    MPI_Request again;
    MPI_Send_init(a, 32, MPI_INT, to, 6, WORLD, &again);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&again);
        receive(from, 6, WORLD);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&again);
    MPI_Sendrecv_replace(a, 64, MPI_INT, to, 7, from, 7, WORLD, MPI_STATUS_IGNORE);
    MPI_Datatype pair;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair); /* two ints with a hole */
    MPI_Type_commit(&pair);
    MPI_Isend(a, 64, pair, to, 8, WORLD, &r[1]);
    receive(from, 8, WORLD);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Send(a, 500, MPI_INT, MPI_PROC_NULL, 9, WORLD);
}

/* Ranks backwards in halves: {2, 0} and {3, 1}; member 0 sends member 1 ten bytes, then a copy's twenty. */
static void communicators(void) {
    MPI_Comm half, copy;
    MPI_Comm_split(WORLD, rank % 2, -rank, &half);
    for (int round = 1; round <= 2; round++) {
        MPI_Comm_dup(half, &copy); /* the handle of the first copy may come back */
        int own;
        MPI_Comm_rank(copy, &own);
        if (own == 0) MPI_Send(a, 10 * round, MPI_BYTE, 1, 0, copy);
        else receive(0, 0, copy);
        MPI_Comm_free(&copy);
    }
    MPI_Comm_free(&half);
}

static void one_collective(const char *word) {
    int counts[4] = {1, 2, 3, 4}, starts[4] = {0, 10, 20, 30}, same[4];
    MPI_Request r;
    for (int i = 0; i < 4; i++) same[i] = rank + 1;
    if (!strcmp(word, "bcast")) MPI_Bcast(a, 5, MPI_INT, 1, WORLD);
    if (!strcmp(word, "ibcast")) MPI_Ibcast(a, 5, MPI_INT, 1, WORLD, &r), MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (!strcmp(word, "reduce")) MPI_Reduce(a, b, 5, MPI_INT, MPI_SUM, 2, WORLD);
    if (!strcmp(word, "allreduce")) MPI_Allreduce(MPI_IN_PLACE, b, 6, MPI_INT, MPI_SUM, WORLD);
    if (!strcmp(word, "scan")) MPI_Scan(a, b, 5, MPI_INT, MPI_SUM, WORLD);
    if (!strcmp(word, "gather")) MPI_Gather(rank == 2 ? MPI_IN_PLACE : a, 3, MPI_INT, b, 3, MPI_INT, 2, WORLD);
    if (!strcmp(word, "gatherv")) MPI_Gatherv(a, rank + 1, MPI_INT, b, counts, starts, MPI_INT, 2, WORLD);
    if (!strcmp(word, "scatter")) MPI_Scatter(a, 3, MPI_INT, rank == 1 ? MPI_IN_PLACE : b, 3, MPI_INT, 1, WORLD);
    if (!strcmp(word, "scatterv")) MPI_Scatterv(a, counts, starts, MPI_INT, b, rank + 1, MPI_INT, 1, WORLD);
    if (!strcmp(word, "allgather")) MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 3, MPI_INT, WORLD);
    if (!strcmp(word, "allgatherv")) MPI_Allgatherv(a, rank + 1, MPI_INT, b, counts, starts, MPI_INT, WORLD);
    if (!strcmp(word, "alltoall")) MPI_Alltoall(a, 3, MPI_INT, b, 3, MPI_INT, WORLD);
    if (!strcmp(word, "alltoallv")) MPI_Alltoallv(a, counts, starts, MPI_INT, b, same, starts, MPI_INT, WORLD);
    if (!strcmp(word, "reduce_scatter")) MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, WORLD);
    if (!strcmp(word, "barrier")) MPI_Barrier(WORLD);
}

#ifndef NO_NEIGHBOURS /* Open MPI's monitoring is not used for programs that name them, or MPI_Pcontrol */
static void neighbours(void) {
    int periodic[1] = {0}, dims[1] = {size}, to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Comm line, ring;
    MPI_Cart_create(WORLD, 1, dims, periodic, 0, &line);
    MPI_Neighbor_allgather(a, 3, MPI_INT, b, 3, MPI_INT, line);
    MPI_Dist_graph_create_adjacent(WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    int many = 100, none = 0;
    MPI_Neighbor_alltoallv(a, &many, &none, MPI_BYTE, b, &many, &none, MPI_BYTE, ring);
    MPI_Comm_free(&line);
    MPI_Comm_free(&ring);
}

#endif

static void one_sided(void) {
    MPI_Win win;
    MPI_Win_create(a, sizeof a, 1, MPI_INFO_NULL, WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 1) MPI_Put(b, 7, MPI_BYTE, 2, 0, 7, MPI_BYTE, win);
    if (rank == 1) MPI_Get(b + 100, 50, MPI_BYTE, 0, 0, 50, MPI_BYTE, win);
    if (rank == 3) MPI_Accumulate(b, 5, MPI_INT, 0, 64, 5, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

#ifndef NO_NEIGHBOURS
static void phases(void) {
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int levels[4] = {2, 0, 1, 3};
    for (int i = 0; i < 4; i++) { /* 10 bytes in phase 2, 20 while paused, 30 in phase 2 again, 40 in phase 3 */
        MPI_Pcontrol(levels[i]);
        MPI_Sendrecv(a, 10 * (i + 1), MPI_BYTE, to, 0, b, 10 * (i + 1), MPI_BYTE, from, 0, WORLD, MPI_STATUS_IGNORE);
    }
}

#endif

#if MPI_VERSION >= 4
static void new_calls(void) {
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request r[2];
    MPI_Isend_c(a, 11, MPI_BYTE, to, 0, WORLD, &r[0]);
    receive(from, 0, WORLD);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Psend_init(a, 4, 25, MPI_BYTE, to, 1, WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(b, 4, 25, MPI_BYTE, from, 1, WORLD, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, r);
        MPI_Pready_range(0, 3, r[0]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Alltoall_init(a, 3, MPI_BYTE, b, 3, MPI_BYTE, WORLD, MPI_INFO_NULL, &r[0]);
    for (int round = 0; round < 3; round++) {
        MPI_Start(&r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r[0]);
}
#endif

static volatile sig_atomic_t told;

static void tell(int number) { told = number; }

/* Rank 0 says the line it reads; then all wait for a signal, half a minute at most. */
static void listening(void) {
    char line[80] = "nothing";
    struct sigaction act = {.sa_handler = tell};
    sigaction(SIGUSR1, &act, NULL);
    MPI_Barrier(WORLD);
    if (rank == 0 && fgets(line, sizeof line, stdin)) printf("heard %s", line), fflush(stdout);
    for (int i = 0; i < 300 && !told; i++) usleep(100000);
    printf("signal %d\n", told == SIGUSR1), fflush(stdout);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "p2p")) point_to_point();
        else if (!strcmp(argv[i], "sub")) communicators();
#ifndef NO_NEIGHBOURS
        else if (!strcmp(argv[i], "near")) neighbours();
        else if (!strcmp(argv[i], "phases")) phases();
#endif
        else if (!strcmp(argv[i], "rma")) one_sided();
        else if (!strcmp(argv[i], "listening")) listening();
#if MPI_VERSION >= 4
        else if (!strcmp(argv[i], "new")) new_calls();
#endif
        else if (!strcmp(argv[i], "shared")) {
            MPI_Win win;
            MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, WORLD, &shown, &win);
            MPI_Win_free(&win);
        } else if (!strcmp(argv[i], "die")) MPI_Barrier(WORLD), _exit(0);
        else if (!strcmp(argv[i], "split_type")) {
            MPI_Comm shared;
            MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
            MPI_Comm_free(&shared);
        } else one_collective(argv[i]);
    }
    MPI_Finalize();
    if (rank == 0) puts("said by the program");
    return argc > 1 && !strcmp(argv[argc - 1], "fail") ? 7 : 0;
}
