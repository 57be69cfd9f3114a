/// Strict percent-decoding of one path segment (RFC 3986 §2.1): nil for a bad escape, text that is
/// not UTF-8, a control character, an encoded `/`, and the dot segments, since what stands behind
/// them was meant to look like another path.
func decodedSegment(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var at = bytes.startIndex
    while at < bytes.endIndex {
        var byte = bytes[at]
        if byte == UInt8(ascii: "%") {
            guard at + 2 < bytes.endIndex, let high = hexDigit(bytes[at + 1]),
                let low = hexDigit(bytes[at + 2])
            else { return nil }
            byte = high << 4 | low
            guard byte != UInt8(ascii: "/") else { return nil }
            at += 2
        }
        guard byte >= 0x20, byte != 0x7F else { return nil }
        decoded.append(byte)
        at += 1
    }
    guard !decoded.isEmpty, decoded != [0x2E], decoded != [0x2E, 0x2E] else { return nil }
    return String(validating: decoded, as: UTF8.self)
}

private func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
}
