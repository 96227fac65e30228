/* Calls that Open MPI's own counting does not survive, heed or see; one kind is compiled in, so that the program
 * names no other. Four ranks; every one sends some bytes to the next besides.
 */
#include <mpi.h>

static char a[65536], b[65536];
static int rank, size, to, from;
#define WORLD MPI_COMM_WORLD
#define NOTHING MPI_STATUS_IGNORE

static void send_on(int bytes) {
    MPI_Sendrecv(a, bytes, MPI_BYTE, to, 0, b, bytes, MPI_BYTE, from, 0, WORLD, NOTHING);
}

#if defined PAUSED
static void unfit(void) {
    MPI_Pcontrol(0);
    send_on(60000);
    MPI_Pcontrol(1);
}
#elif defined PARTITIONED
static void unfit(void) {
    MPI_Request r[2];
    MPI_Psend_init(a, 4, 25, MPI_BYTE, to, 1, WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(b, 4, 25, MPI_BYTE, from, 1, WORLD, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, r);
        MPI_Pready_range(0, 3, r[0]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]), MPI_Request_free(&r[1]);
}
#else /* groups of GROUP and 4 - GROUP ranks; the first of the one sends 5 bytes to the first of the other */
static void unfit(void) {
    MPI_Comm own, other;
    int first = rank < GROUP, place;
    MPI_Comm_split(WORLD, first, rank, &own);
    MPI_Intercomm_create(own, 0, WORLD, first ? GROUP : 0, 5, &other);
    MPI_Comm_set_name(other, "ocean to ice");
    MPI_Comm_rank(own, &place);
    if (place == 0 && first) MPI_Send(a, 5, MPI_BYTE, 0, 0, other);
    if (place == 0 && !first) MPI_Recv(b, 5, MPI_BYTE, 0, 0, other, NOTHING);
    MPI_Comm_free(&other), MPI_Comm_free(&own);
}
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    send_on(9000);
    unfit();
    MPI_Finalize();
    return 0;
}
