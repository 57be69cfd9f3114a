/// W3C Trace Context: `traceparent` names the caller's trace and span, and whether it is recorded.
struct TraceParent {
    /// 32 hexadecimal digits.
    let trace: String
    let span: UInt64
    let isSampled: Bool

    /// nil for an absent or malformed header, which then counts as absent.
    init?(_ header: String?) {
        guard let header else { return nil }
        let parts = Array(header.utf8).split(separator: 0x2D, omittingEmptySubsequences: false)
        // Versions above 00 may have more parts; ff is never valid.
        guard parts.count >= 4, parts[0].count == 2, parts[1].count == 32, parts[2].count == 16,
            parts[3].count == 2, parts[0] != [0x66, 0x66],
            parts.count == 4 || parts[0] != [0x30, 0x30],
            parts[0...3].allSatisfy({ $0.allSatisfy(Self.isDigit) }),
            parts[1].contains(where: { $0 != 0x30 }),
            let span = UInt64(String(decoding: parts[2], as: UTF8.self), radix: 16), span != 0,
            let flags = UInt8(String(decoding: parts[3], as: UTF8.self), radix: 16)
        else { return nil }
        trace = String(decoding: parts[1], as: UTF8.self)
        self.span = span
        isSampled = flags & 1 == 1
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
