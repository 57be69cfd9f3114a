/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// Decodes percent-encoded text; `nil` for a bad escape. With `isForm`, `+` is a space
    /// (application/x-www-form-urlencoded).
    package static func decode(_ text: some Sequence<UInt8>, isForm: Bool = false) -> [UInt8]? {
        var decoded: [UInt8] = []
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "+") where isForm: decoded.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(hexDigit),
                    let low = bytes.next().flatMap(hexDigit)
                else { return nil }
                decoded.append(high << 4 | low)
            default: decoded.append(byte)
            }
        }
        return decoded
    }

    /// Decodes form-encoded text; `nil` for a bad escape, NUL, or text that is not UTF-8.
    package static func decodeForm(_ text: some Sequence<UInt8>) -> String? {
        guard let bytes = decode(text, isForm: true), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Escapes every byte except the unreserved characters and `kept`.
    package static func encode(_ bytes: some Sequence<UInt8>, keeping kept: UInt8? = nil) -> String
    {
        let digits = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: out.append(byte)
            case kept: out.append(byte)
            default: out += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}

/// Returns the text escaped for the content or a quoted attribute of an HTML element.
package func htmlEscaped(_ text: some StringProtocol) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": escaped += "&amp;"
        case "<": escaped += "&lt;"
        case ">": escaped += "&gt;"
        case "\"": escaped += "&quot;"
        case "'": escaped += "&#39;"
        default: escaped.unicodeScalars.append(scalar)
        }
    }
    return escaped
}
