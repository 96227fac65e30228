/* Nanoseconds of CPU per MPI_Sendrecv of one byte to oneself, with and without being recorded:
 *   mpicc -O2 bench/studies/record_overhead.c -o overhead
 *   mpirun -n 2 --bind-to core ./overhead
 *   hopbytes record -o o.pattern --cc mpicc -- mpirun -n 2 --bind-to core ./overhead   the interposer
 *   hopbytes record -o o.pattern -- mpirun -n 2 --bind-to core ./overhead   Open MPI: its monitoring
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, calls = 200000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double best = 1e9;
    for (int round = 0; round < 10; round++) {
        struct timespec a, b;
        char out = 0, in = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (int i = 0; i < calls; i++)
            MPI_Sendrecv(&out, 1, MPI_BYTE, rank, 0, &in, 1, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        double spent = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / calls;
        if (spent < best) best = spent;
    }
    if (rank == 0) printf("%.1f ns per call (minimum of 10)\n", best);
    MPI_Finalize();
    return 0;
}
