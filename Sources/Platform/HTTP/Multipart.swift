/// The header of one part of a form.
package struct FormPart: Sendable, Equatable {
    package var name: String
    /// The part's content type, in lower case and without parameters; empty if the part has none.
    package var type: String
}

/// Reads `multipart/form-data` (RFC 7578) as its pieces arrive. It refuses anything that two
/// parsers could read differently. For example, no bytes are allowed before the first delimiter or
/// after the last one.
package struct MultipartReader: Sendable {
    /// The next thing found in the bytes so far.
    package enum Event: Sendable, Equatable {
        case needsMore
        case part(FormPart)
        case content([UInt8])
        case partEnded
        case ended
    }

    private enum State {
        case start, head, content, delimiter, epilogue
    }

    private static let headBytes = 4 << 10
    private static let mostParts = 8

    private let delimiter: [UInt8]
    private var state = State.start
    private var buffer: [UInt8] = []
    private var at = 0
    private var parts = 0
    private var isComplete = false

    /// Makes a reader; `nil` if the content type has no well-formed boundary (RFC 2046, section
    /// 5.1.1).
    package init?(contentType: String) {
        guard let boundary = HeaderParameters(contentType)["boundary"],
            (1...70).contains(boundary.utf8.count), boundary.utf8.last != 0x20,
            boundary.utf8.allSatisfy(Self.isBoundary)
        else { return nil }
        delimiter = Array("\r\n--\(boundary)".utf8)
    }

    private static func isBoundary(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "'()+_,-./:=? ".utf8.contains(byte)
    }

    /// Adds the next bytes of the body; an empty array marks the end.
    package mutating func append(_ bytes: [UInt8]) {
        if at > 0 {
            buffer.removeFirst(at)
            at = 0
        }
        buffer += bytes
        if bytes.isEmpty { isComplete = true }
    }

    package mutating func next() throws(HTTPError) -> Event {
        let event = try step()
        if event == .needsMore, isComplete {
            throw HTTPError(400, "The form ends too early.")
        }
        return event
    }

    private mutating func step() throws(HTTPError) -> Event {
        switch state {
        case .start:
            // No line break precedes the first delimiter, so its CR LF is skipped.
            guard try take(delimiter[2...]) else { return .needsMore }
            state = .delimiter
            return try step()
        case .delimiter: return try stepDelimiter()
        case .head: return try stepHead()
        case .content: return stepContent()
        case .epilogue: return try stepEpilogue()
        }
    }

    private mutating func stepDelimiter() throws(HTTPError) -> Event {
        guard buffer.count >= at + 2 else { return .needsMore }
        if buffer[at] == 0x2D, buffer[at + 1] == 0x2D {
            at += 2
            state = .epilogue
            return try step()
        }
        guard try take([0x0D, 0x0A]) else { return .needsMore }
        state = .head
        return try step()
    }

    private mutating func stepHead() throws(HTTPError) -> Event {
        let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        guard let found = Self.find(end, in: buffer, from: at) else {
            guard buffer.count - at <= Self.headBytes else { throw Self.malformed }
            return .needsMore
        }
        guard found - at <= Self.headBytes else { throw Self.malformed }
        let part = try Self.part(Array(buffer[at..<found]))
        at = found + end.count
        parts += 1
        guard parts <= Self.mostParts else { throw HTTPError(400, "The form has too many parts.") }
        state = .content
        return .part(part)
    }

    private mutating func stepContent() -> Event {
        if let found = Self.find(delimiter, in: buffer, from: at) {
            if found == at {
                at += delimiter.count
                state = .delimiter
                return .partEnded
            }
            defer { at = found }
            return .content(Array(buffer[at..<found]))
        }
        // Hold back the last bytes, because they may be the beginning of a delimiter.
        let safe = buffer.count - delimiter.count + 1
        guard safe > at else { return .needsMore }
        defer { at = safe }
        return .content(Array(buffer[at..<safe]))
    }

    private mutating func stepEpilogue() throws(HTTPError) -> Event {
        guard buffer.count - at <= 2,
            Array(buffer[at...]).elementsEqual([0x0D, 0x0A].prefix(buffer.count - at))
        else { throw Self.malformed }
        return isComplete ? .ended : .needsMore
    }

    /// Skips `wanted`, which must come next; throws if other bytes come next. Returns false if more
    /// bytes are needed to decide.
    private mutating func take(_ wanted: ArraySlice<UInt8>) throws(HTTPError) -> Bool {
        let have = buffer[at...].prefix(wanted.count)
        guard have.elementsEqual(wanted.prefix(have.count)) else { throw Self.malformed }
        guard have.count == wanted.count else { return false }
        at += wanted.count
        return true
    }

    private static func find(_ wanted: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        let last = bytes.count - wanted.count
        var at = start
        while at <= last {
            // `wanted` always begins with a carriage return, so search for the next one.
            guard let next = bytes[at...last].firstIndex(of: 0x0D) else { return nil }
            if bytes[next...].starts(with: wanted) { return next }
            at = next + 1
        }
        return nil
    }

    private static func part(_ head: [UInt8]) throws(HTTPError) -> FormPart {
        guard let text = String(validating: head, as: UTF8.self) else { throw malformed }
        var part: FormPart?
        var type = ""
        for line in text.split(separator: "\r\n", omittingEmptySubsequences: false) {
            guard let colon = line.utf8.firstIndex(of: 0x3A), colon > line.startIndex,
                line.utf8.prefix(upTo: colon).allSatisfy(isToken)
            else { throw malformed }
            let value = HeaderParameters.text(Array(line[line.index(after: colon)...].utf8)[...])
            switch line[..<colon].lowercased() {
            case "content-disposition":
                let fields = HeaderParameters(value)
                guard part == nil, fields.value == "form-data", let name = fields["name"] else {
                    throw malformed
                }
                part = FormPart(name: name, type: "")
            case "content-type": type = HeaderParameters(value).value
            case "content-transfer-encoding":
                throw HTTPError(
                    400, "A part of a form must not have Content-Transfer-Encoding.")
            default: break
            }
        }
        guard var part else { throw malformed }
        part.type = type
        return part
    }

    static let malformed = HTTPError(400, "The multipart body is malformed.")
}

