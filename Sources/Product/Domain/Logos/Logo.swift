/// A tenant's logo. It is rewritten from the upload, so that it contains nothing but the image.
package struct Logo: Sendable, Equatable {
    package enum Format: String, Sendable, CaseIterable {
        case png = "image/png"
        case svg = "image/svg+xml"
    }

    /// The maximum size of an upload, in bytes.
    package static let limit = 20_480
    package let format: Format
    package let content: [UInt8]

    package init(_ format: Format, _ upload: [UInt8]) throws(LogoFault) {
        guard upload.count <= Self.limit else {
            throw LogoFault("has more than \(Self.limit) bytes")
        }
        self.format = format
        content =
            switch format {
            case .png: try PNGLogo.content(of: upload)
            case .svg: try SVGLogo.content(of: upload)
            }
        // A rewritten SVG may be longer than the upload, since its namespace is added.
        guard content.count <= Self.limit else {
            throw LogoFault("has more than \(Self.limit) bytes after the server rewrites it")
        }
    }
}

/// Why an image cannot be a logo. `detail` completes the sentence "the image …".
package struct LogoFault: Error {
    package let detail: String

    init(_ detail: String) { self.detail = detail }
}

/// A PNG image (ISO/IEC 15948) as a logo. Its chunks are checked, and those that are not part of
/// the picture (texts, times, profiles, animation) are left out.
enum PNGLogo {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The allowed width and height in pixels. They are limited because a few compressed bytes may
    /// expand to a very large image.
    private static let side = 1...1024

    static func content(of upload: [UInt8]) throws(LogoFault) -> [UInt8] {
        guard upload.starts(with: signature) else { throw LogoFault("is no PNG") }
        var rest = upload[8...]
        var made = signature
        var kept: [String] = []
        while kept.last != "IEND" {
            let (name, data, whole) = try chunk(&rest)
            if kept.isEmpty { try checkHeader(name, data) }
            switch name {
            case "IHDR", "PLTE", "tRNS", "IDAT", "IEND":
                let isRepeated = kept.contains(name) && !(name == "IDAT" && kept.last == "IDAT")
                guard !isRepeated else {
                    throw LogoFault(
                        "has a chunk twice or in the wrong "
                            + "order")
                }
                kept.append(name)
                made += whole
            default:
                guard name.utf8.first.map({ $0 & 0x20 != 0 }) == true else {
                    throw LogoFault("has an unknown critical chunk: \(name)")
                }
            }
        }
        guard kept.contains("IDAT") else { throw LogoFault("has no picture in it") }
        return made
    }

    /// Removes the next chunk from `rest` and returns its name, its data and all its bytes.
    private static func chunk(
        _ rest: inout ArraySlice<UInt8>
    ) throws(LogoFault) -> (String, ArraySlice<UInt8>, ArraySlice<UInt8>) {
        guard rest.count >= 12 else { throw LogoFault("breaks off") }
        let length = number(rest.prefix(4))
        guard length <= rest.count - 12 else { throw LogoFault("breaks off") }
        let whole = rest.prefix(length + 12)
        let named = whole.dropFirst(4).dropLast(4)
        guard named.prefix(4).allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) }),
            Base62.crc32(named) == UInt32(number(whole.suffix(4)))
        else { throw LogoFault("is damaged: a checksum is wrong") }
        rest = rest.dropFirst(whole.count)
        return (String(decoding: named.prefix(4), as: UTF8.self), named.dropFirst(4), whole)
    }

    private static func checkHeader(
        _ name: String, _ data: ArraySlice<UInt8>
    ) throws(LogoFault) {
        guard name == "IHDR", data.count == 13 else { throw LogoFault("has no header") }
        let (width, height) = (number(data.prefix(4)), number(data.dropFirst(4).prefix(4)))
        guard side.contains(width), side.contains(height) else {
            throw LogoFault(
                "must be from 1 by 1 to 1024 by 1024 pixels; it is \(width) by \(height)")
        }
        let form = Array(data.suffix(5))
        let depths: [UInt8: Set<UInt8>] = [
            0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16],
        ]
        guard depths[form[1]]?.contains(form[0]) == true, form[2] == 0, form[3] == 0, form[4] <= 1
        else { throw LogoFault("is a PNG with an unsupported colour type, depth or method") }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}
