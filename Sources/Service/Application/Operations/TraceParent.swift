/// W3C Trace Context: `traceparent` names the caller's trace, which the log repeats.
enum TraceParent {
    /// The trace id of a well-formed header; nil otherwise, which then counts as absent.
    static func trace(of header: String?) -> String? {
        guard let header else { return nil }
        let parts = Array(header.utf8).split(separator: 0x2D, omittingEmptySubsequences: false)
        // Versions above 00 may have more parts; ff is never valid.
        guard parts.count >= 4, parts[0].count == 2, parts[1].count == 32, parts[2].count == 16,
            parts[3].count == 2, parts[0] != [0x66, 0x66],
            parts.count == 4 || parts[0] != [0x30, 0x30],
            parts[0...3].allSatisfy({ $0.allSatisfy(isDigit) }),
            parts[1].contains(where: { $0 != 0x30 }), parts[2].contains(where: { $0 != 0x30 })
        else { return nil }
        return String(decoding: parts[1], as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
