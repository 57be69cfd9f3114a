import CLinux

/// Nanoseconds since the machine started, those it slept through included.
package enum BootClock {
    package static var now: Int64 { gh_boottime() }
}
