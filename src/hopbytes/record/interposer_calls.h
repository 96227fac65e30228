/* A table of all calls that move data: name, what is counted, arguments, parameters. The macros that read
 * the table turn each row into the wrapper of the blocking call and into those of its nonblocking and
 * persistent forms. The table is read with int counts and, from MPI 4 on, a second time with large counts
 * (_c). N is the type of a count, A that of a displacement.
 */
#define CALL(...) __VA_ARGS__

/* A blocking call is counted and passed on. */
#define PLAIN(S, NAME, NOTE, ARGS, ...) AROUND(NAME##S, NOTE, (__VA_ARGS__), ARGS)
/* A nonblocking call has a request as an additional last argument. */
#define NONBLOCKING(S, NAME, NOTE, ARGS, ...) \
    AROUND(NAME##S, NOTE, (__VA_ARGS__, MPI_Request *request), (CALL ARGS, request))
/* A persistent operation is created once and counted each time it is started. */
#define PERSISTENT(S, NAME, NOTE, ARGS, ...) \
    AROUND_BOTH(NAME##S, begin_capture(1); NOTE, end_capture(*request), (__VA_ARGS__, MPI_Request *request), \
                (CALL ARGS, request))
/* Names of collectives come in two spellings, since the nonblocking form has the name in lower case: Bcast
 * and Ibcast.
 */
#define COLLECTIVE(S, NAME, LOWER, NOTE, ARGS, ...) PLAIN(S, NAME, NOTE, ARGS, __VA_ARGS__)
#define NONBLOCKING_COLLECTIVE(S, NAME, LOWER, NOTE, ARGS, ...) \
    NONBLOCKING(S, I##LOWER, NOTE, ARGS, __VA_ARGS__)
#define PERSISTENT_COLLECTIVE(S, NAME, LOWER, NOTE, ARGS, ...) \
    AROUND_BOTH(NAME##_init##S, begin_capture(0); NOTE, end_capture(*request), \
                (__VA_ARGS__, MPI_Info info, MPI_Request *request), (CALL ARGS, info, request))

#define BYTES ((long long)n * size_of(t))
#define MESSAGE_BY(KIND) (message_tag = tag, message_kind = KIND, message_number = -1, \
    note(c, SENT, to, BYTES), message_tag = NO_TAG, message_kind = 's')
#define MESSAGE MESSAGE_BY('s')
/* A message is sent and another one received; without a record of the order only the first counts. */
#define EXCHANGE(F, ARGS, WITH_STATUS, PARAMS) \
    BOTH_NOTED(F, MESSAGE, PARAMS, ARGS, int number = message_number, post = post_now(c, from, rtag); \
        OWN_STATUS PASS(next_call WITH_STATUS) complete_now(c, post, used); complete_send(c, number); \
        return code;)
/* A request that will be waited for. */
#define REQUESTED(S, NAME, NOTE, ARGS, ...) \
    AROUND_BOTH(NAME##S, NOTE, await_send(*request, c), (__VA_ARGS__, MPI_Request *request), \
        (CALL ARGS, request))
#define MESSAGE_TABLE(X, S, NAME, N, KIND) X(S, NAME, MESSAGE_BY(KIND), (b, n, t, to, tag, c), \
    const void *b, N n, MPI_Datatype t, int to, int tag, MPI_Comm c)
#define MESSAGES(S, N) \
    MESSAGE_TABLE(PLAIN, S, Send, N, 'S') MESSAGE_TABLE(PLAIN, S, Bsend, N, 's') \
    MESSAGE_TABLE(PLAIN, S, Ssend, N, 'Y') MESSAGE_TABLE(PLAIN, S, Rsend, N, 'S') \
    MESSAGE_TABLE(REQUESTED, S, Isend, N, 's') MESSAGE_TABLE(NONBLOCKING, S, Ibsend, N, 's') \
    MESSAGE_TABLE(REQUESTED, S, Issend, N, 'y') MESSAGE_TABLE(REQUESTED, S, Irsend, N, 's') \
    MESSAGE_TABLE(PERSISTENT, S, Send_init, N, 's') MESSAGE_TABLE(PERSISTENT, S, Bsend_init, N, 's') \
    MESSAGE_TABLE(PERSISTENT, S, Ssend_init, N, 's') MESSAGE_TABLE(PERSISTENT, S, Rsend_init, N, 's') \
    EXCHANGE(Sendrecv##S, (b, n, t, to, tag, r, rn, rt, from, rtag, c, s), \
        (b, n, t, to, tag, r, rn, rt, from, rtag, c, used), \
        (const void *b, N n, MPI_Datatype t, int to, int tag, void *r, N rn, MPI_Datatype rt, int from, \
            int rtag, MPI_Comm c, MPI_Status *s)) \
    EXCHANGE(Sendrecv_replace##S, (b, n, t, to, tag, from, rtag, c, s), \
        (b, n, t, to, tag, from, rtag, c, used), \
        (void *b, N n, MPI_Datatype t, int to, int tag, int from, int rtag, MPI_Comm c, MPI_Status *s))

