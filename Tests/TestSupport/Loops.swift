import Glibc
import Runtime

/// Event loops for tests; they run as long as the process.
package enum Loops {
    package static let shared: [EventLoop] = {
        // As the service does: OpenSSL writes to a socket without suppressing the signal.
        signal(SIGPIPE, SIG_IGN)
        return (0..<2).map { index in
            let loop = EventLoop(index: index)
            loop.start()
            return loop
        }
    }()
}
