import Domain
import JSON
import Storage
import Text

/// The provider settings in a body, validated and in normal form.
struct ProviderInput {
    var kind: String
    var name: String
    var issuer: String
    var document: JSONValue
    var secret: ProviderSecret
    /// Whether the platform has confirmed that the Cognito pool belongs to the provider's owner.
    /// Only the platform can confirm this, since a tenant cannot prove that it owns a pool.
    var isConfirmed: Bool

    /// The id of the tenant that owns the provider; the nil tenant for the platform.
    private let owner: UUID

    /// `current` is the stored provider; `nil` if a new one is created. Throws 422 if a setting
    /// that the kind requires is missing.
    init(_ call: Call, owner: UUID, current: ProviderRow?) async throws {
        self.owner = owner
        let input = call.input
        kind = try current?.kind ?? input.string("kind")
        name = input.optionalString("name") ?? current?.name ?? ""
        let given = input.optionalString("issuer") ?? current?.issuer
        var members: [JSONValue.Member] = []
        for setting in ProviderRow.settings {
            let value = input[setting.name] ?? current?.document[setting.name] ?? setting.standard
            members.append(.init(setting.name, value))
        }
        issuer = given ?? Self.standardIssuers[kind] ?? ""
        document = .object(members)
        secret =
            input.has("secret")
            ? input.optionalString("secret").map { .set($0) } ?? .clear : .keep
        let (named, before) = (issuer, current?.isConfirmed == true ? current?.issuer : nil)
        let isSame = before.map { sameBytes($0, named) } ?? false
        isConfirmed = call.principal.platform || kind != "cognito" || isSame
        try check(names: input.has("endpoints") || input.has("issuer") || current == nil)
        try checkSecret(current)
        try checkOpening(call, isSame ? current : nil)
        try await checkReach(call, current)
        document = .object(try await settle(members, call))
    }

    private var issuerFault: String? {
        if kind != "cognito", RelyingParty.isTemplate(issuer) {
            return "must have no braces: no token bears such an issuer; "
                + RelyingParty.templateAdvice
        }
        switch kind {
        case "cognito" where !RelyingParty.isPoolID(issuer):
            return "must be a user pool's id, such as eu-central-1_aBc123"
        case "oidc" where !RelyingParty.isIssuerAddress(issuer),
            "google" where !RelyingParty.isIssuerAddress(issuer),
            "github" where !RelyingParty.isIssuerAddress(issuer):
            return
                "must be an https URL without a user, a query or a fragment; http is allowed only "
                + "for 127.0.0.1, [::1] and localhost"
        default: return nil
        }
    }

    /// Throws 422 if the issuer or the endpoints change and the body does not contain the secret.
    /// The secret is sent to these addresses, so only a caller who knows the secret may change
    /// them.
    private func checkSecret(_ current: ProviderRow?) throws {
        guard let current, current.hasSecret, case .keep = secret else { return }
        let isMoved =
            !sameBytes(issuer, current.issuer)
            || document["endpoints"] != (current.document["endpoints"] ?? .object([]))
        guard isMoved else { return }
        throw Problem.invalid([
            FieldError(
                "/secret", .required,
                "is needed again when the issuer or an endpoint changes; null removes it")
        ])
    }

