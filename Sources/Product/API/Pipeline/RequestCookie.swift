import HTTP

/// The cookies of a request (RFC 6265 section 5.4).
package enum RequestCookie {
    /// The value of the first cookie of this name, compared byte for byte; nil if there is none.
    package static func value(_ name: String, in request: Request) -> String? {
        for line in request.all("cookie") {
            for part in line.split(separator: ";") {
                let pair = part.trimmingSpaces
                guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")),
                    pair.utf8[..<equals].elementsEqual(name.utf8)
                else { continue }
                return String(decoding: pair.utf8[equals...].dropFirst(), as: UTF8.self)
            }
        }
        return nil
    }
}
