import Networking

/// Event loops for tests; they run as long as the process.
package enum Loops {
    package static let shared: [EventLoop] = (0..<2).map { index in
        let loop = EventLoop(index: index)
        loop.start()
        return loop
    }
}