/* The bytes that a rank contributes. With MPI_IN_PLACE the send count is ignored by MPI, and the receive
 * count gives the size instead.
 */
#define ALREADY_THERE ((b) == MPI_IN_PLACE)
/* In an intercommunicator the root and the other members of its group (root < 0: MPI_ROOT or MPI_PROC_NULL)
 * neither contribute nor receive a block of their own.
 */
#define OWN_BLOCK (ALREADY_THERE ? (long long)rn * size_of(rt) : BYTES)
#define CONTRIBUTED (root < 0 || ALREADY_THERE ? 0 : BYTES)
#define RECEIVED (root < 0 || (r) == MPI_IN_PLACE ? 0 : (long long)rn * size_of(rt))

static long long own_count(MPI_Comm comm, const void *counts, int wide) {
    int own = 0;
    PMPI_Comm_rank(comm, &own);
    return COUNT_AT(counts, wide, own);
}

#define BUFFERS const void *b, void *r
#define BLOCK(N) const void *b, N n, MPI_Datatype t, void *r, N rn, MPI_Datatype rt
#define REDUCED(N) BUFFERS, N n, MPI_Datatype t, MPI_Op op
/* Blocks of any number of elements: on one side, then on both, with one type or one for each block. */
#define TO_BLOCKS(N, A) const void *b, N n, MPI_Datatype t, \
    void *r, const N rnn[], const A d[], MPI_Datatype rt
#define BLOCKS(N, A) const void *b, const N nn[], const A d[], MPI_Datatype t, \
    void *r, const N rnn[], const A rd[], MPI_Datatype rt
#define TYPED_BLOCKS(N, A) const void *b, const N nn[], const A d[], const MPI_Datatype t[], \
    void *r, const N rnn[], const A rd[], const MPI_Datatype rt[]

