import Networking

/// The part of a split structure that a thread uses, so that loops that count or cache at the same
/// time do not wait for each other's locks. Loops beyond the last part share one.
package enum Lane {
    package static let count = 8
    package static var current: Int { max(0, EventLoop.current?.index ?? 0) % count }
}
