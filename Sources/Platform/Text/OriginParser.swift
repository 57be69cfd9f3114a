/// Parses an operator's text as an origin. Tolerates spellings, not other kinds of URL.
struct OriginParser {
    private let bytes: [UInt8]
    private(set) var scheme = ""
    private(set) var host = ""
    private(set) var port: Int?
    private(set) var isWildcard = false
    private(set) var changes: [Origin.Change] = []

    init(_ bytes: [UInt8]) throws(OriginFault) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= 512 else { throw .badHost }
        guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw .whitespaceOrControl }
        self.bytes = bytes
    }

    mutating func parse() throws(OriginFault) {
        if bytes == [UInt8(ascii: "*")] { throw .everyOrigin }
        if ASCII.lower(bytes) == Array("null".utf8) { throw .nullOrigin }
        let rest = try parseScheme()
        let (authority, tail) = Self.split(rest)
        if tail == [UInt8(ascii: "/")] {
            changes.append(.trailingSlash)
        } else if !tail.isEmpty {
            throw .pathQueryOrFragment
        }
        guard !authority.contains(UInt8(ascii: "@")) else { throw .userInfo }
        guard !authority.isEmpty else { throw .badHost }
        let (name, portText) = try Self.splitPort(authority)
        if Origin.customSchemes.contains(scheme) {
            guard portText == nil else { throw .portNotAllowed }
            try parseCustomHost(name)
        } else {
            try parseHost(name)
            try parsePort(portText)
        }
    }

    private mutating func parseScheme() throws(OriginFault) -> ArraySlice<UInt8> {
        let separator = Array("://".utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            bytes[colon...].starts(with: separator)
        else { throw .noScheme }
        let lower = ASCII.lower(bytes[..<colon])
        noteCase(lower, bytes[..<colon])
        scheme = String(decoding: lower, as: UTF8.self)
        if lower == Array("file".utf8) { throw .fileScheme }
        let known = ["http", "https"] + Origin.customSchemes
        guard known.contains(where: { $0.utf8.elementsEqual(lower) }) else { throw .unknownScheme }
        return bytes[(colon + separator.count)...]
    }

    /// The authority, and the rest from the first `/ \ ? #` on.
    private static func split(_ rest: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
        let ends = Set("/\\?#".utf8)
        let end = rest.firstIndex { ends.contains($0) } ?? rest.endIndex
        return (rest[..<end], rest[end...])
    }

    private static func splitPort(
        _ authority: ArraySlice<UInt8>
    ) throws(OriginFault) -> (ArraySlice<UInt8>, ArraySlice<UInt8>?) {
        let colon = UInt8(ascii: ":")
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .badHost }
            let after = authority[(close + 1)...]
            if after.isEmpty { return (authority, nil) }
            guard after.first == colon else { throw .badHost }
            return (authority[...close], after.dropFirst())
        }
        guard let first = authority.firstIndex(of: colon) else { return (authority, nil) }
        guard authority.lastIndex(of: colon) == first else { throw .bareIPv6 }
        return (authority[..<first], authority[(first + 1)...])
    }

    private mutating func parseHost(_ name: ArraySlice<UInt8>) throws(OriginFault) {
        if name.first == UInt8(ascii: "[") { return try parseIPv6(name) }
        var name = name
        if name.starts(with: "*.".utf8) {
            guard scheme == "https" else { throw .wildcardNeedsHTTPS }
            isWildcard = true
            name = name.dropFirst(2)
        }
        guard !name.contains(UInt8(ascii: "*")) else { throw .wildcardMisplaced }
        // A browser keeps a trailing dot in the origin, so dropping it would store another one.
        guard name.last != UInt8(ascii: "."),
            let text = String(validating: name, as: UTF8.self)
        else { throw .badHost }
        host = try hostName(text)
        if name.contains(where: { $0 >= 0x80 }) {
            changes.append(.asciiHost)
        } else {
            noteCase(Array(host.utf8), name)
        }
    }

    private func hostName(_ text: String) throws(OriginFault) -> String {
        let domain: DomainName
        do throws(DomainFault) {
            domain = try DomainName(text, allowSingleLabel: !isWildcard)
        } catch {
            // No domain name has it, but browsers resolve such hosts and send them.
            if text.utf8.contains(UInt8(ascii: "_")), text.utf8.allSatisfy({ $0 < 0x80 }) {
                return try underscored(text)
            }
            if error == .address, !isWildcard, let address = IPAddress(text) {
                return address.description
            }
            throw error == .singleLabel ? .wildcardOfPublicSuffix : .badHost
        }
        if isWildcard, domain.isPublicSuffix { throw .wildcardOfPublicSuffix }
        return domain.ascii
    }

    /// A name that is one but for its underscores, in lower case.
    private func underscored(_ text: String) throws(OriginFault) -> String {
        let lower = ASCII.lower(Array(text.utf8)[...])
        let plain = lower.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "x") : $0 }
        do throws(DomainFault) {
            let domain = try DomainName(
                String(decoding: plain, as: UTF8.self), allowSingleLabel: !isWildcard)
            if isWildcard, domain.isPublicSuffix { throw .malformed }
        } catch {
            throw .badHost
        }
        return String(decoding: lower, as: UTF8.self)
    }

    private mutating func parseIPv6(_ name: ArraySlice<UInt8>) throws(OriginFault) {
        let inner = String(decoding: name.dropFirst().dropLast(), as: UTF8.self)
        guard let address = IPAddress(inner) else { throw .badHost }
        host = "[" + (address.bytes.count == 16 ? address.description : mapped(address)) + "]"
        if !name.elementsEqual(host.utf8) { changes.append(.addressForm) }
    }

    /// Browsers write an IPv4-mapped address in hexadecimal.
    private func mapped(_ address: IPAddress) -> String {
        let words = stride(from: 0, to: 4, by: 2).map { index in
            String(UInt16(address.bytes[index]) << 8 | UInt16(address.bytes[index + 1]), radix: 16)
        }
        return "::ffff:" + words.joined(separator: ":")
    }

    /// An app's host is opaque: an id or a name, never resolved.
    private mutating func parseCustomHost(_ name: ArraySlice<UInt8>) throws(OriginFault) {
        guard !name.contains(UInt8(ascii: "*")) else { throw .wildcardMisplaced }
        let lower = ASCII.lower(name)
        let punctuation = Set("-._".utf8)
        guard lower.allSatisfy({ ASCII.isLowerOrDigit($0) || punctuation.contains($0) }),
            lower.count <= 253
        else { throw .badHost }
        noteCase(lower, name)
        host = String(decoding: lower, as: UTF8.self)
    }

    private mutating func parsePort(_ text: ArraySlice<UInt8>?) throws(OriginFault) {
        guard let text else { return }
        let digits = text.drop { $0 == 0x30 }
        guard let number = ASCII.number(digits, digits: 5), (1...65535).contains(number) else {
            throw .badPort
        }
        if digits.count != text.count { changes.append(.portZeros) }
        if isWildcard, number != 443 { throw .portNotAllowed }
        if number == (scheme == "https" ? 443 : 80) {
            changes.append(.defaultPort)
        } else {
            port = number
        }
    }

    private mutating func noteCase(_ lower: [UInt8], _ given: ArraySlice<UInt8>) {
        if !lower.elementsEqual(given), !changes.contains(.lowerCased) {
            changes.append(.lowerCased)
        }
    }
}
