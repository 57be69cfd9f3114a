import Text

/// Strict percent-decoding of one path segment (RFC 3986 §2.1): nil for a bad escape, text that is
/// not UTF-8, a control character, an encoded `/`, and dot segments, which try to look like another
/// path.
func decodedSegment(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
    guard let decoded = PercentEncoding.decode(bytes), !decoded.isEmpty,
        decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }),
        decoded != [0x2E], decoded != [0x2E, 0x2E]
    else { return nil }
    return String(validating: decoded, as: UTF8.self)
}
