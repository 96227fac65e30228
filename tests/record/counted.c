/* One call of every class that Open MPI's own monitoring counts, for four ranks. Without arguments only what is
 * there to prepare them: a window, a communicator. test_counted_by_open_mpi.py knows what the others add. */
#include <mpi.h>

#define WORLD MPI_COMM_WORLD
#define NOTHING MPI_STATUS_IGNORE
static int a[4096], b[4096], rank;
static int counts[4] = {1, 2, 3, 4}, starts[4] = {0, 10, 20, 30}, mine[4];

static void in_the_world(void) {
    int to = (rank + 1) % 4, from = (rank + 3) % 4;
    MPI_Request request;
    for (int i = 0; i < 4; i++) mine[i] = rank + 1;
    MPI_Sendrecv(a, 1000, MPI_INT, to, 0, b, 1000, MPI_INT, from, 0, WORLD, NOTHING);
    MPI_Bcast(a, 100, MPI_INT, 1, WORLD);
    MPI_Reduce(a, b, 200, MPI_INT, MPI_SUM, 2, WORLD);
    MPI_Allreduce(a, b, 60, MPI_INT, MPI_SUM, WORLD);
    MPI_Scan(a, b, 50, MPI_INT, MPI_SUM, WORLD);
    MPI_Exscan(a, b, 70, MPI_INT, MPI_SUM, WORLD);
    MPI_Gather(a, 30, MPI_INT, b, 30, MPI_INT, 2, WORLD);
    MPI_Gatherv(a, rank + 1, MPI_INT, b, counts, starts, MPI_INT, 2, WORLD);
    MPI_Scatter(a, 35, MPI_INT, b, 35, MPI_INT, 1, WORLD);
    MPI_Scatterv(a, counts, starts, MPI_INT, b, rank + 1, MPI_INT, 1, WORLD);
    MPI_Allgather(a, 31, MPI_INT, b, 31, MPI_INT, WORLD);
    MPI_Allgatherv(a, rank + 1, MPI_INT, b, counts, starts, MPI_INT, WORLD);
    MPI_Alltoall(a, 37, MPI_INT, b, 37, MPI_INT, WORLD);
    MPI_Alltoallv(a, counts, starts, MPI_INT, b, mine, starts, MPI_INT, WORLD);
    MPI_Reduce_scatter_block(a, b, 13, MPI_INT, MPI_SUM, WORLD);
    MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, WORLD);
    MPI_Ibcast(a, 110, MPI_INT, 1, WORLD, &request);
    MPI_Wait(&request, NOTHING);
    MPI_Ialltoall(a, 41, MPI_INT, b, 41, MPI_INT, WORLD, &request);
    MPI_Wait(&request, NOTHING);
    MPI_Barrier(WORLD);
}

/* Backwards in halves, {2, 0} and {3, 1}. */
static void in_parts(MPI_Comm half) {
    int own;
    MPI_Comm_rank(half, &own);
    MPI_Bcast(a, 170, MPI_INT, 0, half);
    if (own == 0) MPI_Send(a, 19, MPI_INT, 1, 0, half);
    else MPI_Recv(b, 19, MPI_INT, 0, 0, half, NOTHING);
}

/* From rank 3 to rank 1. */
static void one_sided(MPI_Win win) {
    MPI_Put(a, 130, MPI_INT, 1, 0, 130, MPI_INT, win);
    MPI_Get(b, 140, MPI_INT, 1, 200, 140, MPI_INT, win);
    MPI_Accumulate(a, 150, MPI_INT, 1, 400, 150, MPI_INT, MPI_SUM, win);
    MPI_Get_accumulate(a, 160, MPI_INT, b + 1000, 160, MPI_INT, 1, 600, 160, MPI_INT, MPI_SUM, win);
    MPI_Fetch_and_op(a, b + 3000, MPI_INT, 1, 800, MPI_SUM, win);
}

int main(int argc, char **argv) {
    static int memory[4096];
    MPI_Comm half;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_split(WORLD, rank % 2, -rank, &half);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, WORLD, &win);
    MPI_Win_fence(0, win);
    if (argc > 1) {
        in_the_world();
        in_parts(half);
        if (rank == 3) one_sided(win);
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