/* WIDE is 1 where arrays of counts hold MPI_Count instead of int. */
#define COLLECTIVES(X, S, N, A, WIDE) \
    X(S, Bcast, bcast, note(c, BCAST, root, root == MPI_PROC_NULL ? 0 : BYTES), (b, n, t, root, c), \
        void *b, N n, MPI_Datatype t, int root, MPI_Comm c) \
    X(S, Reduce, reduce, note(c, REDUCE, root, root < 0 ? 0 : BYTES), (b, r, n, t, op, root, c), \
        REDUCED(N), int root, MPI_Comm c) \
    X(S, Allreduce, allreduce, note(c, ALLREDUCE, 0, BYTES), (b, r, n, t, op, c), REDUCED(N), MPI_Comm c) \
    X(S, Scan, scan, note(c, SCAN, 0, BYTES), (b, r, n, t, op, c), REDUCED(N), MPI_Comm c) \
    X(S, Exscan, exscan, note(c, SCAN, 0, BYTES), (b, r, n, t, op, c), REDUCED(N), MPI_Comm c) \
    X(S, Reduce_scatter_block, reduce_scatter_block, note(c, REDUCE_SCATTER, 0, BYTES), \
        (b, r, n, t, op, c), REDUCED(N), MPI_Comm c) \
    X(S, Reduce_scatter, reduce_scatter, note(c, REDUCE_SCATTER, 0, own_count(c, nn, WIDE) * size_of(t)), \
        (b, r, nn, t, op, c), BUFFERS, const N nn[], MPI_Datatype t, MPI_Op op, MPI_Comm c) \
    X(S, Gather, gather, note(c, GATHER, root, CONTRIBUTED), (b, n, t, r, rn, rt, root, c), \
        BLOCK(N), int root, MPI_Comm c) \
    X(S, Gatherv, gatherv, note(c, GATHER, root, CONTRIBUTED), (b, n, t, r, rnn, d, rt, root, c), \
        TO_BLOCKS(N, A), int root, MPI_Comm c) \
    X(S, Scatter, scatter, note(c, SCATTER, root, RECEIVED), (b, n, t, r, rn, rt, root, c), \
        BLOCK(N), int root, MPI_Comm c) \
    X(S, Scatterv, scatterv, note(c, SCATTER, root, RECEIVED), (b, nn, d, t, r, rn, rt, root, c), \
        const void *b, const N nn[], const A d[], MPI_Datatype t, void *r, N rn, MPI_Datatype rt, \
        int root, MPI_Comm c) \
    X(S, Allgather, allgather, note(c, ALLGATHER, 0, OWN_BLOCK), (b, n, t, r, rn, rt, c), \
        BLOCK(N), MPI_Comm c) \
    X(S, Allgatherv, allgatherv, \
        note(c, ALLGATHER, 0, ALREADY_THERE ? own_count(c, rnn, WIDE) * size_of(rt) : BYTES), \
        (b, n, t, r, rnn, d, rt, c), TO_BLOCKS(N, A), MPI_Comm c) \
    X(S, Alltoall, alltoall, note(c, ALLTOALL, 0, OWN_BLOCK), (b, n, t, r, rn, rt, c), BLOCK(N), MPI_Comm c) \
    X(S, Alltoallv, alltoallv, note_all(c, ALREADY_THERE ? rnn : nn, WIDE, ALREADY_THERE ? rt : t, NULL), \
        (b, nn, d, t, r, rnn, rd, rt, c), BLOCKS(N, A), MPI_Comm c) \
    X(S, Alltoallw, alltoallw, \
        note_all(c, ALREADY_THERE ? rnn : nn, WIDE, MPI_DATATYPE_NULL, ALREADY_THERE ? rt : t), \
        (b, nn, d, t, r, rnn, rd, rt, c), TYPED_BLOCKS(N, A), MPI_Comm c) \
    X(S, Neighbor_allgather, neighbor_allgather, note_neighbours(c, NULL, 0, n, t, NULL), \
        (b, n, t, r, rn, rt, c), BLOCK(N), MPI_Comm c) \
    X(S, Neighbor_allgatherv, neighbor_allgatherv, note_neighbours(c, NULL, 0, n, t, NULL), \
        (b, n, t, r, rnn, d, rt, c), TO_BLOCKS(N, A), MPI_Comm c) \
    X(S, Neighbor_alltoall, neighbor_alltoall, note_neighbours(c, NULL, 0, n, t, NULL), \
        (b, n, t, r, rn, rt, c), BLOCK(N), MPI_Comm c) \
    X(S, Neighbor_alltoallv, neighbor_alltoallv, note_neighbours(c, nn, WIDE, 0, t, NULL), \
        (b, nn, d, t, r, rnn, rd, rt, c), BLOCKS(N, A), MPI_Comm c) \
    X(S, Neighbor_alltoallw, neighbor_alltoallw, note_neighbours(c, nn, WIDE, 0, MPI_DATATYPE_NULL, t), \
        (b, nn, d, t, r, rnn, rd, rt, c), TYPED_BLOCKS(N, MPI_Aint), MPI_Comm c)

/* One-sided calls: a put sends to the target, a get receives from it, and a fetching atomic does both. */
#define PUT note_window(w, SENT, to, BYTES)
#define GET note_window(w, GOT, to, BYTES)
#define FETCH (note_window(w, SENT, to, BYTES), note_window(w, GOT, to, (long long)rn * size_of(rt)))
#define TARGET(N) int to, MPI_Aint disp, N tn, MPI_Datatype tt
#define ONE_SIDED(X, S, R, N) \
    X(S, R(Put, put), PUT, (b, n, t, to, disp, tn, tt, w), \
        const void *b, N n, MPI_Datatype t, TARGET(N), MPI_Win w) \
    X(S, R(Get, get), GET, (b, n, t, to, disp, tn, tt, w), \
        void *b, N n, MPI_Datatype t, TARGET(N), MPI_Win w) \
    X(S, R(Accumulate, accumulate), PUT, (b, n, t, to, disp, tn, tt, op, w), \
        const void *b, N n, MPI_Datatype t, TARGET(N), MPI_Op op, MPI_Win w) \
    X(S, R(Get_accumulate, get_accumulate), FETCH, (b, n, t, r, rn, rt, to, disp, tn, tt, op, w), \
        BLOCK(N), TARGET(N), MPI_Op op, MPI_Win w)
