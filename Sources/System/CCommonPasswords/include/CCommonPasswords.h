#ifndef CCOMMONPASSWORDS_H
#define CCOMMONPASSWORDS_H

/// Lower case, sorted by bytes, each with a newline behind it.
const char *common_passwords(void);
unsigned long common_passwords_length(void);

#endif
