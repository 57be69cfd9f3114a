/// A tag of an SVG file.
struct SVGTag {
    var name: String
    var attributes: [(name: String, value: String)] = []
    /// `</name>`
    var isEnd = false
    /// `<name/>`
    var isEmpty = false
}

/// Reads the tags of an SVG file one by one: the part of XML 1.0 that drawing programs write. A
/// declaration in front and comments are skipped; a document type, an entity, a processing
/// instruction, CDATA and text are refused.
struct SVGReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        self.bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(3)) : bytes
    }

    mutating func next() throws(LogoFault) -> SVGTag {
        try skip()
        guard take("<") else {
            throw LogoFault(
                at < bytes.count ? "has text, or a part that is not taken" : "breaks off")
        }
        var tag = SVGTag(name: "", isEnd: take("/"))
        tag.name = try name()
        while true {
            let isSpaced = skipSpace()
            if take(">") { return tag }
            if !tag.isEnd, take("/>") {
                tag.isEmpty = true
                return tag
            }
            guard isSpaced, !tag.isEnd else { throw LogoFault("is no well-formed XML") }
            let name = try name()
            guard !tag.attributes.contains(where: { $0.name == name }) else {
                throw LogoFault("has the attribute `\(name)` twice in one element")
            }
            tag.attributes.append((name, try value()))
        }
    }

    /// Nothing but space and comments may follow the root.
    mutating func end() throws(LogoFault) {
        try skip()
        guard at == bytes.count else { throw LogoFault("has something behind its end") }
    }

    /// Space, comments, and a declaration at the very beginning.
    private mutating func skip() throws(LogoFault) {
        if at == 0, take("<?xml ") { try pass("?>") }
        while true {
            _ = skipSpace()
            guard take("<!--") else { return }
            try pass("-->")
        }
    }

    private mutating func pass(_ end: StaticString) throws(LogoFault) {
        while !take(end) {
            guard at < bytes.count else { throw LogoFault("breaks off") }
            at += 1
        }
    }

    private mutating func skipSpace() -> Bool {
        let start = at
        while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
        return at > start
    }

    private mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[at...].starts(with: wanted) else { return false }
        at += wanted.count
        return true
    }

    /// Letters, digits, `-` and `:`.
    private mutating func name() throws(LogoFault) -> String {
        let start = at
        while at < bytes.count {
            switch bytes[at] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: ":"):
                at += 1
            default:
                guard at > start else { throw LogoFault("has a part that is not taken") }
                return String(decoding: bytes[start..<at], as: UTF8.self)
            }
        }
        throw LogoFault("breaks off")
    }

    private mutating func value() throws(LogoFault) -> String {
        _ = skipSpace()
        guard take("=") else { throw LogoFault("is no well-formed XML") }
        _ = skipSpace()
        guard let quote = at < bytes.count ? bytes[at] : nil, quote == 0x22 || quote == 0x27,
            let end = bytes[(at + 1)...].firstIndex(of: quote)
        else { throw LogoFault("is no well-formed XML") }
        let text = bytes[(at + 1)..<end]
        guard !text.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }) else {
            throw LogoFault("has an entity, which is not taken")
        }
        at = end + 1
        return String(decoding: text, as: UTF8.self)
    }
}
