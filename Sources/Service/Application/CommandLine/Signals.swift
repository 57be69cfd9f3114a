import Glibc

/// Handles the process's signals in one thread that waits for them.
enum Signals {
    /// Blocks them in every thread started from now on.
    static func block() {
        var signals = all
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Returns the name of SIGINT or SIGTERM when one arrives. SIGHUP calls `reload`, or also
    /// returns if `reload` is nil.
    static func waitForStop(reload: (() -> Void)?) -> String {
        var signals = all
        while true {
            var number: Int32 = 0
            guard sigwait(&signals, &number) == 0 else { continue }
            if number == SIGHUP, let reload {
                reload()
                continue
            }
            return name(of: number)
        }
    }

    /// Whether SIGINT or SIGTERM has arrived and waits, since `block` was called.
    static var isStopAsked: Bool {
        var signals = sigset_t()
        sigpending(&signals)
        return [SIGINT, SIGTERM].contains { sigismember(&signals, $0) == 1 }
    }

    /// Waits for `time`; another signal to stop ends the wait.
    static func pause(_ time: Duration) {
        var signals = all
        sigdelset(&signals, SIGHUP)
        let clock = ContinuousClock()
        let end = clock.now + time
        while clock.now < end {
            let (seconds, attoseconds) = (end - clock.now).components
            var left = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            if sigtimedwait(&signals, nil, &left) > 0 { return }
        }
    }

    private static var all: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, number) }
        return signals
    }

    private static func name(of number: Int32) -> String {
        switch number {
        case SIGINT: "SIGINT"
        case SIGTERM: "SIGTERM"
        default: "SIGHUP"
        }
    }
}
