#include "CBuild.h"

// Only C code can get a text from the build, so this function is not in Swift. It is a target of
// its own, so that a new commit causes nothing else to be compiled again.
const char *build_commit(void) { return BUILD_COMMIT; }
