#include "CBuild.h"

// In C because only C takes a text from the build; in a target of its own because the rest need not
// be compiled again for another commit.
const char *build_commit(void) { return BUILD_COMMIT; }
