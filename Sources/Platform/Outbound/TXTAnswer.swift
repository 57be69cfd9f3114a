/// Reads the TXT records out of a DNS message (RFC 1035 section 4), every length checked.
enum TXTAnswer {
    static let recordLimit = 64

    /// nil if the message is malformed. Strings of one record are joined; those that are not UTF-8
    /// are left out.
    static func records(in message: ArraySlice<UInt8>) -> [String]? {
        var reader = Reader(bytes: Array(message))
        guard reader.skip(4), let questions = reader.number(), let answers = reader.number(),
            reader.skip(4)
        else { return nil }
        for _ in 0..<questions {
            guard reader.skipName(), reader.skip(4) else { return nil }
        }
        var found: [String] = []
        for _ in 0..<answers {
            guard reader.skipName(), let type = reader.number(), let space = reader.number(),
                reader.skip(4), let length = reader.number(), let data = reader.take(length)
            else { return nil }
            // A CNAME in the response accompanies the records that it leads to.
            guard type == 16, space == 1 else { continue }
            guard let text = joined(data) else { return nil }
            if let text = String(validating: text, as: UTF8.self), found.count < recordLimit {
                found.append(text)
            }
        }
        return found
    }

    private static func joined(_ data: ArraySlice<UInt8>) -> [UInt8]? {
        var text: [UInt8] = []
        var rest = data
        while let length = rest.first {
            rest = rest.dropFirst()
            guard rest.count >= Int(length) else { return nil }
            text += rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
        }
        return text
    }

    private struct Reader {
        let bytes: [UInt8]
        var at = 0

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count <= bytes.count - at else { return nil }
            defer { at += count }
            return bytes[at..<at + count]
        }

        mutating func number() -> Int? { take(2).map { $0.reduce(0) { $0 << 8 | Int($1) } } }

        /// Labels up to the root, or a pointer, which ends a name; it is not followed.
        mutating func skipName() -> Bool {
            while let length = take(1)?.first {
                if length == 0 { return true }
                if length & 0xC0 == 0xC0 { return skip(1) }
                guard length & 0xC0 == 0, skip(Int(length)) else { return false }
            }
            return false
        }
    }
}
