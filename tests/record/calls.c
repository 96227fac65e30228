/* What one of four ranks does by the words on the command line; every_call.c has each call on its own. */
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

static void phases(void) {
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int levels[4] = {2, 0, 1, 3};
    for (int i = 0; i < 4; i++) { /* 10 bytes in phase 2, 20 while paused, 30 in phase 2 again, 40 in phase 3 */
        MPI_Pcontrol(levels[i]);
        MPI_Sendrecv(a, 10 * (i + 1), MPI_BYTE, to, 0, b, 10 * (i + 1), MPI_BYTE, from, 0, WORLD, MPI_STATUS_IGNORE);
    }
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
        else if (!strcmp(argv[i], "listening")) listening();
        else if (!strcmp(argv[i], "shared")) {
            MPI_Win win;
            MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, WORLD, &shown, &win);
            MPI_Win_free(&win);
        } else if (!strcmp(argv[i], "die")) MPI_Barrier(WORLD), _exit(0);
        else if (!strcmp(argv[i], "split_type")) {
            MPI_Comm shared;
            MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
            MPI_Comm_free(&shared);
        } else if (!strcmp(argv[i], "bcast")) MPI_Bcast(a, 5, MPI_INT, 1, WORLD);
    }
    MPI_Finalize();
    if (rank == 0) puts("said by the program");
    return argc > 1 && !strcmp(argv[argc - 1], "fail") ? 7 : 0;
}