/* The name is the result of a macro and must be expanded before it is pasted; the additional macro level
 * does this.
 */
#define PLAIN_OF(...) PLAIN(__VA_ARGS__)
#define NONBLOCKING_OF(...) NONBLOCKING(__VA_ARGS__)
#define AS_WRITTEN(NAME, LOWER) NAME
#define WITH_REQUEST(NAME, LOWER) R##LOWER

MESSAGES(, int)
COLLECTIVES(COLLECTIVE, , int, int, 0)
COLLECTIVES(NONBLOCKING_COLLECTIVE, , int, int, 0)
ONE_SIDED(PLAIN_OF, , AS_WRITTEN, int)
ONE_SIDED(NONBLOCKING_OF, , WITH_REQUEST, int)
PLAIN(, Barrier, note(c, BARRIER, 0, 0), (c), MPI_Comm c)
NONBLOCKING(, Ibarrier, note(c, BARRIER, 0, 0), (c), MPI_Comm c)
PLAIN(, Fetch_and_op, (note_window(w, SENT, to, size_of(t)), note_window(w, GOT, to, size_of(t))), \
    (b, r, t, to, disp, op, w), BUFFERS, MPI_Datatype t, int to, MPI_Aint disp, MPI_Op op, MPI_Win w)
PLAIN(, Compare_and_swap, (note_window(w, SENT, to, 2 * size_of(t)), note_window(w, GOT, to, size_of(t))), \
    (b, compare, r, t, to, disp, w), \
    const void *b, const void *compare, void *r, MPI_Datatype t, int to, MPI_Aint disp, MPI_Win w)

#ifdef NEW_CALLS
#define EXCHANGES(S, N) \
    NONBLOCKING(S, Isendrecv, MESSAGE, (b, n, t, to, tag, r, rn, rt, from, rtag, c), \
        const void *b, N n, MPI_Datatype t, int to, int tag, void *r, N rn, MPI_Datatype rt, \
        int from, int rtag, MPI_Comm c) \
    NONBLOCKING(S, Isendrecv_replace, MESSAGE, (b, n, t, to, tag, from, rtag, c), \
        void *b, N n, MPI_Datatype t, int to, int tag, int from, int rtag, MPI_Comm c)
EXCHANGES(, int)
COLLECTIVES(PERSISTENT_COLLECTIVE, , int, int, 0)
AROUND_BOTH(Barrier_init, begin_capture(0); note(c, BARRIER, 0, 0), end_capture(*request), \
    (MPI_Comm c, MPI_Info info, MPI_Request *request), (c, info, request))
AROUND_BOTH(Psend_init, begin_capture(0); \
    note(c, SENT, to, (long long)parts * (long long)n * size_of(t)), end_capture(*request), \
    (const void *b, int parts, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Info info, \
        MPI_Request *request), \
    (b, parts, n, t, to, tag, c, info, request))
#endif
#ifdef LARGE_COUNTS
MESSAGES(_c, MPI_Count)
EXCHANGES(_c, MPI_Count)
COLLECTIVES(COLLECTIVE, _c, MPI_Count, MPI_Aint, 1)
COLLECTIVES(NONBLOCKING_COLLECTIVE, _c, MPI_Count, MPI_Aint, 1)
COLLECTIVES(PERSISTENT_COLLECTIVE, _c, MPI_Count, MPI_Aint, 1)
ONE_SIDED(PLAIN_OF, _c, AS_WRITTEN, MPI_Count)
ONE_SIDED(NONBLOCKING_OF, _c, WITH_REQUEST, MPI_Count)
#endif