/// A field value with parameters (RFC 9110 §5.6.6), such as `form-data; name="file"`.
package struct HeaderParameters: Sendable {
    /// The value before the parameters, in lower case.
    package let value: String
    /// The values of the parameters by their names in lower case. A name that occurs twice has the
    /// value `nil`. There are no values at all if any parameter is malformed.
    private var values: [String: String?] = [:]

    package init(_ text: String) {
        var rest = Array(text.utf8)[...]
        value = Self.text(Self.take(&rest) { $0 != 0x3B }).lowercased()
        while rest.popFirst() != nil {
            while rest.first == 0x20 || rest.first == 0x09 { rest.removeFirst() }
            let name = String(decoding: Self.take(&rest, while: isToken), as: UTF8.self)
                .lowercased()
            guard rest.popFirst() == 0x3D, let content = Self.content(&rest) else {
                values = [:]
                return
            }
            values[name] = .some(values[name] == nil ? content : nil)
            while rest.first == 0x20 || rest.first == 0x09 { rest.removeFirst() }
            guard rest.isEmpty || rest.first == 0x3B else {
                values = [:]
                return
            }
        }
    }

    package subscript(name: String) -> String? { values[name] ?? nil }

    /// Returns the text without spaces and tabs at its ends.
    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes
        while bytes.first == 0x20 || bytes.first == 0x09 { bytes.removeFirst() }
        while bytes.last == 0x20 || bytes.last == 0x09 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func content(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard rest.first == 0x22 else {
            return String(validating: take(&rest, while: isToken), as: UTF8.self)
        }
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == 0x22 { return String(validating: bytes, as: UTF8.self) }
            if byte == 0x5C, let escaped = rest.popFirst() {
                bytes.append(escaped)
            } else {
                bytes.append(byte)
            }
        }
        return nil
    }

    private static func take(
        _ rest: inout ArraySlice<UInt8>, while isWanted: (UInt8) -> Bool
    ) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: isWanted)
        rest = rest.dropFirst(taken.count)
        return taken
    }
}
