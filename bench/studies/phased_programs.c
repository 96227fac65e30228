/* Three programs of two phases each, MPI_Pcontrol(2) and (3), on a grid of 4 x SIZE/4 processes, for phases.py:
   spectral (transposes in rows, then in columns), multigrid (halos, then partners 2 and 4 apart), solver (a
   ring through the columns, then a butterfly of reductions). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static char out[1 << 16], in[1 << 16];

static void swap_with(int partner, int bytes, int times) {
    if (partner < 0 || partner >= size || partner == rank) return;
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(out, bytes, MPI_BYTE, partner, 0, in, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

/* Exchange with the process so many steps away in a row or a column, to both sides. */
static void shift(int rows, int steps, int bytes, int times) {
    int width = size / 4, x = rank % width, y = rank / width;
    int at = rows ? x : y, most = rows ? width : 4, unit = rows ? 1 : width;
    for (int turn = 0; turn < 2; turn++) {
        int up = at / steps % 2 == turn;
        int to = up ? at + steps : at - steps;
        if (to >= 0 && to < most) swap_with(rank + (to - at) * unit, bytes, times);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *name = argc > 1 ? argv[1] : "";
    int width = size / 4;
    MPI_Pcontrol(2);
    if (!strcmp(name, "spectral"))
        for (int i = 1; i < width; i++) swap_with(rank / width * width + (rank % width ^ i), 4096, 4);
    if (!strcmp(name, "multigrid")) shift(1, 1, 65536, 4), shift(0, 1, 65536, 4);
    if (!strcmp(name, "solver")) { /* a ring through the columns */
        int at = rank % width * 4 + rank / width;
        for (int turn = 0; turn < 2; turn++) {
            int to = at % 2 == turn ? at + 1 : at - 1;
            to = (to + size) % size;
            swap_with(to % 4 * width + to / 4, 32768, 4);
        }
    }
    MPI_Pcontrol(3);
    if (!strcmp(name, "spectral"))
        for (int i = 1; i < 4; i++) swap_with((rank / width ^ i) * width + rank % width, 16384, 2);
    if (!strcmp(name, "multigrid"))
        for (int steps = 2; steps < width; steps *= 2) shift(1, steps, 32768, 4), shift(0, steps, 32768, 4);
    if (!strcmp(name, "solver"))
        for (int bit = 1; bit < size; bit *= 2) swap_with(rank ^ bit, 8192, 4);
    MPI_Pcontrol(0);
    MPI_Finalize();
    return 0;
}
