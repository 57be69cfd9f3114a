import Text

/// Decodes a chunked body (RFC 9112 §7.1) as its pieces arrive. Chunk extensions must be tokens and
/// are ignored. Trailer fields are checked and discarded.
package struct ChunkedDecoder: Sendable {
    /// The state of the body after the bytes so far.
    package enum Outcome: Equatable {
        case incomplete
        case complete
        case failed(HTTPError)
    }

    private enum State {
        case size, extensionName, extensionValue, sizeLF
        case data, dataCR, dataLF
        case lineStart, trailerName, trailerValue, trailerLF, endLF
    }

    private static let sizeDigits = 8
    private static let extensionBytes = 256
    private static let trailerBytes = 8 << 10

    private let limit: Int
    private var state = State.size
    private var remaining = 0
    private var received = 0
    private var digits = 0
    private var extra = 0

    /// Makes a decoder. `limit` is the largest body in bytes, without the chunk framing.
    package init(limit: Int) { self.limit = limit }

    /// Decodes `bytes` and appends the content to `body`. `consumed` is set to the number of bytes
    /// that belong to the body. It is less than the number of all bytes only if the body is
    /// complete or refused.
    package mutating func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, into body: inout [UInt8], consumed: inout Int
    ) -> Outcome {
        var at = 0
        defer { consumed = at }
        while at < bytes.count {
            if state == .data {
                let count = min(remaining, bytes.count - at)
                body.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[at..<at + count]))
                at += count
                received += count
                remaining -= count
                if remaining == 0 { state = .dataCR }
                continue
            }
            do throws(HTTPError) {
                let ended = try step(bytes[at])
                at += 1
                if ended { return .complete }
            } catch {
                return .failed(error)
            }
        }
        return .incomplete
    }

    /// Processes one byte of framing. Returns true at the end of the body.
    private mutating func step(_ byte: UInt8) throws(HTTPError) -> Bool {
        switch state {
        case .size: try stepSize(byte)
        case .extensionName, .extensionValue: try stepExtension(byte)
        case .sizeLF:
            try expect(byte, 0x0A)
            extra = 0
            state = remaining == 0 ? .lineStart : .data
        case .dataCR:
            try expect(byte, 0x0D)
            state = .dataLF
        case .dataLF:
            try expect(byte, 0x0A)
            digits = 0
            state = .size
        case .lineStart where byte == 0x0D: state = .endLF
        case .lineStart, .trailerName, .trailerValue, .trailerLF: try stepTrailer(byte)
        case .endLF:
            try expect(byte, 0x0A)
            return true
        case .data: break
        }
        return false
    }

    private mutating func stepSize(_ byte: UInt8) throws(HTTPError) {
        if let value = hexDigit(byte) {
            guard digits < Self.sizeDigits else { throw Self.malformed }
            digits += 1
            remaining = remaining << 4 | Int(value)
            guard remaining <= limit - received else { throw RequestParser.bigBody }
            return
        }
        guard digits > 0 else { throw Self.malformed }
        try endSizePart(byte)
    }

    private mutating func stepExtension(_ byte: UInt8) throws(HTTPError) {
        extra += 1
        guard extra <= Self.extensionBytes else { throw Self.malformed }
        if isToken(byte) {
            digits += 1
            return
        }
        guard digits > 0 else { throw Self.malformed }
        if state == .extensionName, byte == 0x3D {
            state = .extensionValue
            digits = 0
            return
        }
        try endSizePart(byte)
    }

    /// Processes the byte after a chunk's size or extension. The byte begins an extension or ends
    /// the line.
    private mutating func endSizePart(_ byte: UInt8) throws(HTTPError) {
        switch byte {
        case 0x3B: state = .extensionName
        case 0x0D: state = .sizeLF
        default: throw Self.malformed
        }
        digits = 0
    }

    private mutating func stepTrailer(_ byte: UInt8) throws(HTTPError) {
        extra += 1
        guard extra <= Self.trailerBytes else {
            throw HTTPError(431, "The trailer section is too long.")
        }
        switch state {
        case .lineStart, .trailerName:
            if state == .trailerName, byte == 0x3A {
                state = .trailerValue
            } else {
                guard isToken(byte) else { throw Self.malformed }
                state = .trailerName
            }
        case .trailerValue:
            if byte == 0x0D {
                state = .trailerLF
            } else if !isFieldValue(byte) {
                throw Self.malformed
            }
        default:
            try expect(byte, 0x0A)
            state = .lineStart
        }
    }

    private func expect(_ byte: UInt8, _ wanted: UInt8) throws(HTTPError) {
        guard byte == wanted else { throw Self.malformed }
    }

    static let malformed = HTTPError(400, "The chunked body is malformed.")
}
