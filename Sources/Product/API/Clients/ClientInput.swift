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
        let redirects = call.input.optionalStrings("redirect_uris") ?? []
        try Self.checkTransport(redirects, own: PublicAddress(call.services.publicURL))
        row.redirectURIs = Self.once(redirects)
        row.settings = .object(settings.members)
    }

    private static func checkTransport(_ redirects: [String], own: PublicAddress?) throws {
        let errors = redirects.enumerated().compactMap { index, uri in
            RedirectURI.isInTheClear(uri, own: own)
                ? FieldError(
                    "/redirect_uris/\(index)", .notAllowed,
                    "must be https; plain http is for 127.0.0.1, [::1] and localhost alone") : nil
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    private static func once(_ texts: [String]) -> [String] {
        var seen: [String] = []
        for text in texts where !seen.contains(where: { sameBytes($0, text) }) {
            seen.append(text)
        }
        return seen
    }
}
