#pragma once
// What Glibc's Swift module lacks, or spells as macros, behind types of our own: a second sight of
// the system's headers under _GNU_SOURCE would clash with that module.
#include <stdint.h>

enum { GH_READABLE = 0x1, GH_WRITABLE = 0x4, GH_ERROR = 0x8, GH_HANGUP = 0x2010 };

// The layout of struct epoll_event, which is packed on x86-64 alone; linux.c asserts it.
#ifdef __x86_64__
typedef struct __attribute__((packed)) { uint32_t mask; uint64_t token; } gh_event;
#else
typedef struct { uint32_t mask; uint64_t token; } gh_event;
#endif

int gh_epoll_create(void);
int gh_epoll_wait(int epoll, gh_event *events, int count, int milliseconds);
int gh_epoll_add(int epoll, int descriptor, uint32_t mask, uint64_t token);
int gh_epoll_modify(int epoll, int descriptor, uint32_t mask, uint64_t token);
int gh_epoll_remove(int epoll, int descriptor);
int gh_eventfd(void);
// Non-blocking and close-on-exec; -1 with errno.
int gh_accept(int listener);
int64_t gh_monotonic(void);
// The same, but a suspended machine's clock goes on.
int64_t gh_boottime(void);
// A listening TCP socket, non-blocking, with SO_REUSEPORT where shared; host is a numeric address.
// backlog 0: bound only. -1 with errno.
int gh_listen(const char *host, uint16_t port, int backlog, int shared);
// The port that a socket is bound to; -1 with errno.
/// Lets no new connection begin at a listening socket; those that have begun come to their end.
int gh_refuse_new(int descriptor);
/// Gives memory that is free back to the system.
void gh_trim_memory(void);
int gh_local_port(int descriptor);
// Writes the peer's numeric address (without a port) as a C string; -1 when there is none.
int gh_peer(int descriptor, char *out, int capacity);
// Schedules the calling thread as SCHED_BATCH (sched(7)), unless whoever started the process chose a
// policy. What the kernel refuses is left as it was.
void gh_prefer_throughput(void);
// send(2) without SIGPIPE.
long gh_send(int descriptor, const void *bytes, unsigned long count);
