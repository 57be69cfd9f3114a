#pragma once
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// OpenSSL offers the following functions and constants only as macros, which Swift cannot import.
enum { GH_PKEY_PUBLIC_KEY = EVP_PKEY_PUBLIC_KEY };
static inline long gh_ssl_ctx_set_mode(SSL_CTX *c, long m) { return SSL_CTX_set_mode(c, m); }
static inline long gh_ssl_ctx_clear_mode(SSL_CTX *c, long m) { return SSL_CTX_clear_mode(c, m); }
static inline long gh_ssl_set_msg_callback_arg(SSL *s, void *a) {
    return SSL_set_msg_callback_arg(s, a);
}
static inline int gh_ssl_ctx_min_version(SSL_CTX *c, int v) {
    return SSL_CTX_set_min_proto_version(c, v);
}
// These options forbid compression and renegotiation, and prefer the server's order of ciphers.
static inline uint64_t gh_ssl_server_options(void) {
    return SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE;
}
