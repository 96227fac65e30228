/* No MPI_Init: two sessions side by side, the ranks of the second reversed. */
#include <mpi.h>
#include <stdio.h>

static MPI_Comm all(MPI_Session of, int backwards) {
    MPI_Group world, turned;
    MPI_Comm made;
    int rank, size, range[1][3];
    MPI_Group_from_session_pset(of, "mpi://WORLD", &world);
    MPI_Group_rank(world, &rank);
    MPI_Group_size(world, &size);
    range[0][0] = size - 1, range[0][1] = 0, range[0][2] = -1;
    if (backwards) MPI_Group_range_incl(world, 1, range, &turned);
    MPI_Comm_create_from_group(backwards ? turned : world, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    if (backwards) MPI_Group_free(&turned);
    MPI_Group_free(&world);
    return made;
}

static void to_the_next(MPI_Comm comm, int ints) {
    static int a[64], b[64];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(a, ints, MPI_INT, (rank + 1) % size, 0, b, ints, MPI_INT, (rank + size - 1) % size, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

int main(void) {
    MPI_Session one, other;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
    to_the_next(all(one, 0), 11);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    to_the_next(all(other, 1), 5);
    MPI_Session_finalize(&other);
    to_the_next(all(one, 0), 2);
    MPI_Session_finalize(&one);
    puts("done");
    return 0;
}
