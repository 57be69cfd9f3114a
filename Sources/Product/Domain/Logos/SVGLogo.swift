/// An SVG image as a logo, rewritten so that only shapes with plain attributes remain. It may not
/// contain a script, a style, a link, a reference, an entity or a foreign element.
enum SVGLogo {
    private static let elements: Set<String> = [
        "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon",
    ]
    private static let attributes: Set<String> = [
        "d", "points", "x", "y", "width", "height", "cx", "cy", "r", "rx", "ry", "x1", "y1", "x2",
        "y2", "viewBox", "preserveAspectRatio", "transform", "fill", "stroke", "stroke-width",
        "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-dasharray",
        "stroke-dashoffset", "fill-rule", "clip-rule", "opacity", "fill-opacity", "stroke-opacity",
    ]
    /// Attributes that have no effect on the picture unless something refers to them. They are left
    /// out; other unknown attributes make the upload fail.
    private static let idle: Set<String> = ["id", "version", "baseProfile", "xml:space", "role"]
    private static let namespace = "http://www.w3.org/2000/svg"
    private static let depth = 32

    static func content(of upload: [UInt8]) throws(LogoFault) -> [UInt8] {
        var reader = SVGReader(upload)
        var open: [String] = []
        var made = ""
        repeat {
            let tag = try reader.next()
            if tag.isEnd {
                guard open.popLast() == tag.name else {
                    throw LogoFault("does not close its elements in order")
                }
                made += "</\(tag.name)>"
                continue
            }
            guard elements.contains(tag.name) else {
                throw LogoFault(
                    "has the element `\(tag.name)`; only "
                        + elements.sorted().joined(separator: ", ")
                        + " are accepted: turn text into paths and remove the rest")
            }
            guard open.isEmpty == (tag.name == "svg") else {
                throw LogoFault("must have one `svg` element, the root")
            }
            guard open.count < depth else { throw LogoFault("is nested too deep") }
            made += "<\(tag.name)" + (try written(tag, isRoot: open.isEmpty))
            made += tag.isEmpty ? "/>" : ">"
            if !tag.isEmpty { open.append(tag.name) }
        } while !open.isEmpty
        try reader.end()
        return Array(made.utf8)
    }

    private static func written(_ tag: SVGTag, isRoot: Bool) throws(LogoFault) -> String {
        var text = isRoot ? " xmlns=\"\(namespace)\"" : ""
        for (name, value) in tag.attributes where !idle.contains(name) {
            if name == "xmlns" || name.hasPrefix("xmlns:") {
                guard isRoot else {
                    throw LogoFault(
                        "has the attribute `\(name)` in an inner element; only the root may have it"
                    )
                }
                guard name != "xmlns" || value == namespace else {
                    throw LogoFault("has an `xmlns` other than \(namespace)")
                }
                continue
            }
            guard attributes.contains(name) else {
                throw LogoFault(
                    "has the attribute `\(name)`; use plain attributes instead, such as `fill`"
                )
            }
            guard isPlain(value) else {
                throw LogoFault(
                    "has a value of `\(name)` that is not allowed, such as a reference")
            }
            text += " \(name)=\"\(value)\""
        }
        guard !isRoot || tag.attributes.contains(where: { $0.name == "viewBox" }) else {
            throw LogoFault("has no `viewBox`")
        }
        return text
    }

    /// Whether the attribute's value contains only numbers, names, colours and calls such as
    /// `rotate(45 8 8)`; a value with `url(…)` is not plain.
    private static func isPlain(_ value: String) -> Bool {
        let allowed = value.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x20, 0x0A, 0x0D, 0x09: true
            case UInt8(ascii: "."), UInt8(ascii: ","), UInt8(ascii: "-"), UInt8(ascii: "+"),
                UInt8(ascii: "#"), UInt8(ascii: "%"), UInt8(ascii: "("), UInt8(ascii: ")"):
                true
            default: false
            }
        }
        return allowed && !value.lowercased().contains("url")
    }
}

/// A tag of an SVG file.
struct SVGTag {
    var name: String
    var attributes: [(name: String, value: String)] = []
    /// Whether the tag is an end tag: `</name>`.
    var isEnd = false
    /// Whether the tag is an empty element: `<name/>`.
    var isEmpty = false
}

/// Reads the tags of an SVG file one by one. It accepts the part of XML 1.0 that drawing programs
/// write. Comments are skipped, and so is an XML declaration at the start. A document type, an
/// entity, a processing instruction, CDATA and text are refused.
struct SVGReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        self.bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(3)) : bytes
    }

    mutating func next() throws(LogoFault) -> SVGTag {
        let isFirst = at == 0
        try skip()
        guard take("<") else {
            guard at < bytes.count else { throw LogoFault("breaks off") }
            throw LogoFault(isFirst ? "is no SVG" : "has text, or a part that is not allowed")
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
            guard isSpaced, !tag.isEnd else { throw LogoFault("is not well-formed XML") }
            let name = try name()
            guard !tag.attributes.contains(where: { $0.name == name }) else {
                throw LogoFault("has the attribute `\(name)` twice in one element")
            }
            tag.attributes.append((name, try value()))
        }
    }

    /// Checks that only white space and comments follow the root element; throws otherwise.
    mutating func end() throws(LogoFault) {
        try skip()
        guard at == bytes.count else { throw LogoFault("has content after its end") }
    }

    /// Skips white space, comments, and an XML declaration at the very beginning.
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

    /// Reads a name of letters, digits, `-` and `:`.
    private mutating func name() throws(LogoFault) -> String {
        let start = at
        while at < bytes.count {
            switch bytes[at] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: ":"):
                at += 1
            default:
                guard at > start else { throw LogoFault("has a part that is not allowed") }
                return String(decoding: bytes[start..<at], as: UTF8.self)
            }
        }
        throw LogoFault("breaks off")
    }

    private mutating func value() throws(LogoFault) -> String {
        _ = skipSpace()
        guard take("=") else { throw LogoFault("is not well-formed XML") }
        _ = skipSpace()
        guard let quote = at < bytes.count ? bytes[at] : nil, quote == 0x22 || quote == 0x27,
            let end = bytes[(at + 1)...].firstIndex(of: quote)
        else { throw LogoFault("is not well-formed XML") }
        let text = bytes[(at + 1)..<end]
        guard !text.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }) else {
            throw LogoFault("has `&` or `<` in an attribute, which is not allowed")
        }
        at = end + 1
        return String(decoding: text, as: UTF8.self)
    }
}
