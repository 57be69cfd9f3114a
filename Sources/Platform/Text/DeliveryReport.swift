/// What a mail system reports about the delivery of a mail (RFC 3464). Only the machine-readable
/// part is read, not the text for people or the quoted mail.
package struct DeliveryReport: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        /// Delivery failed for good.
        case failed
        /// Delivery failed for now; the mail system will try again.
        case delayed
        /// The mail arrived, or nothing certain is known.
        case other
    }

    package var action: Action
    /// The reply of the mail server that refused the mail, or the status code if there is no reply,
    /// as one line without control characters.
    package var words: String

    /// The maximum length of `words`, in characters.
    package static let wordLimit = 300
    /// The maximum number of parts that are read of a message. A delivery report has fewer parts.
    static let partLimit = 20
    /// The maximum number of recipients that are read. Each of our mails has only one recipient,
    /// but its address may be an alias for several.
    static let recipientLimit = 50

    /// Reads a message; `nil` if it is not a delivery report.
    package init?(_ message: MessagePart) {
        let type = message.contentType
        guard type.name == "multipart/report", let boundary = type["boundary"],
            (1...70).contains(boundary.count),
            ASCII.lower(type["report-type"] ?? []).elementsEqual("delivery-status".utf8),
            let part = Self.statusPart(of: message.body, boundary)
        else { return nil }
        let recipients = Self.recipients(part.body)
        guard let first = recipients.first else { return nil }
        // If the address is an alias and the mail reached any of its recipients, delivery did not
        // fail.
        let actions = recipients.map(Self.action)
        let whole: Action =
            actions.contains(.other) ? .other : actions.contains(.delayed) ? .delayed : .failed
        let shown = zip(recipients, actions).first { $0.1 == whole }?.0 ?? first
        action = whole
        words = Self.words(shown)
    }

    /// Returns the first part that has the type and the fields of a delivery status.
    private static func statusPart(
        of body: ArraySlice<UInt8>, _ boundary: [UInt8]
    ) -> MessagePart? {
        let separator = Array("--".utf8) + boundary
        var lines = MessageLines(body)
        var start: Int?
        var count = 0
        while true {
            let at = lines.rest.startIndex
            let line = lines.next()
            let isEnd = line == nil
            if let line, !isSeparator(line, separator) { continue }
            if let start {
                let part = MessagePart(body[start..<at])
                if isStatus(part) { return part }
                count += 1
            }
            if isEnd || count == partLimit { return nil }
            start = lines.rest.startIndex
        }
    }

    private static func isSeparator(_ line: ArraySlice<UInt8>, _ separator: [UInt8]) -> Bool {
        guard line.starts(with: separator) else { return false }
        let rest = line.dropFirst(separator.count)
        let after = rest.starts(with: "--".utf8) ? rest.dropFirst(2) : rest
        return after.allSatisfy(MessagePart.isBlank)
    }

    /// Whether a part is an unencoded delivery status. RFC 3464 allows no encoding of a delivery
    /// status.
    private static func isStatus(_ part: MessagePart) -> Bool {
        guard
            ["message/delivery-status", "message/global-delivery-status"]
                .contains(part.contentType.name)
        else { return false }
        let encoding = ASCII.lower(part.first("content-transfer-encoding") ?? Array("7bit".utf8))
        return ["7bit", "8bit", "binary"].contains { encoding.elementsEqual($0.utf8) }
    }

    private typealias Fields = [(name: [UInt8], value: [UInt8])]

    /// Returns one group of fields for each recipient. Empty lines separate the groups. The first
    /// group in the report is about the whole message and is left out.
    private static func recipients(_ body: ArraySlice<UInt8>) -> [Fields] {
        var lines = MessageLines(body)
        var groups: [Fields] = []
        while !lines.rest.isEmpty, groups.count < recipientLimit {
            let before = lines.rest.startIndex
            let group = MessagePart.fields(&lines)
            // A line that is not a field is skipped.
            if lines.rest.startIndex == before { _ = lines.next() }
            if value("action", group) != nil { groups.append(group) }
        }
        return groups
    }

    private static func value(_ name: String, _ fields: Fields) -> [UInt8]? {
        fields.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    /// Returns the result for one recipient. The action `failed` is final even if the status is
    /// transient (4.x.x), because the mail system has given up.
    private static func action(_ fields: Fields) -> Action {
        guard let status = status(fields) else { return .other }
        switch String(decoding: ASCII.lower(value("action", fields) ?? []), as: UTF8.self) {
        case "failed" where status.first == "5" || status.first == "4": return .failed
        case "delayed": return .delayed
        default: return .other
        }
    }

    /// Returns the status code of a recipient, such as `5.1.1`, without a comment after it. Returns
    /// `nil` if there is no well-formed code.
    private static func status(_ fields: Fields) -> String? {
        let code = (value("status", fields) ?? []).prefix { $0 != 0x20 && $0 != UInt8(ascii: "(") }
        let parts = code.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count == 1,
            parts.allSatisfy({ ASCII.number($0, digits: 3) != nil })
        else { return nil }
        return String(decoding: code, as: UTF8.self)
    }

    /// Returns the text of `Diagnostic-Code` without its type: `550 5.1.1 no such user` for the
    /// value `smtp; 550 5.1.1 no such user`. If there is no text, returns the status code.
    private static func words(_ fields: Fields) -> String {
        let said = value("diagnostic-code", fields) ?? []
        let text = said.firstIndex(of: UInt8(ascii: ";")).map { said[($0 + 1)...] } ?? said[...]
        let words = DisplayText.escaped(MessagePart.trimmed(text), to: wordLimit)
        return words.isEmpty ? "status \(status(fields) ?? "unknown")" : words
    }
}

