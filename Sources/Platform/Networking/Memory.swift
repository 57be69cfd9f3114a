import CLinux

/// What the process holds of the machine's memory.
package enum Memory {
    /// Gives what is free back to the system; takes some milliseconds.
    package static func trim() { gh_trim_memory() }
}
