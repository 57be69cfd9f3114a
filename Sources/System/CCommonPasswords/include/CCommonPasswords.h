#ifndef CCOMMONPASSWORDS_H
#define CCOMMONPASSWORDS_H

/// Returns the passwords in lower case, sorted by bytes, each followed by a newline.
const char *common_passwords(void);
unsigned long common_passwords_length(void);

#endif
