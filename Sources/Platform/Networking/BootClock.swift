import CLinux

/// Nanoseconds since the machine started, sleep included.
package enum BootClock {
    package static var now: Int64 { gh_boottime() }
}
