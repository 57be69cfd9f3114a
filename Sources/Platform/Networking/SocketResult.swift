/// The result of one non-blocking read or write.
package enum SocketResult: Equatable, Sendable {
    case moved(Int)
    /// Try again when the descriptor is readable.
    case wantsRead
    /// Try again when the descriptor is writable.
    case wantsWrite
    /// The peer closed its sending side.
    case ended
    case failed
}
