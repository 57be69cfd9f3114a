import Runtime

/// Collects the log lines of each event loop and writes them at the end of the loop's cycle. If
/// every response made its own call of write(2), these calls would take a twentieth of the
/// processor time of a verification.
final class LoopLog: LogSink {
    private final class Part {
        var bytes: [UInt8] = []
    }

    /// The maximum length of one write in bytes: PIPE_BUF. If several processes write at most this
    /// much at a time into one pipe, their writes do not mix (pipe(7)).
    private static let most = 4096

    private let parts: [LoopBound<Part>]
    private let descriptor: Int32

    init(_ loops: [EventLoop], descriptor: Int32) {
        self.descriptor = descriptor
        let parts = loops.map { LoopBound(Part(), loop: $0) }
        self.parts = parts
        for part in parts {
            part.loop.perform {
                part.loop.atCycleEnd {
                    Self.flush(part.value, to: descriptor)
                    return true
                }
            }
        }
    }

    func write(_ line: [UInt8]) {
        guard let part = parts.first(where: { $0.loop.isCurrent })?.value else {
            return Logger.write(line, to: descriptor)
        }
        if part.bytes.count + line.count > Self.most { Self.flush(part, to: descriptor) }
        part.bytes += line
    }

    /// Waits until all earlier lines are written.
    func flush() async {
        for part in parts {
            await withUnsafeContinuation { (done: UnsafeContinuation<Void, Never>) in
                part.loop.perform { [descriptor] in
                    Self.flush(part.value, to: descriptor)
                    done.resume()
                }
            }
        }
    }

    private static func flush(_ part: Part, to descriptor: Int32) {
        guard !part.bytes.isEmpty else { return }
        Logger.write(part.bytes, to: descriptor)
        part.bytes.removeAll(keepingCapacity: true)
    }
}
