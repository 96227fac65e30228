/* A program that is ended by a signal, as at a time limit, leaves what it had sent until then. A thread that only
 * waits writes it, since the signal may come while another one is anywhere; the handler waits for it, but not long.
 * Handlers of the program's own are left alone.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

enum { SECONDS_TO_WRITE = 5, SECONDS_FOR_OTHERS = 2 };
static const int ENDING[] = {SIGTERM, SIGINT, SIGXCPU};
static sem_t asked, answered;

static void *write_when_asked(void *none) {
    (void)none;
    while (sem_wait(&asked)) {}
    if (out) {
        write_counts();
        write_facts();
        fprintf(out, "cut\n");
        fflush(out);
    }
    sem_post(&answered);
    return NULL;
}

static void cut_short(int number) {
    struct timespec limit;
    if (holding) { /* this very thread is counting: it comes back once it has let go */
        ending = number;
        return;
    }
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += SECONDS_TO_WRITE;
    sem_post(&asked);
    while (sem_timedwait(&answered, &limit) && errno == EINTR) {}
    /* Launchers kill the other ranks at once when the first one has died. */
    struct timespec left = {SECONDS_FOR_OTHERS, 0};
    while (nanosleep(&left, &left) && errno == EINTR) {}
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_for_end(void) {
    static int watching;
    struct sigaction ours = {.sa_handler = cut_short}, theirs;
    sigset_t all, before;
    pthread_t thread;
    if (watching++ || sem_init(&asked, 0, 0) || sem_init(&answered, 0, 0)) return;
    sigfillset(&all);
    sigfillset(&ours.sa_mask);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's threads */
    int made = pthread_create(&thread, NULL, write_when_asked, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made) return;
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof ENDING / sizeof *ENDING; i++)
        if (!sigaction(ENDING[i], NULL, &theirs) && !(theirs.sa_flags & SA_SIGINFO) && theirs.sa_handler == SIG_DFL)
            sigaction(ENDING[i], &ours, NULL);
}
