import Glibc
import Synchronization

/// A response. The `ResponseWriter` adds `Date`, `Content-Length`, `Connection` and the framing.
package struct Response: Sendable {
    package var status: Int
    /// The header fields, with names in lower case. The writer drops fields that it sets itself.
    package var fields: [Field]
    package var body: Body

    package enum Body: Sendable {
        case empty
        case bytes([UInt8])
        /// A body in pieces. The function is called for each piece until it returns `nil`. The body
        /// is sent chunked, and no faster than the socket accepts it.
        case stream(@Sendable () async throws -> [UInt8]?)
    }

    package init(_ status: Int, fields: [Field] = [], body: Body = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    package init(_ status: Int, type: String, _ bytes: [UInt8]) {
        self.init(status, fields: [Field("content-type", type)], body: .bytes(bytes))
    }

    /// Replaces all fields with this name by a single one. `name` must be in lower case.
    package mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name == name }
        fields.append(Field(name, value))
    }

    /// Returns the first value of a field. `name` must be in lower case.
    package func first(_ name: String) -> String? {
        for field in fields where field.name == name { return field.value }
        return nil
    }

    /// The value of `Strict-Transport-Security`: browsers use only https for a year (RFC 6797).
    package static let strictTransportSecurity: StaticString = "max-age=31536000"

    /// Adds `Strict-Transport-Security`. Call it only for responses over TLS.
    package mutating func keepToTLS() {
        guard first("strict-transport-security") == nil else { return }
        fields.append(
            Field("strict-transport-security", Self.strictTransportSecurity.description))
    }
}

/// The response to a request that exceeds its time limit. A handler that knows more about the
/// request sets its own form of this response.
package final class LateForm: Sendable {
    /// Makes the response. `mayHaveWritten` is true if the request may have committed something.
    package typealias Form = @Sendable (_ mayHaveWritten: Bool) -> Response

    private let form = Mutex<Form?>(nil)

    /// Makes an object without a form. If no form is set, the server answers with a plain 503.
    init() {}

    /// Replaces the form; may be called from any thread.
    package func set(_ form: @escaping Form) { self.form.withLock { $0 = form } }

    func response(mayHaveWritten: Bool) -> Response? {
        form.withLock { $0 }?(mayHaveWritten)
    }
}

/// Writes responses one after another into a loop's output buffer. For each response, call `begin`,
/// then `field` for each field, then one of the `finish` functions. A field that could split the
/// response (CR, LF, NUL, a bad name) turns the response into a plain 500.
package final class ResponseWriter {
    /// The written responses that the loop has not sent yet.
    package let out: OutputBuffer
    private var begun = 0
    private var status = 200
    private var unsafeField = false
    private var isHead = false
    private var isHTTP10 = false
    private var closes = false
    private var date = HTTPDate()

    /// Makes a writer. The connections of one loop may share `out`.
    package init(out: OutputBuffer = OutputBuffer()) { self.out = out }

    /// Sets the properties of the next response. `now` is monotonic, in nanoseconds. The Date field
    /// is renewed from the wall clock at most once a second.
    package func prepare(isHead: Bool, isHTTP10: Bool, closes: Bool, now: Int64) {
        self.isHead = isHead
        self.isHTTP10 = isHTTP10
        self.closes = closes
        date.refresh(now)
    }

    /// Writes the status line and the Date field.
    package func begin(_ status: Int) {
        begun = out.count
        self.status = status
        unsafeField = false
        if let line = statusLine(status) {
            out.append(line)
        } else {
            out.append("HTTP/1.1 ")
            out.append(number: status)
            out.append(" \r\n")
        }
        out.append("date: ")
        date.withBytes { out.append($0) }
        out.append("\r\n")
    }

    package func field(_ name: StaticString, _ value: StaticString) {
        out.append(name)
        out.append(": ")
        out.append(value)
        out.append("\r\n")
    }

    /// Writes a field. A CR, LF or NUL in the value turns the response into a 500.
    package func field(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        out.append(name)
        out.append(": ")
        check(value)
        out.append(value)
        out.append("\r\n")
    }

    /// Writes a field. A bad name, or a CR, LF or NUL in the value, turns the response into a 500.
    package func field(_ name: String, _ value: String) {
        var name = name
        var value = value
        name.withUTF8 { bytes in
            if bytes.isEmpty || !bytes.allSatisfy(isToken) { unsafeField = true }
            out.append(UnsafeRawBufferPointer(bytes))
        }
        out.append(": ")
        value.withUTF8 { bytes in
            check(UnsafeRawBufferPointer(bytes))
            out.append(UnsafeRawBufferPointer(bytes))
        }
        out.append("\r\n")
    }

    /// Ends the response with this body.
    package func finish(_ body: UnsafeRawBufferPointer) {
        if unsafeField { return replaceBy500() }
        let bodiless = status == 204 || status == 304 || status < 200
        if !bodiless {
            out.append("content-length: ")
            out.append(number: body.count)
            out.append("\r\n")
        }
        endHead()
        if !bodiless, !isHead { out.append(body) }
    }

    func finish(_ body: StaticString = "") {
        finish(UnsafeRawBufferPointer(start: body.utf8Start, count: body.utf8CodeUnitCount))
    }

    /// Ends the head of a streamed response. Returns false if no body may follow. HTTP/1.0 has no
    /// chunks, so there the end of the connection ends the body.
    func finishStreamHead() -> Bool {
        if unsafeField {
            replaceBy500()
            return false
        }
        let bodiless = status == 204 || status == 304
        if !bodiless, !isHTTP10 { out.append("transfer-encoding: chunked\r\n") }
        endHead()
        return !bodiless && !isHead
    }

    /// Writes one piece of a streamed body. An empty piece is skipped, because an empty chunk would
    /// end the body.
    package func chunk(_ piece: [UInt8], isHTTP10: Bool) {
        if piece.isEmpty { return }
        if isHTTP10 { return out.append(piece) }
        out.append(number: piece.count, base: 16)
        out.append("\r\n")
        out.append(piece)
        out.append("\r\n")
    }

    /// Writes the last chunk. With HTTP/1.0 it writes nothing: closing the connection ends the
    /// body.
    package func endChunks(isHTTP10: Bool) { if !isHTTP10 { out.append("0\r\n\r\n") } }

    /// Writes a whole response. Returns true if its streamed body must follow.
    package func write(_ response: Response) -> Bool {
        begin(response.status)
        for each in response.fields where !Self.isOurs(each.name) { field(each.name, each.value) }
        switch response.body {
        case .empty: finish()
        case .bytes(let bytes): bytes.withUnsafeBytes { finish($0) }
        case .stream: return finishStreamHead()
        }
        return false
    }

    package static func isOurs(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: name == "date"
        case 10: name == "connection"
        case 14: name == "content-length"
        case 17: name == "transfer-encoding"
        default: false
        }
    }

    private func endHead() { out.append(closes ? "connection: close\r\n\r\n" : "\r\n") }

    private func check(_ value: UnsafeRawBufferPointer) {
        for byte in value where byte == 0x0D || byte == 0x0A || byte == 0 { unsafeField = true }
    }

    private func replaceBy500() {
        out.truncate(to: begun)
        begin(500)
        finish()
    }
}

