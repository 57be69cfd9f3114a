import Glibc

/// Measurements of this process from Linux, under the names that are usual for Prometheus. They are
/// read each time that metrics are requested.
package struct ProcessMeasures: Sendable {
    private let resident: Gauge
    private let descriptors: Gauge
    private let processor: Gauge

    package init(_ registry: Metrics) {
        resident = registry.gauge("process_resident_memory_bytes", "Resident memory.")
        descriptors = registry.gauge("process_open_fds", "Open file descriptors.")
        processor = registry.seconds(
            "process_cpu_seconds_total", "Time on a processor, of the system for it included.")
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        registry.gauge("process_start_time_seconds", "When the process began, in Unix time.")
            .set(Int(now.tv_sec))
    }

    package func read() {
        let fields = (readFile("/proc/self/statm") ?? []).split(separator: 0x20)
        if fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) {
            resident.set(pages * Int(sysconf(Int32(_SC_PAGESIZE))))
        }
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        processor.set(Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000)
        guard let folder = opendir("/proc/self/fd") else { return }
        defer { closedir(folder) }
        // Start below zero, so that `.`, `..` and the folder's own descriptor are not counted.
        var count = -3
        while readdir(folder) != nil { count += 1 }
        descriptors.set(max(0, count))
    }
}
