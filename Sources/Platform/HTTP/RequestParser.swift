import Glibc
import Text

/// A strict parser of request heads (RFC 9112) that works on bytes. It refuses anything that two
/// parsers could read differently. It keeps no state but a buffer for field offsets, so one parser
/// serves all connections of a loop.
package final class RequestParser {
    /// The result of parsing the bytes received so far.
    package enum Outcome {
        case incomplete
        case head(RequestHead)
        /// The head is well-formed, but the request is refused.
        case refused(RequestHead, HTTPError)
        case failed(HTTPError)
    }

    let limits: HTTPLimits
    private let fields: UnsafeMutablePointer<FieldSpan>

    package init(limits: HTTPLimits = HTTPLimits()) {
        self.limits = limits
        fields = .allocate(capacity: max(1, limits.fields))
    }

    deinit { fields.deallocate() }

    /// Parses one head at the start of `bytes`. `scanned` must be 0 for a new head. Between calls,
    /// `scanned` records how far the end of the head has been searched for, so that parsing a head
    /// that arrives byte by byte takes linear time.
    package func parse(_ bytes: UnsafeRawBufferPointer, scanned: inout Int) -> Outcome {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return .incomplete }
        let base = start.assumingMemoryBound(to: UInt8.self)
        do throws(HTTPError) {
            guard let end = try findEnd(base, bytes.count, &scanned) else { return .incomplete }
            scanned = 0
            var head = RequestHead(base: base, fields: fields)
            head.length = end
            var at = leadingEmptyLine(base)
            try parseRequestLine(base, &at, &head)
            let facts = try parseFields(base, at, end - 2, &head)
            try facts.requireHost(head)
            do throws(HTTPError) {
                try facts.settle(&head, limits)
            } catch {
                return .refused(head, error)
            }
            return .head(head)
        } catch {
            return .failed(error)
        }
    }

    /// Returns the length of an empty line before the request line; 0 if there is none. The parser
    /// skips an empty line there (RFC 9112 §2.2).
    private func leadingEmptyLine(_ base: UnsafePointer<UInt8>) -> Int { base[0] == 0x0D ? 2 : 0 }

    private func findEnd(
        _ base: UnsafePointer<UInt8>, _ count: Int, _ scanned: inout Int
    ) throws(HTTPError) -> Int? {
        if base[0] == 0x0D, count > 1, base[1] != 0x0A { throw Self.malformedLine }
        let skipped = leadingEmptyLine(base)
        var at = max(scanned, skipped)
        while at < count {
            guard let found = memchr(base + at, 0x0A, count - at) else { break }
            let line = base.distance(to: UnsafePointer(found.assumingMemoryBound(to: UInt8.self)))
            // The first line feed that is found ends the request line.
            if scanned <= skipped, at == skipped, line - skipped > limits.requestLine + 1 {
                throw Self.longLine
            }
            if line + 1 > limits.head { throw Self.longHead }
            guard line > skipped, base[line - 1] == 0x0D else { throw Self.bareLineFeed }
            if line == skipped + 1 { throw Self.malformedLine }
            if base[line - 2] == 0x0A { return line + 1 }
            at = line + 1
            scanned = at
        }
        if scanned <= skipped, count - skipped > limits.requestLine + 1 { throw Self.longLine }
        if count > limits.head { throw Self.longHead }
        return nil
    }

    private func parseRequestLine(
        _ base: UnsafePointer<UInt8>, _ at: inout Int, _ head: inout RequestHead
    ) throws(HTTPError) {
        let start = at
        while isToken(base[at]) { at += 1 }
        guard at > start, base[at] == 0x20 else { throw Self.malformedLine }
        let methodEnd = at
        at += 1
        let target = at
        var question = -1
        while base[at] > 0x20, base[at] < 0x7F {
            if base[at] == 0x3F, question < 0 { question = at }
            at += 1
        }
        guard at > target, base[at] == 0x20 else { throw Self.malformedLine }
        let targetEnd = at
        at += 1
        let version = base + at
        // The length needs no check of its own. The line ends in CR LF, so if the version is too
        // short, the comparison fails at the CR.
        for (index, byte) in "HTTP/".utf8.enumerated() where version[index] != byte {
            throw Self.malformedLine
        }
        guard isDigit(version[5]), version[6] == 0x2E, isDigit(version[7]), version[8] == 0x0D,
            version[9] == 0x0A
        else { throw Self.malformedLine }
        guard version[5] == 0x31, version[7] <= 0x31 else {
            throw HTTPError(505, "Only HTTP/1.1 and HTTP/1.0 are served.")
        }
        head.isHTTP10 = version[7] == 0x30
        head.keepAlive = !head.isHTTP10
        at += 10
        head.method = try Self.method(base + start, methodEnd - start)
        head.pathSpan = Span32(target, question < 0 ? targetEnd : question)
        if question >= 0 { head.querySpan = Span32(question + 1, targetEnd) }
        let bytes = UnsafeBufferPointer(start: base + target, count: targetEnd - target)
        guard base[target] == 0x2F || base[target] == 0x2A else {
            return try parseAbsolute(bytes, at: target, &head)
        }
        try checkTarget(bytes, head.method)
    }

    private static func method(
        _ name: UnsafePointer<UInt8>, _ count: Int
    ) throws(HTTPError) -> Method {
        func equals(_ text: StaticString) -> Bool {
            count == text.utf8CodeUnitCount && memcmp(name, text.utf8Start, count) == 0
        }
        switch count {
        case 3:
            if equals("GET") { return .get }
            if equals("PUT") { return .put }
        case 4:
            if equals("POST") { return .post }
            if equals("HEAD") { return .head }
        case 5:
            if equals("PATCH") { return .patch }
        case 6:
            if equals("DELETE") { return .delete }
        case 7:
            if equals("OPTIONS") { return .options }
        default: break
        }
        throw HTTPError(501, "This method is not served.")
    }

    /// Parses a target in absolute form (RFC 9112 §3.2.2), as proxies send it. The host and port in
    /// the target replace the value of the Host field.
    private func parseAbsolute(
        _ target: UnsafeBufferPointer<UInt8>, at start: Int, _ head: inout RequestHead
    ) throws(HTTPError) {
        guard let base = target.baseAddress else { throw Self.badTarget }
        let scheme: Int
        if target.count > 7, matches(base, 7, "http://") {
            scheme = 7
        } else if target.count > 8, matches(base, 8, "https://") {
            scheme = 8
        } else {
            throw Self.badTarget
        }
        var end = scheme
        while end < target.count, target[end] != 0x2F, target[end] != 0x3F { end += 1 }
        let authority = UnsafeBufferPointer(rebasing: target[scheme..<end])
        guard FramingFacts.isHost(authority) else { throw Self.badTarget }
        head.authoritySpan = Span32(start + scheme, start + end)
        let pathEnd = Int(head.pathSpan.start + head.pathSpan.count)
        // A target without a path means the path `/`. Use the last slash of `http://` in the buffer
        // as this path.
        let isRoot = end == target.count || target[end] == 0x3F
        head.pathSpan =
            isRoot
            ? Span32(start + scheme - 1, start + scheme) : Span32(start + end, pathEnd)
        try checkEscapes(target)
    }

    /// Checks a target in origin form, or `*` for OPTIONS (RFC 9112 §3.2). Two hexadecimal digits
    /// must follow every `%`.
    private func checkTarget(
        _ target: UnsafeBufferPointer<UInt8>, _ method: Method
    ) throws(HTTPError) {
        if method == .options, target.count == 1, target[0] == 0x2A { return }
        guard target[0] == 0x2F else { throw Self.badTarget }
        try checkEscapes(target)
    }

    private func checkEscapes(_ target: UnsafeBufferPointer<UInt8>) throws(HTTPError) {
        for (index, byte) in target.enumerated() {
            if byte == 0x23 { throw Self.badTarget }
            guard byte == 0x25 else { continue }
            guard index + 2 < target.count, hexDigit(target[index + 1]) != nil,
                hexDigit(target[index + 2]) != nil
            else { throw Self.badTarget }
        }
    }

    private func parseFields(
        _ base: UnsafePointer<UInt8>, _ start: Int, _ end: Int, _ head: inout RequestHead
    ) throws(HTTPError) -> FramingFacts {
        var facts = FramingFacts()
        var at = start
        while at < end {
            let name = at
            while isToken(base[at]) { at += 1 }
            // Folded lines, a space before the colon and an empty name are all refused here.
            guard at > name, base[at] == 0x3A else { throw Self.malformedField }
            let nameEnd = at
            at += 1
            while base[at] == 0x20 || base[at] == 0x09 { at += 1 }
            let value = at
            while isFieldValue(base[at]) { at += 1 }
            guard base[at] == 0x0D, base[at + 1] == 0x0A else { throw Self.malformedField }
            var valueEnd = at
            while valueEnd > value, base[valueEnd - 1] == 0x20 || base[valueEnd - 1] == 0x09 {
                valueEnd -= 1
            }
            at += 2
            guard head.fieldCount < limits.fields else {
                throw HTTPError(431, "The request has too many header fields.")
            }
            let field = FieldSpan(name: Span32(name, nameEnd), value: Span32(value, valueEnd))
            fields[head.fieldCount] = field
            head.fieldCount += 1
            try facts.note(base + name, nameEnd - name, head.bytes(field.value))
            if head.authoritySpan.count > 0, matches(base + name, nameEnd - name, "host") {
                fields[head.fieldCount - 1].value = head.authoritySpan
            }
        }
        return facts
    }

    static let malformedLine = HTTPError(400, "The request line is malformed.")
    static let malformedField = HTTPError(400, "A header field is malformed.")
    static let bareLineFeed = HTTPError(400, "A line must end in CR LF.")
    static let badTarget = HTTPError(400, "The request target is malformed.")
    static let longLine = HTTPError(414, "The request line is too long.")
    /// The refusal of a body that is too large for the server or for its endpoint.
    static let bigBody = HTTPError(413, "The request body is too large.")
    static let longHead = HTTPError(431, "The request head is too long.")
}
