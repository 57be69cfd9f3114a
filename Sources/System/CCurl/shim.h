#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

// Swift cannot call curl_easy_setopt, because it is variadic. There is one typed shim for each kind
// of value.
static inline CURLcode gh_curl_long(CURL *h, CURLoption o, long v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gh_curl_string(CURL *h, CURLoption o, const char *v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gh_curl_list(CURL *h, CURLoption o, struct curl_slist *v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gh_curl_pointer(CURL *h, CURLoption o, const void *v) {
    return curl_easy_setopt(h, o, v);
}
typedef size_t (*gh_curl_callback)(char *, size_t, size_t, void *);
static inline CURLcode gh_curl_function(CURL *h, CURLoption o, gh_curl_callback f) {
    return curl_easy_setopt(h, o, f);
}
typedef curl_socket_t (*gh_curl_opener)(void *, curlsocktype, struct curl_sockaddr *);
static inline CURLcode gh_curl_socket_opener(CURL *h, gh_curl_opener f) {
    return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, f);
}
static inline CURLcode gh_curl_status(CURL *h, long *v) {
    return curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, v);
}

// Writes the address in curl's struct to `out` and returns its length, 4 or 16 bytes; returns 0 for
// any other family. Writes the port in the byte order of this machine.
static inline int gh_curl_address(const struct curl_sockaddr *a, unsigned char out[16],
                                  unsigned short *port) {
    const struct sockaddr *s = &a->addr;
    if (a->family == AF_INET && a->addrlen >= sizeof(struct sockaddr_in)) {
        *port = ntohs(((const struct sockaddr_in *)(const void *)s)->sin_port);
        memcpy(out, &((const struct sockaddr_in *)(const void *)s)->sin_addr, 4);
        return 4;
    }
    if (a->family == AF_INET6 && a->addrlen >= sizeof(struct sockaddr_in6)) {
        *port = ntohs(((const struct sockaddr_in6 *)(const void *)s)->sin6_port);
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)s)->sin6_addr, 16);
        return 16;
    }
    return 0;
}
