import Text

/// A range of bytes, as an offset from the start of the head and a length.
struct Span32: Sendable {
    var start: UInt32 = 0
    var count: UInt32 = 0

    init() {}

    @inline(__always)
    init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        count = UInt32(truncatingIfNeeded: end - start)
    }
}

struct FieldSpan {
    var name: Span32
    var value: Span32
}

/// How the body's end is found (RFC 9112 §6).
enum BodyFraming: Sendable, Equatable {
    case none
    case length(Int)
    case chunked
}

/// A parsed request head as offsets into the receive buffer, so that copying it is cheap. It
/// becomes invalid when new bytes are read into the buffer, or when the parser parses the next
/// head. So use it only within a synchronous call.
package struct RequestHead {
    package internal(set) var method = Method.get
    internal(set) var framing = BodyFraming.none
    /// Whether the connection may carry another request after this one.
    package internal(set) var keepAlive = true
    internal(set) var isHTTP10 = false
    internal(set) var expectsContinue = false
    /// The length of the head in bytes, its empty line included.
    package internal(set) var length = 0
    var base: UnsafePointer<UInt8>
    var fields: UnsafeMutablePointer<FieldSpan>
    var fieldCount = 0
    var pathSpan = Span32()
    var querySpan = Span32()
    /// The host and port in the request target if the target is in absolute form; otherwise empty.
    var authoritySpan = Span32()

    @inline(__always)
    func bytes(_ span: Span32) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: base + Int(span.start), count: Int(span.count))
    }

    /// The path as sent, without the query.
    package var path: UnsafeBufferPointer<UInt8> { bytes(pathSpan) }
    /// The bytes after the `?`.
    package var query: UnsafeBufferPointer<UInt8> { bytes(querySpan) }

    /// Whether the path equals `text` byte for byte.
    @inline(__always)
    package func pathIs(_ text: StaticString) -> Bool {
        guard Int(pathSpan.count) == text.utf8CodeUnitCount else { return false }
        let path = base + Int(pathSpan.start)
        for index in 0..<text.utf8CodeUnitCount where path[index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// Returns the first value of a field. `name` must be in lower case.
    package func first(_ name: StaticString) -> UnsafeBufferPointer<UInt8>? {
        for index in 0..<fieldCount {
            let span = fields[index].name
            if matches(base + Int(span.start), Int(span.count), name) {
                return bytes(fields[index].value)
            }
        }
        return nil
    }

    /// Returns how often a field occurs. `name` must be in lower case.
    package func count(_ name: StaticString) -> Int {
        var found = 0
        for index in 0..<fieldCount {
            let span = fields[index].name
            if matches(base + Int(span.start), Int(span.count), name) { found += 1 }
        }
        return found
    }

    /// Makes a request with copies of the buffer's bytes. A field value that is not UTF-8 is read
    /// as ISO 8859-1 (RFC 9110 §5.5). If replacement characters were used instead, different values
    /// would become equal.
    package func request(
        body: [UInt8] = [], remoteAddress: String, isTLS: Bool, id: String
    ) -> Request {
        var copied: [Field] = []
        copied.reserveCapacity(fieldCount)
        for index in 0..<fieldCount {
            copied.append(
                Field(
                    lowercased(fields[index].name),
                    Self.text(bytes(fields[index].value))))
        }
        return Request(
            method, String(decoding: path, as: UTF8.self),
            query: String(decoding: query, as: UTF8.self), fields: copied, body: body,
            remoteAddress: remoteAddress, isTLS: isTLS, id: id)
    }

    private static func text(_ value: UnsafeBufferPointer<UInt8>) -> String {
        if let text = String(validating: value, as: UTF8.self) { return text }
        var text = ""
        for byte in value { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }

    private func lowercased(_ span: Span32) -> String {
        String(unsafeUninitializedCapacity: Int(span.count)) { out in
            let name = base + Int(span.start)
            for index in 0..<Int(span.count) {
                let byte = name[index]
                out[index] = byte &- 0x41 < 26 ? byte | 0x20 : byte
            }
            return Int(span.count)
        }
    }
}

/// What the header fields say about the framing of the body and about the connection (RFC 9112
/// §6.3, §7, §9.3). Anything that two parsers could frame differently is refused, not repaired.
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
                throw HTTPError(
                    400, "Only HTTP/1.1 may have Transfer-Encoding, in one field.")
            }
            // Refuse the request if the last coding is not `chunked`: it would be unknown where the
            // body ends and the next request starts (RFC 9112 §6.3).
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
        if unknownExpectation {
            throw HTTPError(417, "The value of Expect is not supported; only 100-continue is.")
        }
        head.expectsContinue = expectsContinue && !head.isHTTP10
        if close { head.keepAlive = false }
    }

    /// Reads a Content-Length of digits only. A leading zero is refused, because some parsers would
    /// read an octal number.
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

    /// Whether the last coding of the list is `chunked`, with or without parameters.
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

    /// Whether a comma-separated list contains the option `close`.
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

    /// Whether the value is `host [":" port]` (RFC 9110 §7.2), where the host consists of letters,
    /// digits, `.`, `-` and `_`, or is an address in brackets.
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

/// The limits of one request; all are in bytes, except `fields`.
package struct HTTPLimits: Sendable {
    /// The maximum length of the request line (method, target and version). A request with a longer
    /// line is answered with 414.
    var requestLine = 8 << 10
    /// The maximum length of the whole head, the request line included.
    var head = 32 << 10
    /// The maximum number of field lines in the head.
    var fields = 100
    /// The maximum length of the body, without chunk framing. A request with a larger body is
    /// answered with 413.
    var body = 1 << 20
    /// The maximum length of a body that a handler receives in pieces. It is the largest limit of
    /// any route; 0 if no route receives its body in pieces.
    package var streamedBody = 0

    init() {}
}

/// Why a request is refused before routing. The connection closes after the response.
package struct HTTPError: Error, Sendable, Equatable {
    /// The status of the response, such as 400 or 413.
    package var status: Int
    /// One sentence for the client. It must not repeat anything that the client sent.
    package var detail: String

    /// Makes an error. `detail` must not repeat anything that the client sent.
    package init(_ status: Int, _ detail: String) {
        self.status = status
        self.detail = detail
    }
}
