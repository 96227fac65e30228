/* What the laboratory needs beside MPI, on Ethernet devices and sockets:
 *
 *   wire plain DEVICE…          devices send whole frames with checksums: no segments that hardware would cut
 *   wire delay A B NS …         frames that arrive at device A leave from B, and back, NS nanoseconds later
 *   wire serve ADDRESS          answers the two below, until it is ended
 *   wire check ADDRESS BYTES    prints the seconds of one way of a byte, and bytes per second of a transfer
 *   wire send ADDRESS COUNT     sends datagrams of 1000 bytes
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 7, ROUNDS = 20, DATAGRAM = 1000, FRAME = 2048, MOST_DEVICES = 1024 };

static void fail(const char *what) {
  fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t now(void) { /* the clock of the kernel's time stamps */
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void plain(const char *device) {
  const uint32_t features[] = {ETHTOOL_SGRO, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_STXCSUM};
  int control = socket(AF_INET, SOCK_DGRAM, 0);
  for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
    struct ethtool_value off = {features[i], 0};
    struct ifreq request = {.ifr_data = (char *)&off};
    strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    if (ioctl(control, SIOCETHTOOL, &request)) fail(device);
  }
  close(control);
}

struct frame {
  struct frame *next;
  int64_t due;
  ssize_t length;
  char bytes[FRAME];
};

struct way { /* frames from one device to the other */
  int from, to;
  int64_t delay;
  struct frame *first, *last;
};

static int opened(const char *device) {
  int in = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)), yes = 1, room = 16 << 20;
  if (in < 0) fail("packet socket");
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  at.sll_ifindex = (int)if_nametoindex(device);
  if (!at.sll_ifindex || bind(in, (struct sockaddr *)&at, sizeof at)) fail(device);
  setsockopt(in, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes);
  setsockopt(in, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
  setsockopt(in, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  setsockopt(in, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  return in;
}

static int taken(struct way *way) { /* takes a frame that has arrived; 0 if there is none */
  static struct frame *spare;
  if (!spare && !(spare = malloc(sizeof *spare))) fail("memory");
  char control[128];
  struct iovec part = {spare->bytes, FRAME};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
  message.msg_controllen = sizeof control;
  spare->length = recvmsg(way->from, &message, 0);
  if (spare->length < 0) return 0;
  struct timespec stamp;
  spare->due = now();
  for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each))
    if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_TIMESTAMPNS) {
      memcpy(&stamp, CMSG_DATA(each), sizeof stamp);
      spare->due = stamp.tv_sec * 1000000000LL + stamp.tv_nsec;
    }
  spare->due += way->delay;
  spare->next = NULL;
  if (way->last) way->last->next = spare;
  else way->first = spare;
  way->last = spare;
  spare = NULL;
  return 1;
}

static void delay(int count, char **words) {
  static struct way ways[MOST_DEVICES];
  static struct pollfd inputs[MOST_DEVICES];
  int used = 0;
  for (int i = 0; i + 2 < count && used < MOST_DEVICES; i += 3, used += 2) {
    int a = opened(words[i]), b = opened(words[i + 1]);
    ways[used] = (struct way){a, b, atoll(words[i + 2]), NULL, NULL};
    ways[used + 1] = (struct way){b, a, atoll(words[i + 2]), NULL, NULL};
    inputs[used] = (struct pollfd){a, POLLIN, 0}, inputs[used + 1] = (struct pollfd){b, POLLIN, 0};
  }
  struct sched_param first = {.sched_priority = 50};
  sched_setscheduler(0, SCHED_FIFO, &first); /* where it is not allowed, frames are later */
  prctl(PR_SET_TIMERSLACK, 1);
  puts("ready");
  fflush(stdout);
  for (;;) {
    int64_t next = INT64_MAX;
    for (int i = 0; i < used; i++) {
      struct way *way = &ways[i];
      for (struct frame *frame; (frame = way->first) && frame->due <= now(); free(frame)) {
        while (send(way->to, frame->bytes, (size_t)frame->length, 0) < 0 &&
               (errno == EAGAIN || errno == ENOBUFS))
          poll(&(struct pollfd){way->to, POLLOUT, 0}, 1, 1);
        if (!(way->first = frame->next)) way->last = NULL;
      }
      if (way->first && way->first->due < next) next = way->first->due;
    }
    int64_t left = next == INT64_MAX ? 1000000000LL : next - now();
    struct timespec most = {left > 0 ? left / 1000000000LL : 0, left > 0 ? left % 1000000000LL : 0};
    if (ppoll(inputs, (nfds_t)used, &most, NULL) <= 0) continue;
    for (int i = 0; i < used; i++)
      for (int frames = 0; inputs[i].revents && frames < 64 && taken(&ways[i]); frames++) continue;
  }
}

