#ifndef CBUILD_H
#define CBUILD_H

/// The commit that was built and its date, as `Package.swift` supplies them; empty in an ordinary
/// build.
const char *build_commit(void);

#endif
