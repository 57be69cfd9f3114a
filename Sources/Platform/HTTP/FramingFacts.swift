import Text

/// What the fields say about framing and connection (RFC 9112 §6.3, §7, §9.3). Anything that two
/// parsers could frame differently is refused rather than repaired.
struct FramingFacts {
    private var hosts = 0
    private var length: Int?
    private var lengthTooBig = false
    private var lengths = 0
    private var transferEncodings = 0
    private var chunked = false
    private var endsChunked = false
    private var close = false
    private var expectsContinue = false
    private var unknownExpectation = false

    mutating func note(
        _ name: UnsafePointer<UInt8>, _ count: Int, _ value: UnsafeBufferPointer<UInt8>
    ) throws(HTTPError) {
        switch count {
        case 4 where matches(name, count, "host"):
            hosts += 1
            guard Self.isHost(value) else { throw HTTPError(400, "The Host field is malformed.") }
        case 6 where matches(name, count, "expect"):
            if holds(value, "100-continue") {
                expectsContinue = true
            } else {
                unknownExpectation = true
            }
        case 10 where matches(name, count, "connection"):
            close = close || Self.hasClose(value)
        case 14 where matches(name, count, "content-length"):
            lengths += 1
            try readLength(value)
        case 17 where matches(name, count, "transfer-encoding"):
            transferEncodings += 1
            guard !value.isEmpty else { throw RequestParser.malformedField }
            chunked = holds(value, "chunked")
            endsChunked = Self.endsChunked(value)
        default: break
        }
    }

    func requireHost(_ head: RequestHead) throws(HTTPError) {
        guard hosts == 1 || (hosts == 0 && head.isHTTP10) else {
            throw HTTPError(400, "There must be exactly one Host field.")
        }
    }

    func settle(_ head: inout RequestHead, _ limits: HTTPLimits) throws(HTTPError) {
        if lengths > 1 { throw HTTPError(400, "Content-Length is repeated.") }
        if transferEncodings > 0 {
            if lengths > 0 {
                throw HTTPError(400, "Content-Length and Transfer-Encoding exclude each other.")
            }
            if head.isHTTP10 || transferEncodings > 1 {
                throw HTTPError(400, "Transfer-Encoding is not acceptable here.")
            }
            // If the body's end is unknown, the following request cannot be found either (RFC 9112
            // §6.3).
            guard endsChunked else {
                throw HTTPError(400, "The last transfer coding must be chunked.")
            }
            if !chunked { throw HTTPError(501, "Only the chunked transfer coding is served.") }
            head.framing = .chunked
        } else if lengths == 1 {
            guard let length, !lengthTooBig, length <= max(limits.body, limits.streamedBody) else {
                throw RequestParser.bigBody
            }
            head.framing = .length(length)
        }
        if unknownExpectation { throw HTTPError(417, "This expectation cannot be met.") }
        head.expectsContinue = expectsContinue && !head.isHTTP10
        if close { head.keepAlive = false }
    }

    /// Digits only. A leading zero is refused: some parsers read octal.
    private mutating func readLength(_ value: UnsafeBufferPointer<UInt8>) throws(HTTPError) {
        guard !value.isEmpty, value.allSatisfy(isDigit), value.count == 1 || value[0] != 0x30
        else { throw HTTPError(400, "Content-Length is malformed.") }
        guard value.count <= 18 else {
            lengthTooBig = true
            return
        }
        length = value.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private func holds(_ value: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        guard let start = value.baseAddress else { return false }
        return matches(start, value.count, text)
    }

    /// Whether the last coding of the list is `chunked`, with parameters or without.
    private static func endsChunked(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard var last = value.split(separator: 0x2C, omittingEmptySubsequences: false).last else {
            return false
        }
        last = last.prefix { $0 != 0x3B }
        while let first = last.first, first == 0x20 || first == 0x09 { last.removeFirst() }
        while let end = last.last, end == 0x20 || end == 0x09 { last.removeLast() }
        let bytes = UnsafeBufferPointer(rebasing: last)
        return bytes.baseAddress.map { matches($0, bytes.count, "chunked") } ?? false
    }

    /// Whether a comma-separated list holds the option `close`.
    private static func hasClose(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        for item in value.split(separator: 0x2C) {
            var part = item
            while let first = part.first, first == 0x20 || first == 0x09 { part.removeFirst() }
            while let last = part.last, last == 0x20 || last == 0x09 { part.removeLast() }
            let bytes = UnsafeBufferPointer(rebasing: part)
            if let start = bytes.baseAddress, matches(start, bytes.count, "close") { return true }
        }
        return false
    }

    /// `host [":" port]` (RFC 9110 §7.2) of letters, digits, `.`, `-`, `_`, or a bracketed address.
    static func isHost(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        var at = 0
        if value.first == 0x5B {
            at = 1
            while at < value.count,
                hexDigit(value[at]) != nil || value[at] == 0x3A
                    || value[at] == 0x2E
            { at += 1 }
            guard at > 2, at < value.count, value[at] == 0x5D else { return false }
            at += 1
        } else {
            while at < value.count,
                isAlphanumeric(value[at]) || value[at] == 0x2E || value[at] == 0x2D
                    || value[at] == 0x5F
            { at += 1 }
            guard at > 0, at <= 255 else { return false }
        }
        if at == value.count { return true }
        let port = value[(at + 1)...]
        guard value[at] == 0x3A, (1...5).contains(port.count), port.allSatisfy(isDigit) else {
            return false
        }
        return port.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 65_535
    }

}
