extension MessagePart {
    /// The value of the field Content-Type: type and subtype in lower case, and its parameters.
    struct ContentType {
        var name: String
        private var parameters: [(name: String, value: [UInt8])] = []

        /// Names without case; of two with one name the first counts.
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

        /// At semicolons outside of quotes.
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