/// A message or a part of one (RFC 5322, 2045): its header fields and its body. Any bytes can be
/// read as a message, in linear time.
package struct MessagePart: Sendable {
    /// The fields, with names in lower case and values unfolded and without surrounding spaces.
    let fields: [(name: [UInt8], value: [UInt8])]
    package let body: ArraySlice<UInt8>

    /// The maximum number of fields that are read. An ordinary header has fewer fields.
    static let fieldLimit = 500

    /// Reads a message. A line `From …`, as in a mailbox file, may precede the header.
    package init(_ bytes: ArraySlice<UInt8>) {
        var lines = MessageLines(bytes)
        var rest = lines
        if let first = rest.next(), first.starts(with: "From ".utf8) { lines = rest }
        fields = Self.fields(&lines)
        body = lines.rest
    }

    /// Reads fields up to an empty line or a line that is not a field. An empty line is consumed; a
    /// line that is not a field is left in `lines`.
    static func fields(_ lines: inout MessageLines) -> [(name: [UInt8], value: [UInt8])] {
        var found: [(name: [UInt8], value: [UInt8])] = []
        while true {
            let before = lines
            guard let line = lines.next(), !line.isEmpty else { return found }
            if isBlank(line[line.startIndex]) {
                guard !found.isEmpty else { continue }
                found[found.count - 1].value += [0x20] + trimmed(line)
                continue
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                lines = before
                return found
            }
            if found.count < fieldLimit {
                found.append((ASCII.lower(trimmed(line[..<colon])), trimmed(line[(colon + 1)...])))
            }
        }
    }

    /// Returns the value of the first field with this name. `name` must be in lower case.
    package func first(_ name: String) -> [UInt8]? {
        fields.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(bytes[first...last])
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension MessagePart {
    /// The field Content-Type: the type and subtype in lower case, and the parameters.
    struct ContentType {
        var name: String
        private var parameters: [(name: String, value: [UInt8])] = []

        /// The value of a parameter. `name` must be in lower case. If a name occurs twice, the
        /// first value counts.
        subscript(_ name: String) -> [UInt8]? { parameters.first { $0.name == name }?.value }

        init(_ bytes: [UInt8]) {
            var pieces = Self.split(bytes).makeIterator()
            name = Self.text(pieces.next() ?? [])
            while let piece = pieces.next() {
                guard let sign = piece.firstIndex(of: UInt8(ascii: "=")) else { continue }
                let value = MessagePart.trimmed(piece[(sign + 1)...])
                parameters.append((Self.text(Array(piece[..<sign])), Self.unquoted(value)))
            }
        }

        private static func text(_ bytes: [UInt8]) -> String {
            String(decoding: ASCII.lower(MessagePart.trimmed(bytes[...])), as: UTF8.self)
        }

        /// Splits the bytes at semicolons outside quotes.
        private static func split(_ bytes: [UInt8]) -> [[UInt8]] {
            var pieces: [[UInt8]] = [[]]
            var (isQuoted, isEscaped) = (false, false)
            for byte in bytes {
                if byte == UInt8(ascii: ";"), !isQuoted {
                    pieces.append([])
                    continue
                }
                if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
                isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
                pieces[pieces.count - 1].append(byte)
            }
            return pieces
        }

        private static func unquoted(_ value: [UInt8]) -> [UInt8] {
            guard value.first == UInt8(ascii: "\"") else { return value }
            var plain: [UInt8] = []
            var isEscaped = false
            for byte in value.dropFirst() {
                if !isEscaped, byte == UInt8(ascii: "\"") { break }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                if !isEscaped { plain.append(byte) }
            }
            return plain
        }
    }

    var contentType: ContentType { ContentType(first("content-type") ?? []) }
}

/// Splits bytes into lines that end with CRLF or LF. The lines are returned without their ends.
struct MessageLines: Sequence, IteratorProtocol {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
        var line = rest[rest.startIndex..<end]
        rest = rest[(end == rest.endIndex ? end : end + 1)...]
        if line.last == 0x0D { line = line.dropLast() }
        return line
    }
}
