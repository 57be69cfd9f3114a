/// A strict parser of RFC 8259 that works on bytes. It refuses anything that two parsers could read
/// differently: duplicate members, U+0000, lone surrogates and a leading BOM.
struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: JSONLimits
    private var at = 0
    private var values = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func document() throws(JSONError) -> JSONValue {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw fault("a byte order mark is not allowed")
        }
        skipSpace()
        let value = try value(depth: 0)
        skipSpace()
        guard at == bytes.count else { throw fault("unexpected bytes after the value") }
        return value
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        values += 1
        guard values <= limits.values else { throw fault("too many values") }
        guard let byte = peek() else { throw fault("the text ends where a value should be") }
        switch byte {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), 0x30...0x39: return try number()
        default: throw fault("a value cannot start with this byte")
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= limits.depth else { throw fault("nested too deeply") }
        at += 1
        var members: [JSONValue.Member] = []
        var names = MemberNames()
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object([]) }
        while true {
            skipSpace()
            guard peek() == UInt8(ascii: "\"") else { throw fault("a member name is expected") }
            let start = at
            let name = try string()
            guard names.insert(name, after: members) else {
                throw JSONError(offset: start, reason: "duplicate member name")
            }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw fault("a colon is expected") }
            skipSpace()
            members.append(JSONValue.Member(name, try value(depth: depth)))
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw fault("a comma or } is expected") }
            return .object(members)
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= limits.depth else { throw fault("nested too deeply") }
        at += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array([]) }
        while true {
            skipSpace()
            elements.append(try value(depth: depth))
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw fault("a comma or ] is expected") }
            return .array(elements)
        }
    }

    private mutating func literal(
        _ text: StaticString, _ value: JSONValue
    ) throws(JSONError) -> JSONValue {
        let count = text.utf8CodeUnitCount
        guard bytes.count - at >= count else { throw fault("unknown literal") }
        for index in 0..<count where bytes[at + index] != text.utf8Start[index] {
            throw fault("unknown literal")
        }
        at += count
        return value
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = at
        _ = take(UInt8(ascii: "-"))
        if take(0x30) {
            if let byte = peek(), (0x30...0x39).contains(byte) {
                throw fault("a number cannot have a leading zero")
            }
        } else {
            try digits()
        }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        guard at - start <= limits.numberLength else {
            throw JSONError(offset: start, reason: "the number is too long")
        }
        return .number(String(decoding: bytes[start..<at], as: UTF8.self))
    }

    private mutating func digits() throws(JSONError) {
        let start = at
        while let byte = peek(), (0x30...0x39).contains(byte) { at += 1 }
        guard at > start else { throw fault("a digit is expected") }
    }

    private mutating func string() throws(JSONError) -> String {
        let start = at
        at += 1
        var runStart = at
        var unescaped: [UInt8] = []
        while true {
            guard let byte = peek() else { throw fault("the text ends inside a string") }
            if byte == UInt8(ascii: "\"") { break }
            guard byte >= 0x20 else { throw fault("an unescaped control character in a string") }
            guard byte == UInt8(ascii: "\\") else {
                at += 1
                continue
            }
            unescaped.append(contentsOf: bytes[runStart..<at])
            try escape(into: &unescaped)
            runStart = at
        }
        let run = bytes[runStart..<at]
        at += 1
        let text: String?
        if unescaped.isEmpty {
            text = String(validating: run, as: UTF8.self)
        } else {
            unescaped.append(contentsOf: run)
            text = String(validating: unescaped, as: UTF8.self)
        }
        guard let text else { throw JSONError(offset: start, reason: "invalid UTF-8 in a string") }
        return text
    }

    private mutating func escape(into out: inout [UInt8]) throws(JSONError) {
        let start = at
        at += 1
        guard let byte = peek() else { throw fault("the text ends inside a string") }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(byte)
        case UInt8(ascii: "b"): out.append(0x08)
        case UInt8(ascii: "f"): out.append(0x0C)
        case UInt8(ascii: "n"): out.append(0x0A)
        case UInt8(ascii: "r"): out.append(0x0D)
        case UInt8(ascii: "t"): out.append(0x09)
        case UInt8(ascii: "u"):
            var code = try hex4()
            if (0xD800...0xDBFF).contains(code) {
                guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
                    throw JSONError(offset: start, reason: "a lone surrogate")
                }
                let low = try hex4()
                guard (0xDC00...0xDFFF).contains(low) else {
                    throw JSONError(offset: start, reason: "a lone surrogate")
                }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard code != 0 else { throw JSONError(offset: start, reason: "U+0000 in a string") }
            guard let scalar = Unicode.Scalar(code) else {
                throw JSONError(offset: start, reason: "a lone surrogate")
            }
            out.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default: throw JSONError(offset: start, reason: "unknown escape")
        }
    }

    private mutating func hex4() throws(JSONError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            switch peek() {
            case .some(let byte) where (0x30...0x39).contains(byte):
                code = code << 4 | UInt32(byte - 0x30)
            case .some(let byte) where (0x61...0x66).contains(byte | 0x20):
                code = code << 4 | UInt32((byte | 0x20) - 0x57)
            default: throw fault("four hex digits are expected")
            }
            at += 1
        }
        return code
    }

    private func peek() -> UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard at < bytes.count, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    private mutating func skipSpace() {
        while at < bytes.count {
            switch bytes[at] {
            case 0x20, 0x09, 0x0A, 0x0D: at += 1
            default: return
            }
        }
    }

    private func fault(_ reason: String) -> JSONError { JSONError(offset: at, reason: reason) }
}

/// Finds a repeated member name by its bytes. The names of a small object are compared one by one.
/// Those of a larger object are kept in a set, so that a hostile object does not take quadratic
/// time.
private struct MemberNames {
    private static let scanned = 16
    private var seen: Set<[UInt8]> = []

    mutating func insert(_ name: String, after members: [JSONValue.Member]) -> Bool {
        if members.count < Self.scanned {
            return !members.contains { $0.name.utf8.elementsEqual(name.utf8) }
        }
        if seen.isEmpty {
            for member in members { seen.insert(Array(member.name.utf8)) }
        }
        return seen.insert(Array(name.utf8)).inserted
    }
}

/// Why a text is not accepted as JSON, and at which byte the fault is.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The fault's offset in bytes from the start of the text.
    var offset: Int
    /// The fault as a plain English phrase without data from the text.
    var reason: String

    package init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    package var description: String { "\(reason) at byte \(offset)" }
}

/// Limits that are checked before memory for a value is allocated.
package struct JSONLimits: Sendable {
    /// The maximum depth to which arrays and objects may be nested.
    var depth: Int
    /// The maximum number of values in the whole document, the values of members included.
    var values: Int
    /// The maximum length of one number, in bytes.
    var numberLength: Int

    package init(depth: Int = 64, values: Int = 200_000, numberLength: Int = 64) {
        self.depth = depth
        self.values = values
        self.numberLength = numberLength
    }

    static let standard = JSONLimits()
}
