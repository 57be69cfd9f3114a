import Glibc
import Runtime

/// A logger whose lines a test reads back.
package final class CapturedLog: Sendable {
    package let logger: Logger
    private let path: String

    package init() {
        path = "/tmp/gh-log.\(getpid()).\(UInt64.random(in: 0...UInt64.max))"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
        logger = Logger(level: .debug, format: .json, descriptor: descriptor)
    }

    deinit {
        close(logger.descriptor)
        unlink(path)
    }

    package var text: String { (try? Shell.run(["cat", path])) ?? "" }
    package var lines: [String] { text.split(separator: "\n").map(String.init) }
}
