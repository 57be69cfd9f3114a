#define _GNU_SOURCE 1
#include "CLinux.h"
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

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
