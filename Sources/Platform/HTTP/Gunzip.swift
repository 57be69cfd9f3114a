import CZlib
import Synchronization

/// Unpacks a gzip body (RFC 1952) as its pieces arrive. The output comes in pieces of bounded size,
/// so that a small body that unpacks to a large one does not fill the memory.
final class Gunzip: Sendable {
    private struct State {
        /// zlib's stream. It is allocated separately, because zlib keeps its address.
        var stream: UnsafeMutablePointer<z_stream>
        var input: [UInt8] = []
        var at = 0
        var packed = 0
        var unpacked = 0
        /// Whether the input is between two gzip members, where the body may end.
        var isBetween = true
    }

    private static let pieceBytes = 64 << 10
    /// How many unpacked bytes are allowed in addition to what the ratio allows. A short text may
    /// be very repetitive, and so exceed the ratio.
    private static let freeBytes = 1 << 20

    private let limit: Int
    private let ratio: Int
    private let state: Mutex<State>

    /// Makes a decompressor; `nil` if zlib cannot allocate memory. `limit` is the maximum number of
    /// unpacked bytes. `ratio` is the maximum number of unpacked bytes for each packed byte.
    init?(limit: Int, ratio: Int) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 window bits plus 16 make zlib accept only the gzip format.
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, size) == Z_OK else {
            stream.deallocate()
            return nil
        }
        self.limit = limit
        self.ratio = ratio
        state = Mutex(State(stream: stream))
    }

    deinit {
        state.withLock { state in
            inflateEnd(state.stream)
            state.stream.deallocate()
        }
    }

    /// Supplies the next packed bytes. All earlier bytes must have been used up.
    func append(_ bytes: [UInt8]) {
        state.withLock { state in
            state.input = bytes
            state.at = 0
            state.packed += bytes.count
        }
    }

    /// Returns the next unpacked bytes; empty if more input is needed.
    func next() throws(HTTPError) -> [UInt8] {
        try state.withLock { state throws(HTTPError) in
            while true {
                let piece = try Self.inflate(&state)
                state.unpacked += piece.count
                guard state.unpacked <= limit else { throw Self.tooLong }
                guard state.unpacked <= Self.freeBytes + state.packed * ratio else {
                    throw Self.tooDense
                }
                if !piece.isEmpty || state.at == state.input.count { return piece }
            }
        }
    }

    /// Throws if the packed body, which has ended, is incomplete.
    func finish() throws(HTTPError) {
        guard state.withLock({ $0.isBetween && $0.packed > 0 }) else {
            throw HTTPError(400, "The gzip body ends too early.")
        }
    }

    private static func inflate(_ state: inout State) throws(HTTPError) -> [UInt8] {
        var code = Z_OK
        let stream = state.stream
        let at = state.at
        let left = state.input.count - at
        var used = 0
        let isBetween = state.isBetween
        // Within a gzip member, zlib may have output left even if there is no new input. Between
        // two members, it has none.
        if left == 0, isBetween { return [] }
        let piece = state.input.withUnsafeMutableBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: pieceBytes) { output, count in
                stream.pointee.next_in = input.baseAddress.map { $0 + at }
                stream.pointee.avail_in = UInt32(left)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                code = CZlib.inflate(stream, Z_NO_FLUSH)
                count = output.count - Int(stream.pointee.avail_out)
                used = left - Int(stream.pointee.avail_in)
            }
        }
        state.at += used
        switch code {
        case Z_OK: state.isBetween = false
        case Z_BUF_ERROR: break
        case Z_STREAM_END:
            // The contents of all gzip members form one body (RFC 1952, section 2.2).
            state.isBetween = true
            inflateReset(stream)
        default: throw HTTPError(400, "The body is not gzip, or it is damaged.")
        }
        return piece
    }

    private static let tooLong = HTTPError(413, "The unpacked body is too large.")
    private static let tooDense = HTTPError(413, "The body unpacks to far more than it has.")
}

extension BodyStream {
    /// Returns the unpacked content of a gzip body. `limit` is the maximum number of unpacked
    /// bytes. `ratio` is the maximum number of unpacked bytes for each packed byte.
    package func unpacked(limit: Int, ratio: Int) throws(HTTPError) -> BodyStream {
        guard let gunzip = Gunzip(limit: limit, ratio: ratio) else {
            throw HTTPError(503, "The service cannot unpack the body now; try again.")
        }
        return BodyStream {
            while true {
                let piece = try gunzip.next()
                if !piece.isEmpty { return piece }
                guard let packed = try await next() else {
                    try gunzip.finish()
                    return nil
                }
                gunzip.append(packed)
            }
        }
    }
}
