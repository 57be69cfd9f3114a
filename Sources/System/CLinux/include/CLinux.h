#pragma once
// Declares what Glibc's Swift module lacks, or has only as macros. The types are our own, because
// including the system's headers a second time, with _GNU_SOURCE, would clash with that module.
#include <stdint.h>

enum { GH_READABLE = 0x1, GH_WRITABLE = 0x4, GH_ERROR = 0x8, GH_HANGUP = 0x2010 };

// gh_event has the layout of struct epoll_event, which is packed only on x86-64. linux.c asserts
// that the two structs have the same layout.
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
// Accepts a connection as a non-blocking, close-on-exec socket. Returns -1 and sets errno on
// failure.
int gh_accept(int listener);
int64_t gh_monotonic(void);
// Like gh_monotonic, but the clock also runs while the machine is suspended.
int64_t gh_boottime(void);
// Opens a listening, non-blocking TCP socket, with SO_REUSEPORT if `shared` is not 0. `host` is a
// numeric address. If `backlog` is 0, the socket is only bound. Returns -1 on failure.
int gh_listen(const char *host, uint16_t port, int backlog, int shared);
/// Makes a listening socket refuse new connections. Handshakes that have begun are completed.
int gh_refuse_new(int descriptor);
/// Gives memory that the process has freed back to the system.
void gh_trim_memory(void);
// Returns the port that a socket is bound to. Returns -1 and sets errno on failure.
int gh_local_port(int descriptor);
// Writes the peer's numeric address, without a port, as a C string. Returns -1 if there is none.
int gh_peer(int descriptor, char *out, int capacity);
// Sets the scheduling policy of the calling thread to SCHED_BATCH (sched(7)), unless the process
// was started with a policy other than the default. If the kernel refuses, the policy does not
// change.
void gh_prefer_throughput(void);
// Calls send(2) so that it never raises SIGPIPE.
long gh_send(int descriptor, const void *bytes, unsigned long count);
