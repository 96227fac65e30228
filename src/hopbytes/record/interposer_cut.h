/* Keeps the counts of a program that is ended by a signal, for instance at a time limit. A separate thread
 * writes them: the signal may interrupt any function, so the handler itself must not write. The handler
 * waits for that thread for a few seconds at most. Signals that the program handles itself are left to it.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

enum { SECONDS_TO_WRITE = 5, SECONDS_FOR_OTHERS = 2 };
static const int ENDING[] = {SIGTERM, SIGINT, SIGXCPU};
static sem_t asked, answered;
static pid_t watched;
/* Held by the thread that writes the last lines of the file, so that only one does. */
static pthread_mutex_t closing = PTHREAD_MUTEX_INITIALIZER;

static void *write_when_asked(void *none) {
    (void)none;
    while (sem_wait(&asked)) {}
    pthread_mutex_lock(&closing);
    if (out) {
        write_counts();
        write_facts();
        fprintf(out, "cut\n");
        fflush(out);
    }
    pthread_mutex_unlock(&closing);
    sem_post(&answered);
    return NULL;
}

static void wait_for_writer(void) {
    struct timespec limit, left = {SECONDS_FOR_OTHERS, 0};
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += SECONDS_TO_WRITE;
    sem_post(&asked);
    while (sem_timedwait(&answered, &limit) && errno == EINTR) {}
    /* A launcher kills the other ranks as soon as the first one has died, so this rank gives them time to
     * write.
     */
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

static void cut_short(int number) {
    if (holding) { /* this thread holds the lock that the writer needs: leave() raises the signal again */
        ending = number;
        return;
    }
    /* After MPI_Finalize, and in a process that the program forked, there is nothing to write. */
    if (out && getpid() == watched) wait_for_writer();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_for_signals(void) {
    static int watching;
    struct sigaction ours = {.sa_handler = cut_short}, theirs;
    sigset_t all, before;
    pthread_t thread;
    if (watching++ || sem_init(&asked, 0, 0) || sem_init(&answered, 0, 0)) return;
    watched = getpid();
    sigfillset(&all);
    sigfillset(&ours.sa_mask);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread must not receive signals of the program */
    int failed = pthread_create(&thread, NULL, write_when_asked, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return;
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof ENDING / sizeof *ENDING; i++)
        if (!sigaction(ENDING[i], NULL,
            &theirs) && !(theirs.sa_flags & SA_SIGINFO) && theirs.sa_handler == SIG_DFL)
            sigaction(ENDING[i], &ours, NULL);
}
