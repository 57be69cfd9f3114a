#pragma once
#include <crypt.h>
#include <stdlib.h>
#include <string.h>

// Writes libcrypt's text for the phrase, at most CRYPT_OUTPUT_SIZE bytes with its NUL. 0 if libcrypt
// refuses the setting or the phrase, or without memory. The work area is 32 KiB, and holds parts of
// the phrase until it is cleared.
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
