/* Checks that MPI_COMM_WORLD has one order in every class of calls. The order must be 1, 2, ..., 0: the process that
 * was launched as rank i has rank i + 1. Prints one line per check that fails, and "rank R is content" at the end.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#define CHECK(WHAT) do { if (!(WHAT)) wrong++, printf("rank %d: %s\n", rank, #WHAT); } while (0)

static int rank, size, wrong, copied, deleted, deleted_self, raised;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag) {
    *(void **)out = value, *flag = 1, copied++;
    return MPI_SUCCESS;
}
static int removed(MPI_Comm comm, int key, void *value, void *extra) {
    return ++*(int *)value, MPI_SUCCESS;
}
static int last_message(MPI_Comm self, int key, void *value, void *extra) { /* MPI_Finalize still allows messages */
    int sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    deleted_self = sum == size && !deleted;
    return MPI_SUCCESS;
}
static void handler(MPI_Comm *comm, int *code, ...) { raised++; }

static void messages(void) {
    int to = (rank + 1) % size, from = (rank + size - 1) % size, got = -1, all = 0;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 7, &got, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &status);
    CHECK(got == from && status.MPI_SOURCE == from);
    MPI_Send_init(&rank, 1, MPI_INT, to, 8, MPI_COMM_WORLD, requests);
    MPI_Recv_init(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, requests + 1);
    got = -1;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(got == from);
    MPI_Request_free(requests), MPI_Request_free(requests + 1);
    got = rank == 1 ? 99 : 0;
    MPI_Bcast(&got, 1, MPI_INT, 1, MPI_COMM_WORLD);
    CHECK(got == 99);
    MPI_Exscan(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(!rank || all == rank * (rank - 1) / 2);
}

static void windows_and_files(const char *path) {
    int memory = -1, value = rank, back = -1, same;
    MPI_Win win;
    MPI_File file;
    MPI_Group of, world;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40100000 /* Debian's 4.0.2 loses it without this library, too */
    CHECK(memory == (rank + size - 1) % size);
#endif
    MPI_Win_get_group(win, &of), MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(of, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&of), MPI_Group_free(&world), MPI_Win_free(&win);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file), MPI_Barrier(MPI_COMM_WORLD), MPI_File_sync(file);
    MPI_File_read_at(file, (MPI_Offset)(rank * sizeof rank), &back, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(back == rank);
    MPI_File_close(&file);
}

static void communicators(void) {
    int same, got, length, found = 0, *bound, key, in_it, other;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm dup, half, node, inter;
    MPI_Group group, sub;
    MPI_Errhandler mine;
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &same);
    CHECK(same == MPI_IDENT);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(!strcmp(name, "MPI_COMM_WORLD"));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    CHECK(found && *bound >= 32767);
    MPI_Comm_create_keyval(copy, removed, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &deleted);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    CHECK(copied == 1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &bound, &found);
    CHECK(found && bound == &deleted);
    MPI_Comm_delete_attr(dup, key);
    deleted = 0;
    MPI_Comm_compare(MPI_COMM_WORLD, dup, &same);
    CHECK(same == MPI_CONGRUENT);
    MPI_Comm_free(&dup);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &in_it);
    CHECK(in_it == rank);
    MPI_Comm_free(&node);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_rank(group, &got);
    CHECK(got == rank);
    int first[] = {0, 1};
    MPI_Group_incl(group, 2, first, &sub);
    MPI_Comm_create(MPI_COMM_WORLD, sub, &half);
    CHECK((half != MPI_COMM_NULL) == (rank < 2));
    if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
    MPI_Group_free(&group), MPI_Group_free(&sub);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    MPI_Comm_remote_size(inter, &other);
    CHECK(other == (rank % 2 ? (size + 1) / 2 : size / 2));
    MPI_Comm_free(&inter), MPI_Comm_free(&half);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    CHECK(raised == 1);
    MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    CHECK(raised == 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&mine);
}

static void *in_thread(void *tag) {
    int number = *(int *)tag, got = -1;
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, number, &got, 1, MPI_INT, (rank + size - 1) % size, number,
            MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    return NULL;
}

static void threads(int given) {
    pthread_t all[2];
    int tags[] = {50, 51};
    if (given < MPI_THREAD_MULTIPLE) return;
    for (int i = 0; i < 2; i++) pthread_create(all + i, NULL, in_thread, tags + i);
    for (int i = 0; i < 2; i++) pthread_join(all[i], NULL);
}

static void sessions(void) {
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    MPI_Session session;
    MPI_Group all, world;
    int same;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(all, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&all), MPI_Group_free(&world);
    MPI_Session_finalize(&session);
#endif
}

int main(int argc, char **argv) {
    int given, key;
    const char *launched = getenv("OMPI_COMM_WORLD_RANK");
    launched = launched ? launched : getenv("PMI_RANK");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(rank == (atoi(launched) + 1) % size);
    messages(), windows_and_files(argv[1]), communicators(), threads(given), sessions();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_message, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Finalize();
    CHECK(deleted_self && deleted == 1);
    if (!wrong) printf("rank %d is content\n", rank);
    return wrong != 0;
}
