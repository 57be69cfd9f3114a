#pragma once
#include <crypt.h>
#include <stdlib.h>
#include <string.h>

// Writes to `out` what libcrypt computes from the phrase: a text of at most CRYPT_OUTPUT_SIZE
// bytes, including the NUL. Returns 0 if libcrypt refuses the setting or the phrase, or if there is
// no memory. The work area of 32 KiB contains parts of the phrase, so it is cleared before it is
// freed.
static inline int gh_crypt(const char *phrase, const char *setting, char *out) {
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL) return 0;
    const char *made = crypt_rn(phrase, setting, data, (int)sizeof *data);
    if (made != NULL) memcpy(out, made, strnlen(made, CRYPT_OUTPUT_SIZE - 1) + 1);
    explicit_bzero(data, sizeof *data);
    free(data);
    return made != NULL;
}
enum { GH_CRYPT_OUTPUT_SIZE = CRYPT_OUTPUT_SIZE };
