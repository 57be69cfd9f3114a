/// An SVG image as a logo: shapes with plain attributes, written anew. Whatever could run, load,
/// link or style has no place in it: no script, no reference, no entity, no foreign element.
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
    /// Without effect where nothing refers to them: left out instead of refused.
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
            guard elements.contains(tag.name), open.isEmpty == (tag.name == "svg") else {
                throw LogoFault(
                    "has the element `\(tag.name)`; only shapes are taken: save it as plain SVG")
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
                guard isRoot, name != "xmlns" || value == namespace else {
                    throw LogoFault("is not of the namespace \(namespace)")
                }
                continue
            }
            guard attributes.contains(name) else {
                throw LogoFault(
                    "has the attribute `\(name)`; write what it says as plain attributes, such as `fill`"
                )
            }
            guard isPlain(value) else {
                throw LogoFault("has a value of `\(name)` that is not taken: a reference, perhaps")
            }
            text += " \(name)=\"\(value)\""
        }
        guard !isRoot || tag.attributes.contains(where: { $0.name == "viewBox" }) else {
            throw LogoFault("has no `viewBox`")
        }
        return text
    }

    /// Numbers, names, colours and calls such as `rotate(45 8 8)`; no `url(…)`.
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
