import Networking

/// Which of several equal parts a thread uses, so that loops that count or remember at the same
/// moment do not wait for each other's locks. Loops beyond the last share.
package enum Lane {
    package static let count = 8
    package static var current: Int { max(0, EventLoop.current?.index ?? 0) % count }
}