    /// Throws 422 if an address is inside the internal network. Otherwise the error would appear
    /// only when the server connects to the address. For a host name, the addresses are also
    /// checked at each connection.
    private func checkReach(_ call: Call, _ current: ProviderRow?) async throws {
        let kinds = ["oidc", "google", "github"]
        var urls = kinds.contains(kind) ? [("/issuer", issuer)] : []
        for member in document["endpoints"]?.members ?? [] {
            urls.append((pointer("/endpoints", member.name), member.value.string ?? ""))
        }
        var known = (current?.document["endpoints"]?.members ?? []).compactMap(\.value.string)
        if let current { known.append(current.issuer) }
        let documents = call.application.documents
        var errors: [FieldError] = []
        for (pointer, url) in urls where !known.contains(where: { sameBytes($0, url) }) {
            let isOpen = await documents.permits(url, for: owner == .platform ? nil : owner)
            guard !isOpen else { continue }
            errors.append(
                FieldError(
                    pointer, .invalid,
                    "leads into the internal network, which this server does not access; the "
                        + "server's administrator can \(remedy(for: url))"))
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    /// How the server's administrator can allow an internal address, as a text.
    private func remedy(for url: String) -> String {
        if url.utf8.starts(with: "http://".utf8) {
            return "set GATEHOUSE_ALLOW_LOOPBACK_PROVIDERS"
        }
        return owner == .platform
            ? "add the address to GATEHOUSE_OUTBOUND_ALLOW"
            : "add `<tenant's slug>=<address>` to GATEHOUSE_OUTBOUND_ALLOW"
    }

    private static let standardIssuers = [
        "google": "https://accounts.google.com", "github": "https://github.com",
        "password": "gatehouse",
    ]

    /// Throws 422 with every error in the settings. `names` is true if the body contains the
    /// endpoints. Only then are their names checked, so that stored endpoints with an unknown name
    /// do not prevent other changes.
    private func check(names: Bool) throws {
        var errors: [FieldError] = names ? unknownEndpoints + missingEndpoints : []
        if issuer.isEmpty {
            errors.append(FieldError("/issuer", .required, "is required for \(kind)"))
        } else if let fault = issuerFault {
            errors.append(FieldError("/issuer", .invalid, fault))
        }
        if kind == "cognito", !issuer.isEmpty, !Self.isPool(issuer) {
            errors.append(
                FieldError(
                    "/issuer", .invalid,
                    "must be a pool's id: letters, digits, - and _, at most 55"))
        }
        if ["oidc", "google", "github"].contains(kind), document["client_id"]?.string == nil {
            errors.append(FieldError("/client_id", .required, "is required for \(kind)"))
        }
        if kind == "password" {
            errors.append(FieldError("/kind", .notAllowed, "is built in and cannot be registered"))
        }
        for member in document["endpoints"]?.members ?? []
        where !(member.value.string.map(RelyingParty.isSafeAddress) ?? false) {
            errors.append(
                FieldError(
                    pointer("/endpoints", member.name), .invalid,
                    "must be an https URL without a user name, a fragment or braces; http is "
                        + "allowed only for 127.0.0.1, [::1] and localhost"))
        }
        for (index, item) in (document["upstreams"]?.array ?? []).enumerated()
        where RelyingParty.isTemplate(item["issuer"]?.string ?? "") {
            errors.append(
                FieldError(
                    "/upstreams/\(index)/issuer", .invalid,
                    "must have no braces: no token bears such an issuer; "
                        + RelyingParty.templateAdvice))
        }
        for (index, item) in (document["upstreams"]?.array ?? []).enumerated()
        where (item["kind"]?.string == nil) != (item["issuer"]?.string == nil) {
            errors.append(
                FieldError(
                    "/upstreams/\(index)", .invalid,
                    "must have both a kind and an issuer, or neither")
            )
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    private var unknownEndpoints: [FieldError] {
        let known = RelyingParty.Endpoint.allCases.map(\.rawValue)
        return (document["endpoints"]?.members ?? []).compactMap { member in
            guard !known.contains(where: { sameBytes($0, member.name) }) else { return nil }
            return FieldError(
                pointer("/endpoints", member.name), .invalid,
                "is not an endpoint; the names are \(known.joined(separator: ", "))")
        }
    }

    /// The errors for missing endpoints that a GitHub Enterprise Server needs. For an endpoint that
    /// receives the client's secret or a token, the default of github.com is not used.
    private var missingEndpoints: [FieldError] {
        guard kind == "github" else { return [] }
        var endpoints: [RelyingParty.Endpoint: String] = [:]
        for name in RelyingParty.Endpoint.allCases {
            endpoints[name] = document["endpoints"]?[name.rawValue]?.string
        }
        let party = RelyingParty(
            provider: .platform, kind: .github, issuer: issuer,
            clientID: document["client_id"]?.string ?? "", endpoints: endpoints)
        return party.missingGitHubEndpoints.map { name in
            FieldError(
                pointer("/endpoints", name.rawValue), .required,
                name == .tokenCheck
                    ? "is required if userinfo_endpoint does not end with /user"
                    : "is required if another host than github.com is set")
        }
    }

    /// Whether the text is a pool id: the UserPoolIdType of the Cognito API, except that the `_` in
    /// the middle is optional, since emulators omit it. A `/` is not allowed: the id would look
    /// like an upstream provider of another pool.
    private static func isPool(_ text: String) -> Bool {
        (1...55).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Throws 422 if a tenant opens the pool to callers on this machine; only the platform may do
    /// so. A tenant could otherwise register another tenant's pool and admit users of an emulator
    /// here.
    private func checkOpening(_ call: Call, _ current: ProviderRow?) throws {
        let opening = document["lambda_open"]
        guard opening?.string == "loopback", !call.principal.platform,
            opening != current?.document["lambda_open"]
        else { return }
        throw Problem.invalid([
            FieldError("/lambda_open", .notAllowed, "can be set only by the platform")
        ])
    }

    /// The settings with domains as A-labels and tenants as ids. `email_trust` becomes `none` if it
    /// is absent and the kind has this setting.
    private func settle(
        _ members: [JSONValue.Member], _ call: Call
    ) async throws -> [JSONValue.Member] {
        var members = members
        for index in members.indices {
            switch members[index].name {
            case "email_trust" where members[index].value.isNull:
                if kind == "oidc" || kind == "cognito" { members[index].value = .string("none") }
            case "domains":
                members[index].value = .array(
                    (members[index].value.array ?? []).map { value in
                        let name = value.string.flatMap { try? DomainName($0).ascii }
                        return name.map { .string($0) } ?? value
                    })
            case "client_tenants":
                var tenants: [JSONValue.Member] = []
                for member in members[index].value.members ?? [] {
                    let text = member.value.string ?? ""
                    guard let tenant = try await call.database.tenant(text),
                        owner == .platform || tenant.id == owner
                    else {
                        throw Problem.invalid([
                            FieldError(
                                pointer("/client_tenants", member.name), .invalid,
                                owner == .platform
                                    ? "must be a tenant that the credential may use"
                                    : "must be the provider's own tenant")
                        ])
                    }
                    tenants.append(.init(member.name, .string(tenant.id.description)))
                }
                members[index].value = .object(tenants)
            default: break
            }
        }
        return members
    }
}

extension ProviderRow {
    /// The provider as the issuer of id tokens that this server verifies; `nil` for a kind that
    /// issues none.
    package var relyingParty: RelyingParty? {
        guard let kind = ProviderKind(rawValue: kind), kind != .password else { return nil }
        var endpoints: [RelyingParty.Endpoint: String] = [:]
        for endpoint in RelyingParty.Endpoint.allCases {
            endpoints[endpoint] = document["endpoints"]?[endpoint.rawValue]?.string
        }
        return RelyingParty(
            provider: id, kind: kind, issuer: issuer, clientID: document["client_id"]?.string,
            otherAudiences: (document["client_tenants"]?.members ?? []).map(\.name),
            authorizedParties: (document["authorized_parties"]?.array ?? []).compactMap(\.string),
            endpoints: endpoints, owner: tenantID)
    }
}

/// Protects the provider at which operators sign in. A caller who changes its keys could sign in as
/// any operator.
enum OperatorsProvider {
    /// Throws 403 unless the caller may create owners of the platform. Through a change of this
    /// provider, any account there could become an owner.
    static func requireKeeper(_ call: Call) throws {
        guard Permissions.mayGrant(call.principal.subject, .owner, in: nil) else {
            throw Problem.forbidden(
                "Only a credential that may create owners of the platform may change where "
                    + "operators sign in.")
        }
    }

    /// Throws 403 if operators sign in at this provider and the caller may not create owners. The
    /// caller must have locked the provider's row.
    static func requireKeeper(of row: ProviderRow, _ call: Call) async throws {
        if try await isSet(row, call) { try requireKeeper(call) }
    }

    /// Throws 409 while operators sign in at this provider.
    static func requireUnused(_ row: ProviderRow, _ call: Call) async throws {
        guard try await isSet(row, call) else { return }
        throw Problem(
            .conflict,
            "Operators sign in at this provider; change that first (`/v1/operator-sign-in`).",
            status: 409)
    }

    private static func isSet(_ row: ProviderRow, _ call: Call) async throws -> Bool {
        try await call.database.operatorSignIn()?.provider == row.id
    }
}
