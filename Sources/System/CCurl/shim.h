#pragma once
#include <curl/curl.h>

// curl_easy_setopt is variadic, which Swift cannot call: one typed shim for each kind of value.
static inline CURLcode gh_curl_long(CURL *h, CURLoption o, long v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gh_curl_string(CURL *h, CURLoption o, const char *v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gh_curl_list(CURL *h, CURLoption o, struct curl_slist *v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode gh_curl_pointer(CURL *h, CURLoption o, void *v) {
    return curl_easy_setopt(h, o, v);
}
typedef size_t (*gh_curl_callback)(char *, size_t, size_t, void *);
static inline CURLcode gh_curl_function(CURL *h, CURLoption o, gh_curl_callback f) {
    return curl_easy_setopt(h, o, f);
}
static inline CURLcode gh_curl_status(CURL *h, long *v) {
    return curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, v);
}
