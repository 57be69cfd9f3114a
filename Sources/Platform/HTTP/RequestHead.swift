/// A run of bytes, counted from the start of the head.
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
package enum BodyFraming: Sendable, Equatable {
    case none
    case length(Int)
    case chunked
}

/// A view of one parsed head inside a receive buffer: offsets only, so copying is free. Valid until
/// that buffer is read into again or the parser parses the next head, so it must not outlive a
/// synchronous call.
package struct RequestHead {
    package internal(set) var method = Method.get
    package internal(set) var framing = BodyFraming.none
    /// Whether the connection may carry another request.
    package internal(set) var keepAlive = true
    package internal(set) var isHTTP10 = false
    package internal(set) var expectsContinue = false
    /// Bytes of the head, its empty line included.
    package internal(set) var length = 0
    var base: UnsafePointer<UInt8>
    var fields: UnsafeMutablePointer<FieldSpan>
    var fieldCount = 0
    var pathSpan = Span32()
    var querySpan = Span32()
    /// The authority of a target in absolute form.
    var authoritySpan = Span32()

    @inline(__always)
    func bytes(_ span: Span32) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: base + Int(span.start), count: Int(span.count))
    }

    /// The path as sent, without the query.
    package var path: UnsafeBufferPointer<UInt8> { bytes(pathSpan) }
    /// The bytes after `?`, without it.
    package var query: UnsafeBufferPointer<UInt8> { bytes(querySpan) }

    /// Whether the path equals these bytes.
    @inline(__always)
    package func pathIs(_ text: StaticString) -> Bool {
        guard Int(pathSpan.count) == text.utf8CodeUnitCount else { return false }
        let path = base + Int(pathSpan.start)
        for index in 0..<text.utf8CodeUnitCount where path[index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// The first value of a field; `name` in lower case.
    package func first(_ name: StaticString) -> UnsafeBufferPointer<UInt8>? {
        for index in 0..<fieldCount {
            let span = fields[index].name
            if matches(base + Int(span.start), Int(span.count), name) {
                return bytes(fields[index].value)
            }
        }
        return nil
    }

    /// How often a field occurs; `name` in lower case.
    package func count(_ name: StaticString) -> Int {
        var found = 0
        for index in 0..<fieldCount {
            let span = fields[index].name
            if matches(base + Int(span.start), Int(span.count), name) { found += 1 }
        }
        return found
    }

    /// Copies everything out of the buffer. A field value that is not UTF-8 is read as ISO 8859-1,
    /// byte by byte (RFC 9110 §5.5): replacement characters would make different values equal.
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