/// A growable buffer of bytes to send. Each loop has one and reuses it for every response.
package final class OutputBuffer {
    package private(set) var count = 0
    private var capacity: Int
    private var start: UnsafeMutablePointer<UInt8>

    package init(capacity: Int = 16 << 10) {
        self.capacity = capacity
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    /// The bytes to send; valid until the next write.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Empties the buffer. Its memory is kept unless it exceeds 1 MiB.
    func removeAll() {
        count = 0
        // Free the memory of a large response.
        guard capacity > 1 << 20 else { return }
        start.deallocate()
        capacity = 16 << 10
        start = .allocate(capacity: capacity)
    }

    package func truncate(to length: Int) { count = min(count, length) }

    /// Appends one byte.
    @inline(__always)
    func append(_ byte: UInt8) {
        reserve(1)
        start[count] = byte
        count += 1
    }

    /// Appends the UTF-8 bytes of a literal.
    @inline(__always)
    func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    package func append(_ array: [UInt8]) { array.withUnsafeBytes { append($0) } }

    /// Appends a copy of the bytes; the source may be freed afterwards.
    @inline(__always)
    func append(_ source: UnsafeRawBufferPointer) {
        guard let from = source.baseAddress else { return }
        reserve(source.count)
        memcpy(start + count, from, source.count)
        count += source.count
    }

    /// Appends a non-negative number in a base of up to 16, with digits in lower case.
    func append(number: Int, base: Int = 10) {
        var divisor = 1
        while number / divisor >= base { divisor *= base }
        while divisor > 0 {
            let digit = UInt8(truncatingIfNeeded: number / divisor % base)
            append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            divisor /= base
        }
    }

    @inline(__always)
    private func reserve(_ more: Int) { if count + more > capacity { grow(more) } }

    @inline(never)
    private func grow(_ more: Int) {
        while capacity < count + more { capacity *= 2 }
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        memcpy(larger, start, count)
        start.deallocate()
        start = larger
    }
}

/// Returns the status line of a code (RFC 9110 §15); `nil` for a code that is not listed here.
func statusLine(_ status: Int) -> StaticString? {
    switch status {
    case 200: "HTTP/1.1 200 OK\r\n"
    case 201: "HTTP/1.1 201 Created\r\n"
    case 202: "HTTP/1.1 202 Accepted\r\n"
    case 204: "HTTP/1.1 204 No Content\r\n"
    case 206: "HTTP/1.1 206 Partial Content\r\n"
    case 207: "HTTP/1.1 207 Multi-Status\r\n"
    case 301: "HTTP/1.1 301 Moved Permanently\r\n"
    case 302: "HTTP/1.1 302 Found\r\n"
    case 303: "HTTP/1.1 303 See Other\r\n"
    case 304: "HTTP/1.1 304 Not Modified\r\n"
    case 307: "HTTP/1.1 307 Temporary Redirect\r\n"
    case 308: "HTTP/1.1 308 Permanent Redirect\r\n"
    default: errorLine(status)
    }
}

private func errorLine(_ status: Int) -> StaticString? {
    switch status {
    case 400: "HTTP/1.1 400 Bad Request\r\n"
    case 401: "HTTP/1.1 401 Unauthorized\r\n"
    case 402: "HTTP/1.1 402 Payment Required\r\n"
    case 403: "HTTP/1.1 403 Forbidden\r\n"
    case 404: "HTTP/1.1 404 Not Found\r\n"
    case 405: "HTTP/1.1 405 Method Not Allowed\r\n"
    case 406: "HTTP/1.1 406 Not Acceptable\r\n"
    case 408: "HTTP/1.1 408 Request Timeout\r\n"
    case 409: "HTTP/1.1 409 Conflict\r\n"
    case 410: "HTTP/1.1 410 Gone\r\n"
    case 411: "HTTP/1.1 411 Length Required\r\n"
    case 412: "HTTP/1.1 412 Precondition Failed\r\n"
    case 413: "HTTP/1.1 413 Content Too Large\r\n"
    case 414: "HTTP/1.1 414 URI Too Long\r\n"
    case 415: "HTTP/1.1 415 Unsupported Media Type\r\n"
    case 417: "HTTP/1.1 417 Expectation Failed\r\n"
    case 421: "HTTP/1.1 421 Misdirected Request\r\n"
    case 422: "HTTP/1.1 422 Unprocessable Content\r\n"
    case 423: "HTTP/1.1 423 Locked\r\n"
    case 424: "HTTP/1.1 424 Failed Dependency\r\n"
    case 425: "HTTP/1.1 425 Too Early\r\n"
    case 426: "HTTP/1.1 426 Upgrade Required\r\n"
    case 428: "HTTP/1.1 428 Precondition Required\r\n"
    case 429: "HTTP/1.1 429 Too Many Requests\r\n"
    case 431: "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    case 500: "HTTP/1.1 500 Internal Server Error\r\n"
    case 501: "HTTP/1.1 501 Not Implemented\r\n"
    case 502: "HTTP/1.1 502 Bad Gateway\r\n"
    case 503: "HTTP/1.1 503 Service Unavailable\r\n"
    case 504: "HTTP/1.1 504 Gateway Timeout\r\n"
    case 505: "HTTP/1.1 505 HTTP Version Not Supported\r\n"
    default: nil
    }
}

/// Returns the reason phrase of a status, such as `Not Found`. It is also the title of an error
/// response (RFC 9457).
package func reasonPhrase(_ status: Int) -> String {
    guard let line = statusLine(status) else { return "Status \(status)" }
    return String(line.description.dropFirst(13).dropLast(1))
}

/// The value of the Date field (RFC 9110 §5.6.7), formatted at most once a second.
package struct HTTPDate {
    private var text: [UInt8] = []
    private var takenAt = Int64.min / 2

    /// Formats the date again if a second has passed. `now` is in monotonic nanoseconds.
    mutating func refresh(_ now: Int64) {
        guard text.isEmpty || now - takenAt >= 1_000_000_000 || now < takenAt else { return }
        takenAt = now
        text = Self.format(time(nil))
    }

    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { text.withUnsafeBytes { body($0) } }

    /// Formats seconds since 1970 as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(_ seconds: Int64) -> String {
        String(decoding: format(time_t(seconds)), as: UTF8.self)
    }

    static func format(_ seconds: time_t) -> [UInt8] {
        var seconds = seconds
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let days = Array("SunMonTueWedThuFriSat".utf8)
        let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)
        func name(_ table: [UInt8], _ index: Int32) -> ArraySlice<UInt8> {
            table[Int(index) * 3..<Int(index) * 3 + 3]
        }
        func two(_ value: Int32) -> [UInt8] {
            [UInt8(0x30 + value / 10 % 10), UInt8(0x30 + value % 10)]
        }
        let year = parts.tm_year + 1900
        return name(days, parts.tm_wday) + Array(", ".utf8) + two(parts.tm_mday) + [0x20]
            + name(months, parts.tm_mon) + [0x20] + two(year / 100) + two(year % 100) + [0x20]
            + two(parts.tm_hour) + [0x3A] + two(parts.tm_min) + [0x3A] + two(parts.tm_sec)
            + Array(" GMT".utf8)
    }
}
