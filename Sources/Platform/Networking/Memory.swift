import CLinux

/// What the process holds of the machine's memory.
package enum Memory {
    /// Returns free memory to the system; takes some milliseconds.
    package static func trim() { gh_trim_memory() }
}
