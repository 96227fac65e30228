/* Makes each kind of topology with reorder = 1 on a ring, and prints how many of its arcs lead to another host, before
 * and after. It fails if a rank has other neighbours than a ring gives it, or other weights than those of its rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static int crossing(MPI_Comm comm) {
    char host[MPI_MAX_PROCESSOR_NAME] = "", *all = malloc((size_t)size * sizeof host);
    int length, mine, total = 0;
    MPI_Get_processor_name(host, &length);
    MPI_Comm_rank(comm, &mine);
    MPI_Allgather(host, sizeof host, MPI_CHAR, all, sizeof host, MPI_CHAR, comm);
    for (int i = 0; i < size; i++) total += strcmp(all + i * sizeof host, all + (i + 1) % size * sizeof host) != 0;
    free(all);
    return total;
}

static void report(const char *kind, MPI_Comm comm, const int *near) {
    int mine;
    MPI_Comm_rank(comm, &mine);
    int left = (mine + size - 1) % size, right = (mine + 1) % size;
    if (!(near[0] == left && near[1] == right) && !(near[0] == right && near[1] == left))
        printf("%s: rank %d has neighbours %d, %d\n", kind, mine, near[0], near[1]), MPI_Abort(MPI_COMM_WORLD, 3);
    int before = crossing(MPI_COMM_WORLD), after = crossing(comm);
    if (!rank) printf("%s %d %d\n", kind, before, after);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int periodic = 1, near[2], weights[2], targets[2] = {(rank + size - 1) % size, (rank + 1) % size};
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &comm);
    MPI_Cart_shift(comm, 0, 1, near, near + 1);
    report("cart", comm, near);

    int *index = malloc(sizeof *index * (size_t)size), *edges = malloc(sizeof *edges * 2 * (size_t)size), mine;
    for (int i = 0; i < size; i++) index[i] = 2 * i + 2, edges[2 * i] = (i + size - 1) % size, edges[2 * i + 1] = (i + 1) % size;
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &comm);
    MPI_Comm_rank(comm, &mine);
    MPI_Graph_neighbors(comm, mine, 2, near);
    report("graph", comm, near);

    int many = rank ? 0 : size, *sources = malloc(sizeof(int) * (size_t)size), *degrees = malloc(sizeof(int) * (size_t)size);
    for (int i = 0; i < size; i++) sources[i] = i, degrees[i] = 2;
    MPI_Dist_graph_create(MPI_COMM_WORLD, many, sources, degrees, edges, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
    int ignored[2];
    MPI_Dist_graph_neighbors(comm, 2, ignored, MPI_UNWEIGHTED, 2, near, MPI_UNWEIGHTED);
    report("dist_graph", comm, near);

    int own[2] = {100 + rank, 100 + rank}; /* the weights show from which rank the neighbours come */
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, targets, own, 2, targets, own, MPI_INFO_NULL, 1, &comm);
    MPI_Dist_graph_neighbors(comm, 2, ignored, ignored, 2, near, weights);
    MPI_Comm_rank(comm, &mine);
    if (weights[0] != 100 + mine) printf("rank %d has weight %d\n", mine, weights[0]), MPI_Abort(MPI_COMM_WORLD, 4);
    report("adjacent", comm, near);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, targets, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED,
        MPI_INFO_NULL, 1, &comm);
    MPI_Dist_graph_neighbors(comm, 2, ignored, MPI_UNWEIGHTED, 2, near, MPI_UNWEIGHTED);
    report("unweighted", comm, near);
    MPI_Finalize();
    return 0;
}
