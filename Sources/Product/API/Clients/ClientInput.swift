import Domain
import JSON
import Storage
import Text

/// What a body says about a client, held against what the contract declares.
struct ClientInput {
    var row: ClientRow

    init(_ call: Call, _ known: ClientDescription) throws {
        var decoder = Decoder(allowsReadOnly: false)
        let given = call.input["settings"] ?? .object([])
        let settings = decoder.object(given, known.settings, at: "/settings")
        guard decoder.errors.isEmpty else { throw Problem.invalid(decoder.errors) }
        row = ClientRow(unset: known.name)
        row.enabled = call.input.flag("enabled")
        row.hosts = Self.once((call.input.optionalStrings("hosts") ?? []).compactMap(ClientHost.of))
        row.redirectURIs = Self.once(call.input.optionalStrings("redirect_uris") ?? [])
        row.settings = .object(settings.members)
    }

    private static func once(_ texts: [String]) -> [String] {
        var seen: [String] = []
        for text in texts where !seen.contains(where: { sameBytes($0, text) }) {
            seen.append(text)
        }
        return seen
    }
}

/// A host that a client answers at: a domain name or an address, with a port if one is given.
package enum ClientHost {
    static let rule = TextRule(
        detail: "must be a host, with a port if it is not the usual one",
        example: "mail.acme.example"
    ) { of($0) != nil }

    /// Lower case, as an A-label; nil for anything else.
    package static func of(_ text: String) -> String? {
        guard let origin = try? Origin(configuring: "https://\(text)") else { return nil }
        // What has a path, a user or a wildcard is no host.
        guard origin.wildcardBase == nil else { return nil }
        return origin.port.map { "\(origin.host):\($0)" } ?? origin.host
    }
}

/// Where a sign-in may lead back to (RFC 6749 section 3.1.2): absolute, without a fragment.
enum RedirectURI {
    static let rule = TextRule(
        detail: "must be an absolute address with a scheme and without a fragment",
        example: "app.immich:///oauth-callback"
    ) { text in
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = Array(text.utf8[..<colon])
        guard let first = scheme.first, (first | 0x20) &- 0x61 < 26,
            scheme.allSatisfy({
                ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 <= 9 || $0 == UInt8(ascii: "+")
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            })
        else { return false }
        let plain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        let refused = ["javascript", "data", "vbscript", "file"]
        let lower = String(decoding: scheme.map { $0 | 0x20 }, as: UTF8.self)
        return plain && text.utf8.count > scheme.count + 1
            && !refused.contains { sameBytes($0, lower) }
    }
}
