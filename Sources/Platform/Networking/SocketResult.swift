/// What became of one non-blocking read or write.
package enum SocketResult: Equatable, Sendable {
    case moved(Int)
    /// Try again when the descriptor is readable.
    case wantsRead
    /// Try again when the descriptor is writable.
    case wantsWrite
    /// The peer sent its end.
    case ended
    case failed
}
