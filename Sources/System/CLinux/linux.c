#define _GNU_SOURCE 1
#include "CLinux.h"
#include <arpa/inet.h>
#include <linux/filter.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(gh_event) == sizeof(struct epoll_event), "layout");
_Static_assert(offsetof(gh_event, token) == offsetof(struct epoll_event, data), "layout");
_Static_assert(GH_READABLE == EPOLLIN && GH_WRITABLE == EPOLLOUT && GH_ERROR == EPOLLERR, "bits");
_Static_assert(GH_HANGUP == (EPOLLRDHUP | EPOLLHUP), "bits");

int gh_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int gh_epoll_wait(int epoll, gh_event *events, int count, int milliseconds) {
    return epoll_wait(epoll, (struct epoll_event *)events, count, milliseconds);
}

int gh_epoll_add(int epoll, int descriptor, uint32_t mask, uint64_t token) {
    struct epoll_event event = {.events = mask, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

int gh_epoll_modify(int epoll, int descriptor, uint32_t mask, uint64_t token) {
    struct epoll_event event = {.events = mask, .data = {.u64 = token}};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}

int gh_epoll_remove(int epoll, int descriptor) {
    return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL);
}

int gh_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int gh_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int64_t gh_monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t gh_boottime(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int gh_listen(const char *host, uint16_t port, int backlog, int shared) {
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, service, &hints, &found) != 0) return -1;
    int one = 1;
    int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (shared) setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
        // Sockets that the listener accepts inherit this option.
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (bind(descriptor, found->ai_addr, found->ai_addrlen) != 0 ||
            (backlog > 0 && listen(descriptor, backlog) != 0)) {
            close(descriptor);
            descriptor = -1;
        }
    }
    freeaddrinfo(found);
    return descriptor;
}

// The filter of a listening socket gets each segment from the TCP header on (RFC 9293 3.1). Byte 13
// contains the flags, and 0x02 is SYN. Segments with SYN are dropped.
int gh_refuse_new(int descriptor) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

void gh_trim_memory(void) { malloc_trim(0); }

int gh_local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return -1;
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

int gh_peer(int descriptor, char *out, int capacity) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getpeername(descriptor, (struct sockaddr *)&address, &length) != 0) return -1;
    if (address.ss_family == AF_INET6) {
        struct in6_addr *six = &((struct sockaddr_in6 *)&address)->sin6_addr;
        // A dual-stack listener sees IPv4 peers as mapped IPv6 addresses. They are written as IPv4
        // addresses.
        if (IN6_IS_ADDR_V4MAPPED(six))
            return inet_ntop(AF_INET, (char *)six + 12, out, capacity) ? 0 : -1;
        return inet_ntop(AF_INET6, six, out, capacity) ? 0 : -1;
    }
    return inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, out, capacity) ? 0 : -1;
}

long gh_send(int descriptor, const void *bytes, unsigned long count) {
    return send(descriptor, bytes, count, MSG_NOSIGNAL);
}

void gh_prefer_throughput(void) {
    struct sched_param none = {.sched_priority = 0};
    if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}