static struct sockaddr_in address(const char *text) {
  struct sockaddr_in found = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  if (inet_pton(AF_INET, text, &found.sin_addr) != 1) fail(text);
  return found;
}

static void move(int stream, int out, uint32_t count) { /* sends or receives this many bytes */
  static char bytes[1 << 16];
  while (count) {
    size_t most = count < sizeof bytes ? count : sizeof bytes;
    ssize_t done = out ? send(stream, bytes, most, 0) : recv(stream, bytes, most, 0);
    if (done <= 0) fail("connection");
    count -= (uint32_t)done;
  }
}

static void serve(const char *text) {
  struct sockaddr_in at = address(text);
  int listener = socket(AF_INET, SOCK_STREAM, 0), sink = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&at, sizeof at) || bind(sink, (struct sockaddr *)&at, sizeof at) ||
      listen(listener, 8))
    fail(text);
  puts("ready");
  fflush(stdout);
  for (;;) {
    int stream = accept(listener, NULL, NULL);
    uint32_t size;
    setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    while (recv(stream, &size, sizeof size, MSG_WAITALL) == sizeof size) {
      move(stream, 0, size);
      move(stream, 1, 1);
    }
    close(stream);
  }
}

static double asked(int stream, uint32_t size) { /* seconds until `size` bytes were sent and answered */
  int64_t began = now();
  if (send(stream, &size, sizeof size, size ? MSG_MORE : 0) != sizeof size) fail("connection");
  move(stream, 1, size);
  move(stream, 0, 1);
  return (double)(now() - began) * 1e-9;
}

static void check(const char *text, uint32_t bytes) {
  struct sockaddr_in to = address(text);
  int stream = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(stream, (struct sockaddr *)&to, sizeof to)) fail(text);
  double both = 1e9, long_time = 1e9;
  for (int round = 0; round < ROUNDS; round++) {
    double time = asked(stream, 0);
    if (time < both) both = time;
  }
  for (int round = 0; round < 4; round++) {
    double time = asked(stream, bytes);
    if (time < long_time) long_time = time;
  }
  printf("%.9f %.1f\n", both / 2, bytes / (long_time - both));
}

static void send_datagrams(const char *text, int count) {
  static char bytes[DATAGRAM];
  struct sockaddr_in to = address(text);
  int out = socket(AF_INET, SOCK_DGRAM, 0);
  if (connect(out, (struct sockaddr *)&to, sizeof to)) fail(text);
  while (count-- > 0)
    if (send(out, bytes, DATAGRAM, 0) != DATAGRAM) fail(text);
}

int main(int count, char **words) {
  const char *what = count > 2 ? words[1] : "";
  if (!strcmp(what, "plain"))
    for (int i = 2; i < count; i++) plain(words[i]);
  else if (!strcmp(what, "delay")) delay(count - 2, words + 2);
  else if (!strcmp(what, "serve")) serve(words[2]);
  else if (!strcmp(what, "check") && count == 4) check(words[2], (uint32_t)atoll(words[3]));
  else if (!strcmp(what, "send") && count == 4) send_datagrams(words[2], atoi(words[3]));
  else return fprintf(stderr, "wire: %s: expected one of plain, delay, serve, check, send\n", what), 1;
  return 0;
}
