/// A web origin (RFC 6454) as it is stored. An operator's text is normalised to the form that
/// browsers send. The origin of a request is compared with that form byte by byte. The form is
/// ASCII only, so strings can be compared.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// Whether the origin matches only a single text, or matches any label below a domain.
    package enum Kind: String, Sendable {
        case exact
        /// Matches exactly one label below a domain, with https only.
        case wildcard
    }

    /// A change that was made to the operator's text.
    package enum Change: String, Sendable {
        case lowerCased = "lower-cased"
        case asciiHost = "host written in its A-label form"
        case addressForm = "address written in its shortest form"
        case defaultPort = "default port dropped"
        case portZeros = "leading zeros of the port dropped"
        case trailingSlash = "trailing slash dropped"
    }

    /// The schemes of app frameworks. All apps of a framework have the same origin, so such an
    /// origin does not prove which app sent a request.
    static let customSchemes = [
        "capacitor", "ionic", "tauri", "app", "chrome-extension", "moz-extension",
    ]

    /// The origin as browsers send it; a wildcard is written `https://*.example.com`.
    package let canonical: String
    /// How this origin is compared with the origin of a request.
    package let kind: Kind
    package let scheme: String
    /// The host: a name as A-labels, an address (IPv6 in brackets), or the domain below which a
    /// wildcard matches.
    package let host: String
    /// The port; `nil` if it is the scheme's default.
    package let port: Int?
    /// The changes made to the operator's text, to be shown to the operator; empty if none were
    /// needed.
    package let changes: [Change]

    package var description: String { canonical }

    /// Whether requests from this origin may carry cookies. They may if the origin is exact and has
    /// https, or plain http on this machine.
    package var mayCarryCredentials: Bool {
        guard kind == .exact else { return false }
        return scheme == "https"
            || scheme == "http" && ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }

    /// The domain of a wildcard, which the tenant must own; `nil` for any other origin.
    package var wildcardBase: DomainName? {
        // The parser has checked that the host of a wildcard is a domain name, so making the name
        // does not fail.
        kind == .wildcard ? try? DomainName(host) : nil
    }

    /// Parses an operator's text. Throws `OriginFault` if it contains a path, a user or a query, or
    /// if its host has no A-label form.
    package init(configuring text: String) throws(OriginFault) {
        var parser = try OriginParser(Array(text.utf8))
        try parser.parse()
        kind = parser.isWildcard ? .wildcard : .exact
        scheme = parser.scheme
        host = parser.host
        port = parser.port
        changes = parser.changes
        canonical =
            parser.scheme + "://" + (parser.isWildcard ? "*." : "") + parser.host
            + (parser.port.map { ":\($0)" } ?? "")
    }

    package static func == (left: Origin, right: Origin) -> Bool {
        left.canonical == right.canonical
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

    /// Whether a request's `Origin` matches. For an exact origin, it must be equal. For a wildcard,
    /// it must have exactly one label before the domain. Case and a trailing slash matter, because
    /// browsers always send the same form.
    package func matches(_ request: [UInt8]) -> Bool {
        switch kind {
        case .exact: return request.elementsEqual(canonical.utf8)
        case .wildcard:
            let prefix = Array("https://".utf8)
            let suffix = Array(".".utf8) + Array(host.utf8)
            guard request.count > prefix.count + suffix.count, request.starts(with: prefix),
                request.suffix(suffix.count).elementsEqual(suffix)
            else { return false }
            return ASCII.isLabel(request[prefix.count..<(request.count - suffix.count)])
        }
    }

    /// Whether a request's `Origin` belongs to a development server: it has `http://`, a loopback
    /// name and an explicit port.
    package static func isLoopbackDevelopment(_ request: [UInt8]) -> Bool {
        for host in ["http://localhost:", "http://127.0.0.1:", "http://[::1]:"] {
            guard request.starts(with: host.utf8) else { continue }
            guard let port = ASCII.number(request.dropFirst(host.utf8.count), digits: 5) else {
                return false
            }
            return (1...65535).contains(port)
        }
        return false
    }
}

/// Parses an operator's text as an origin. It accepts other spellings of an origin, but refuses
/// URLs with a path, a query or a user.
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

    /// Splits the text after the scheme into the authority and the rest, which begins at the first
    /// `/ \ ? #`.
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
        // Browsers keep a trailing dot in the origin. Dropping the dot would make a different
        // origin, so the text is refused.
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
            // A domain name has no underscore, but browsers accept hosts with underscores in URLs
            // and send them as origins.
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

    /// Returns the name, which has underscores, in lower case. Throws if it would be invalid even
    /// with letters in place of the underscores.
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

    /// Returns an IPv4-mapped address with the IPv4 part in hexadecimal, as browsers write it.
    private func mapped(_ address: IPAddress) -> String {
        let words = stride(from: 0, to: 4, by: 2).map { index in
            String(UInt16(address.bytes[index]) << 8 | UInt16(address.bytes[index + 1]), radix: 16)
        }
        return "::ffff:" + words.joined(separator: ":")
    }

    /// Parses the host in an app's scheme. The host is an id, or a name that the framework gives,
    /// and is never resolved.
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

/// Why an operator's text cannot be stored as an origin.
package enum OriginFault: String, Error, Sendable, Equatable {
    case empty
    case whitespaceOrControl
    case everyOrigin
    case nullOrigin
    case noScheme
    case unknownScheme
    case fileScheme
    case userInfo
    case pathQueryOrFragment
    case badHost
    case bareIPv6
    case badPort
    case portNotAllowed
    case wildcardNeedsHTTPS
    case wildcardMisplaced
    case wildcardOfPublicSuffix

    /// What is wrong, for the operator, as the end of a sentence that begins with the member's name.
    package var reason: String {
        switch self {
        case .empty: "must be an origin, such as https://app.example.com"
        case .whitespaceOrControl: "must have no spaces and no control characters"
        case .everyOrigin: "must not allow every origin; list each one"
        case .nullOrigin: "must not be the null origin: every sandboxed page sends it"
        case .noScheme: "must start with its scheme, such as https://"
        case .unknownScheme:
            "must have one of the schemes http, https, "
                + Origin.customSchemes.joined(separator: ", ")
        case .fileScheme:
            "must not be of files: their pages send the null origin, which cannot be allowed"
        case .userInfo: "must have no user name and no password"
        case .pathQueryOrFragment:
            "must end after the host or the port: no path, query or fragment"
        case .badHost: "must have a valid name or address as its host"
        case .bareIPv6: "must have its IPv6 address in brackets"
        case .badPort: "must have a port from 1 to 65535"
        case .portNotAllowed: "must have no port, since it is a wildcard or has an app's scheme"
        case .wildcardNeedsHTTPS: "must have https, since it is a wildcard"
        case .wildcardMisplaced:
            "must have the wildcard as its whole first label, as in https://*.example.com"
        case .wildcardOfPublicSuffix:
            "must not be a wildcard below a public suffix, which would let in strangers"
        }
    }
}
