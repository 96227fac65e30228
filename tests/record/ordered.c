/* A chain of messages through four ranks, with receives of every kind, and collectives of all and of some. */
#include <mpi.h>
#include <string.h>

enum { SIZE = 1000000 };
static char a[SIZE], b[SIZE];

int main(int argc, char **argv) {
    int rank, at, done, places[2], send[4] = {0}, take[4] = {0}, from[4] = {0, 8, 16, 24}, small = 1, sum;
    MPI_Request r[2];
    MPI_Status s;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && !strcmp(argv[1], "lost")) { /* a message that nobody receives by a call that is followed */
        MPI_Message found;
        if (rank == 0) MPI_Send(a, 8, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Mprobe(0, 9, MPI_COMM_WORLD, &found, &s);
            MPI_Mrecv(b, 8, MPI_BYTE, &found, MPI_STATUS_IGNORE);
        }
    }
    /* 0 -> 1 -> 2 -> 3 -> 0, each after the one before. */
    if (rank == 0) {
        MPI_Send(a, SIZE, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
        MPI_Irecv(b, SIZE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
        MPI_Waitany(1, r, &at, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(b, SIZE, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(a, SIZE, MPI_BYTE, 2, 5, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Recv_init(b, SIZE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r[0]);
        MPI_Start(&r[0]);
        MPI_Waitsome(1, r, &done, places, MPI_STATUSES_IGNORE);
        MPI_Isend(a, SIZE, MPI_BYTE, 3, 5, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Request_free(&r[0]);
    } else {
        MPI_Irecv(b, SIZE, MPI_BYTE, 2, 5, MPI_COMM_WORLD, &r[0]);
        for (done = 0; !done;) MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
        MPI_Send(a, SIZE, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    }
    MPI_Allreduce(&small, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Bcast(a, 100, MPI_BYTE, 1, half); /* 2 -> 0 and 3 -> 1 */
    if (rank == 0) send[3] = 8;
    if (rank == 3) take[0] = 8;
    MPI_Alltoallv(a, send, from, MPI_BYTE, b, take, from, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Sendrecv(a, 10, MPI_BYTE, rank ^ 1, 1, b, 10, MPI_BYTE, rank ^ 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
