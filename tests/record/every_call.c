/* Every MPI call that moves data, each in a phase of its own. Rank 0 prints the names in the order of the phases,
 * from 2 on; test_every_call.py knows what each must leave. Four ranks; what only prepares a call is not counted.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4
#define LARGE_COUNTS 1
#define NEW_CALLS 1
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define NEW_CALLS 1
#endif
/* MPICH 4.0 cannot start some persistent collectives twice. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define STARTS 1
#else
#define STARTS 2
#endif
#define WORLD MPI_COMM_WORLD
#define NOTHING MPI_STATUS_IGNORE

static char a[1 << 16], b[1 << 16];
static int rank, size, to, from, step = 1;
static MPI_Request sending, receiving;

static void begin(const char *name) {
    if (rank == 0) puts(name);
    MPI_Barrier(WORLD);
    MPI_Pcontrol(++step);
}

static void done(void) { MPI_Pcontrol(0); }

/* A message of K ints to the next rank, whose receive is posted. */
#define MESSAGE(NAME, CALL) \
    MPI_Irecv(b, 4096, MPI_BYTE, from, 7, WORLD, &receiving); \
    begin(NAME); CALL; MPI_Wait(&receiving, NOTHING); done();
#define WITH_REQUEST(NAME, CALL) MESSAGE(NAME, CALL; MPI_Wait(&sending, NOTHING))
#define STARTED_TWICE(NAME, CALL) \
    CALL; \
    for (int round = 0; round < 2; round++) { \
        MPI_Irecv(b, 4096, MPI_BYTE, from, 7, WORLD, &receiving); \
        if (!round) begin(NAME); else { MPI_Barrier(WORLD); MPI_Pcontrol(1); } \
        MPI_Start(&sending); MPI_Wait(&sending, NOTHING); MPI_Wait(&receiving, NOTHING); done(); \
    } \
    MPI_Request_free(&sending);
