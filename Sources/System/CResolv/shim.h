#pragma once
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

// Creates a resolver with a state of its own, so that threads share no state. If `port` is not 0,
// the resolver asks only the server at `address` and not those of resolv.conf. Returns NULL if
// there is no memory or the resolver cannot be set up.
static inline struct __res_state *gh_resolver_open(
    const unsigned char address[4], unsigned short port, int seconds) {
    struct __res_state *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    if (res_ninit(s) != 0) {
        free(s);
        return NULL;
    }
    s->retrans = seconds;
    s->retry = 2;
    // The name is looked up as it is, without search domains. A truncated answer is requested again
    // over TCP.
    s->options &= ~(unsigned long)(RES_DEFNAMES | RES_DNSRCH);
    if (port != 0) {
        s->nscount = 1;
        memset(&s->nsaddr_list[0], 0, sizeof s->nsaddr_list[0]);
        s->nsaddr_list[0].sin_family = AF_INET;
        s->nsaddr_list[0].sin_port = htons(port);
        memcpy(&s->nsaddr_list[0].sin_addr, address, 4);
    }
    return s;
}
static inline void gh_resolver_close(struct __res_state *s) {
    res_nclose(s);
    free(s);
}
static inline int gh_resolver_txt(
    struct __res_state *s, const char *name, unsigned char *answer, int length) {
    return res_nquery(s, name, C_IN, T_TXT, answer, length);
}
// HOST_NOT_FOUND and NO_DATA of netdb.h: a server stated that the name or its records do not exist.
static inline int gh_resolver_says_absent(const struct __res_state *s) {
    return s->res_h_errno == 1 || s->res_h_errno == 4;
}
