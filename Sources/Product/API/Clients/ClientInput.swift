import Domain
import JSON
import Storage
import Text

/// A body's client settings, checked against the contract's declaration.
struct ClientInput {
    var row: ClientRow
    var secret: ProviderSecret
    private let kinds: [String]

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
        row.settings = .object(settings.members.filter { !sameBytes($0.name, "secret") })
        kinds = known.providerKinds
        secret =
            settings.has("secret")
            ? settings.optionalString("secret").map { .set($0) } ?? .clear : .keep
        if case .set = secret, row.settings["client_id"]?.string == nil {
            throw Self.refusal("is the secret of a client: give `client_id` too")
        }
    }

    /// The hash of the client secret's audience; nil if it is unknown. 422 for a new secret then: a
    /// secret is bound to the audience that it was given for.
    func secretAudience(_ database: Database, tenant: UUID) async throws -> [UInt8]? {
        guard let clientID = row.settings["client_id"]?.string else { return nil }
        let provider = ProviderChoice.choose(
            from: try await database.providers(near: tenant), kinds: kinds,
            named: row.settings["provider"]?.string)
        if let provider { return provider.secretAudience(clientID: clientID) }
        guard case .set = secret else { return nil }
        throw Self.refusal(
            "needs the provider that it is for: register it, or name it in `provider`")
    }

    private static func refusal(_ detail: String) -> Problem {
        Problem.invalid([FieldError("/settings/secret", .notAllowed, detail)])
    }

    /// 422 for a new address of a scheme that any app may claim. `stored`: those that the client has.
    func checkSchemes(besides stored: [String]) throws {
        let errors = row.redirectURIs.enumerated().compactMap { index, uri in
            RedirectURI.isOwnedScheme(uri) || stored.contains(where: { sameBytes($0, uri) })
                ? nil
                : FieldError(
                    "/redirect_uris/\(index)", .notAllowed,
                    "needs a scheme with a dot, such as com.example.app, which no other app claims "
                        + "(RFC 8252 section 7.1)")
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
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
        for text in texts where !seen.contains(where: { sameBytes($0, text) }) { seen.append(text) }
        return seen
    }
}