#define IN_ALL_WAYS(FIRST, LOWER, WORD, C) \
    MESSAGE(WORD #C, MPI_##FIRST##C(a, K, MPI_INT, to, 7, WORLD)) \
    WITH_REQUEST("i" WORD #C, MPI_I##LOWER##C(a, K, MPI_INT, to, 7, WORLD, &sending)) \
    STARTED_TWICE(WORD "_init" #C, MPI_##FIRST##_init##C(a, K, MPI_INT, to, 7, WORLD, &sending))
#define MESSAGES(C) \
    IN_ALL_WAYS(Send, send, "send", C) IN_ALL_WAYS(Bsend, bsend, "bsend", C) \
    IN_ALL_WAYS(Ssend, ssend, "ssend", C) IN_ALL_WAYS(Rsend, rsend, "rsend", C) \
    begin("sendrecv" #C); \
    MPI_Sendrecv##C(a, K, MPI_INT, to, 7, b, K, MPI_INT, from, 7, WORLD, NOTHING); done(); \
    begin("sendrecv_replace" #C); \
    MPI_Sendrecv_replace##C(a, K, MPI_INT, to, 7, from, 7, WORLD, NOTHING); done();
#define EXCHANGES(C) \
    begin("isendrecv" #C); \
    MPI_Isendrecv##C(a, K, MPI_INT, to, 7, b, K, MPI_INT, from, 7, WORLD, &sending); \
    MPI_Wait(&sending, NOTHING); done(); \
    begin("isendrecv_replace" #C); \
    MPI_Isendrecv_replace##C(a, K, MPI_INT, to, 7, from, 7, WORLD, &sending); \
    MPI_Wait(&sending, NOTHING); done();

static void messages(void) {
    enum { K = 11 };
    static char buffer[1 << 16];
    void *old;
    int length;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MESSAGES()
#ifdef NEW_CALLS
    EXCHANGES()
#endif
#ifdef LARGE_COUNTS
    MESSAGES(_c)
    EXCHANGES(_c)
#endif
    MPI_Buffer_detach(&old, &length);
#ifdef NEW_CALLS
    MPI_Request both[2];
    MPI_Psend_init(a, 4, K, MPI_INT, to, 1, WORLD, MPI_INFO_NULL, &both[0]);
    MPI_Precv_init(b, 4, K, MPI_INT, from, 1, WORLD, MPI_INFO_NULL, &both[1]);
    begin("psend_init");
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, both);
        MPI_Pready_range(0, 3, both[0]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    done();
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
#endif
    begin("proc_null");
    MPI_Send(a, 500, MPI_INT, MPI_PROC_NULL, 9, WORLD);
    done();
    MPI_Datatype holes; /* 2 ints and a hole: only the ints travel */
    MPI_Type_vector(2, 1, 3, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    WITH_REQUEST("vector", MPI_Isend(a, 5, holes, to, 7, WORLD, &sending))
    MPI_Type_free(&holes);
}

static MPI_Comm line, ring, graph;
static int counts[4] = {1, 2, 3, 4}, starts[4] = {0, 10, 20, 30}, mine[4], bytes[4] = {0, 400, 800, 1200};
static int one[1] = {5}, none[1] = {0};
static MPI_Aint zero[1] = {0};
static MPI_Datatype ints[4] = {MPI_DATATYPE_NULL}, in[1], out[1];

/* Rows: word, first and lower name, arguments. Counts are those of this size of integers. */
#define COLLECTIVES(X, C) \
    X("bcast", Bcast, bcast, C, a, 5, MPI_INT, 1, WORLD) \
    X("reduce", Reduce, reduce, C, a, b, 5, MPI_INT, MPI_SUM, 2, WORLD) \
    X("allreduce", Allreduce, allreduce, C, MPI_IN_PLACE, b, 6, MPI_INT, MPI_SUM, WORLD) \
    X("scan", Scan, scan, C, a, b, 5, MPI_INT, MPI_SUM, WORLD) \
    X("exscan", Exscan, exscan, C, a, b, 7, MPI_INT, MPI_SUM, WORLD) \
    X("gather", Gather, gather, C, rank == 2 ? MPI_IN_PLACE : a, 3, MPI_INT, b, 3, MPI_INT, 2, WORLD) \
    X("gatherv", Gatherv, gatherv, C, a, rank + 1, MPI_INT, b, counts, starts, MPI_INT, 2, WORLD) \
    X("scatter", Scatter, scatter, C, a, 3, MPI_INT, rank == 1 ? MPI_IN_PLACE : b, 3, MPI_INT, 1, WORLD) \
    X("scatterv", Scatterv, scatterv, C, a, counts, starts, MPI_INT, b, rank + 1, MPI_INT, 1, WORLD) \
    X("allgather", Allgather, allgather, C, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 3, MPI_INT, WORLD) \
    X("allgatherv", Allgatherv, allgatherv, C, a, rank + 1, MPI_INT, b, counts, starts, MPI_INT, WORLD) \
    X("alltoall", Alltoall, alltoall, C, a, 3, MPI_INT, b, 3, MPI_INT, WORLD) \
    X("alltoallv", Alltoallv, alltoallv, C, a, counts, starts, MPI_INT, b, mine, starts, MPI_INT, WORLD) \
    X("alltoallw", Alltoallw, alltoallw, C, a, counts, bytes, ints, b, mine, bytes, ints, WORLD) \
    X("reduce_scatter", Reduce_scatter, reduce_scatter, C, a, b, counts, MPI_INT, MPI_SUM, WORLD) \
    X("reduce_scatter_block", Reduce_scatter_block, reduce_scatter_block, C, a, b, 3, MPI_INT, MPI_SUM, WORLD) \
    X("neighbor_allgather", Neighbor_allgather, neighbor_allgather, C, a, 3, MPI_INT, b, 3, MPI_INT, line) \
    X("neighbor_allgatherv", Neighbor_allgatherv, neighbor_allgatherv, C, a, 5, MPI_INT, b, one, none, MPI_INT, ring) \
    X("neighbor_alltoall", Neighbor_alltoall, neighbor_alltoall, C, a, 3, MPI_INT, b, 3, MPI_INT, line) \
    X("neighbor_alltoallv", Neighbor_alltoallv, neighbor_alltoallv, C, a, one, none, MPI_INT, b, one, none, MPI_INT, ring) \
    X("neighbor_alltoallw", Neighbor_alltoallw, neighbor_alltoallw, C, a, one, zero, out, b, one, zero, in, ring)

#define BLOCKING(WORD, FIRST, LOWER, C, ...) begin(WORD #C); MPI_##FIRST##C(__VA_ARGS__); done();
#define NONBLOCKING(WORD, FIRST, LOWER, C, ...) \
    begin("i" WORD #C); MPI_I##LOWER##C(__VA_ARGS__, &sending); MPI_Wait(&sending, NOTHING); done();
#define PERSISTENT(WORD, FIRST, LOWER, C, ...) \
    MPI_##FIRST##_init##C(__VA_ARGS__, MPI_INFO_NULL, &sending); \
    begin(WORD "_init" #C); \
    for (int round = 0; round < STARTS; round++) MPI_Start(&sending), MPI_Wait(&sending, NOTHING); \
    done(); \
    MPI_Request_free(&sending);

#ifdef LARGE_COUNTS
static void large_collectives(void) {
    MPI_Count wide_counts[4], wide_mine[4], wide_one[1] = {5};
    MPI_Aint wide_starts[4], wide_bytes[4], wide_none[1] = {0};
    for (int i = 0; i < 4; i++)
        wide_counts[i] = counts[i], wide_mine[i] = mine[i], wide_starts[i] = starts[i], wide_bytes[i] = bytes[i];
#define counts wide_counts
#define mine wide_mine
#define starts wide_starts
#define bytes wide_bytes
#define one wide_one
#define none wide_none
    COLLECTIVES(BLOCKING, _c)
    COLLECTIVES(NONBLOCKING, _c)
    COLLECTIVES(PERSISTENT, _c)
#undef counts
#undef mine
#undef starts
#undef bytes
#undef one
#undef none
}
#endif

static void collectives(void) {
    int dims[1] = {size}, periodic[1] = {0}, degrees[4] = {1, 2, 3, 4}, edges[4] = {3, 2, 1, 0};
    for (int i = 0; i < 4; i++) mine[i] = rank + 1, ints[i] = MPI_INT;
    in[0] = out[0] = MPI_INT;
    MPI_Cart_create(WORLD, 1, dims, periodic, 0, &line);
    MPI_Dist_graph_create_adjacent(WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    COLLECTIVES(BLOCKING, )
    COLLECTIVES(NONBLOCKING, )
    begin("barrier");
    MPI_Barrier(WORLD);
    done();
#ifdef NEW_CALLS
    COLLECTIVES(PERSISTENT, )
#endif
#ifdef LARGE_COUNTS
    large_collectives();
#endif
    MPI_Graph_create(WORLD, 4, degrees, edges, 0, &graph); /* everybody's one neighbour is on the other side */
    begin("neighbor_alltoall_of_graph");
    MPI_Neighbor_alltoall(a, 9, MPI_INT, b, 9, MPI_INT, graph);
    done();
}

#define TARGET 0, (N), MPI_INT
#define FLUSHED(NAME, CALL) begin(NAME); if (rank == 3) { CALL; MPI_Win_flush(1, win); } done();
#define REQUESTED(NAME, CALL) begin(NAME); if (rank == 3) { CALL; MPI_Wait(&sending, NOTHING); } done();
#define ONE_SIDED(C) \
    FLUSHED("put" #C, MPI_Put##C(a, N, MPI_INT, 1, TARGET, win)) \
    FLUSHED("get" #C, MPI_Get##C(b, N, MPI_INT, 1, TARGET, win)) \
    FLUSHED("accumulate" #C, MPI_Accumulate##C(a, N, MPI_INT, 1, TARGET, MPI_SUM, win)) \
    FLUSHED("get_accumulate" #C, MPI_Get_accumulate##C(a, N, MPI_INT, b, N, MPI_INT, 1, TARGET, MPI_SUM, win)) \
    REQUESTED("rput" #C, MPI_Rput##C(a, N, MPI_INT, 1, TARGET, win, &sending)) \
    REQUESTED("rget" #C, MPI_Rget##C(b, N, MPI_INT, 1, TARGET, win, &sending)) \
    REQUESTED("raccumulate" #C, MPI_Raccumulate##C(a, N, MPI_INT, 1, TARGET, MPI_SUM, win, &sending)) \
    REQUESTED("rget_accumulate" #C, \
              MPI_Rget_accumulate##C(a, N, MPI_INT, b, N, MPI_INT, 1, TARGET, MPI_SUM, win, &sending))

/* In a window over {3, 1}: rank 3 reaches rank 1, its member 1. */
static void one_sided(void) {
    enum { N = 13 };
    int compare = 0, *shown;
    MPI_Comm half;
    MPI_Win win;
    MPI_Comm_split(WORLD, rank % 2, -rank, &half);
    if (rank % 2) { /* Open MPI 4.1 takes one file for two windows made at once */
        MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, half, &shown, &win);
        MPI_Win_lock_all(0, win);
    }
    ONE_SIDED()
#ifdef LARGE_COUNTS
    ONE_SIDED(_c)
#endif
    FLUSHED("fetch_and_op", MPI_Fetch_and_op(a, b, MPI_INT, 1, 0, MPI_SUM, win))
    FLUSHED("compare_and_swap", MPI_Compare_and_swap(a, &compare, b, MPI_INT, 1, 0, win))
    if (rank % 2) {
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&half);
}

/* Ranks backwards in halves: {2, 0} and {3, 1}. */
static void parts(void) {
    MPI_Comm half, copy;
    int own;
    MPI_Comm_split(WORLD, rank % 2, -rank, &half);
    for (int round = 0; round < 2; round++) { /* the handle of the first copy may come back */
        MPI_Comm_dup(half, &copy);
        MPI_Comm_rank(copy, &own);
        begin(round ? "send_in_part_again" : "send_in_part");
        if (own == 0) MPI_Send(a, 17, MPI_INT, 1, 0, copy);
        else MPI_Recv(b, 17, MPI_INT, 0, 0, copy, NOTHING);
        done();
        MPI_Comm_free(&copy);
    }
    begin("bcast_in_part");
    MPI_Bcast(a, 5, MPI_INT, 0, half);
    done();
    begin("alltoall_in_part");
    MPI_Alltoall(a, 3, MPI_INT, b, 3, MPI_INT, half);
    done();
    MPI_Comm_free(&half);
}

/* Between {1} and {0, 2, 3}, of which 3 is the first. */
static void between(void) {
    MPI_Comm own, other;
    int alone = rank == 1;
    MPI_Comm_split(WORLD, alone, -rank, &own);
    MPI_Intercomm_create(own, 0, WORLD, alone ? 3 : 1, 5, &other);
    begin("send_between");
    if (alone) MPI_Send(a, 19, MPI_INT, 1, 0, other); /* member 1 of the others is rank 2 */
    if (rank == 2) MPI_Recv(b, 19, MPI_INT, 0, 0, other, NOTHING);
    done();
    int beside = rank == 2 ? MPI_ROOT : alone ? 1 : MPI_PROC_NULL; /* rank 2 is the root */
    begin("bcast_between");
    MPI_Bcast(a, 5, MPI_INT, alone ? MPI_ROOT : 0, other);
    done();
    begin("bcast_between_back");
    MPI_Bcast(a, 6, MPI_INT, beside, other);
    done();
    begin("gather_between");
    MPI_Gather(a, 3, MPI_INT, b, 3, MPI_INT, alone ? MPI_ROOT : 0, other);
    done();
    begin("scatter_between");
    MPI_Scatter(a, 3, MPI_INT, b, 3, MPI_INT, alone ? MPI_ROOT : 0, other);
    done();
    begin("reduce_between");
    MPI_Reduce(a, b, 5, MPI_INT, MPI_SUM, alone ? MPI_ROOT : 0, other);
    done();
    begin("allreduce_between");
    MPI_Allreduce(a, b, 6, MPI_INT, MPI_SUM, other);
    done();
    begin("allgather_between");
    MPI_Allgather(a, alone ? 9 : 3, MPI_INT, b, alone ? 3 : 9, MPI_INT, other);
    done();
    begin("alltoall_between");
    MPI_Alltoall(a, 3, MPI_INT, b, 3, MPI_INT, other);
    done();
    begin("reduce_scatter_block_between");
    MPI_Reduce_scatter_block(a, b, alone ? 9 : 3, MPI_INT, MPI_SUM, other);
    done();
    MPI_Comm_free(&other);
    MPI_Comm_free(&own);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    if (rank == 0) printf("starts=%d\n", STARTS);
    messages();
    collectives();
    one_sided();
    parts();
    between();
    MPI_Finalize();
    return 0;
}
