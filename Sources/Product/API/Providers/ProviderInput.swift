import Domain
import Federation
import JSON
import Storage
import Text

/// A body's provider settings, validated and normalised.
struct ProviderInput {
    var kind: String
    var name: String
    var issuer: String
    var document: JSONValue
    var secret: ProviderSecret
    /// The platform confirms a pool; a tenant cannot prove that a pool's id is its own.
    var isConfirmed: Bool

    /// The provider's owner; the nil tenant: the platform.
    private let owner: UUID

    /// `current` nil for a creation. 422 if a kind lacks a required setting.
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
        try check()
        try checkSecret(current)
        try checkOpening(call, isSame ? current : nil)
        document = .object(try await settle(members, call))
    }

    private var issuerFault: String? {
        switch kind {
        case "cognito" where !RelyingParty.isPoolID(issuer):
            "must be a user pool's id, such as eu-central-1_aBc123"
        case "oidc" where !RelyingParty.isIssuerAddress(issuer),
            "google" where !RelyingParty.isIssuerAddress(issuer),
            "github" where !RelyingParty.isIssuerAddress(issuer):
            "must be an https URL without a user, a query and a fragment; http is for 127.0.0.1, "
                + "[::1] and localhost alone"
        default: nil
        }
    }

    /// The issuer and the endpoints receive the secret: changing them requires knowing it.
    private func checkSecret(_ current: ProviderRow?) throws {
        guard let current, current.hasSecret, case .keep = secret else { return }
        let isMoved =
            !sameBytes(issuer, current.issuer)
            || document["endpoints"] != (current.document["endpoints"] ?? .object([]))
        guard isMoved else { return }
        throw Problem.invalid([
            FieldError(
                "/secret", .required,
                "is needed again where the issuer or an endpoint changes; null removes it")
        ])
    }

    private static let standardIssuers = [
        "google": "https://accounts.google.com", "github": "https://github.com",
        "password": "gatehouse",
    ]

    private func check() throws {
        var errors: [FieldError] = []
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
            errors.append(FieldError("/kind", .notAllowed, "is built in and not registered"))
        }
        for member in document["endpoints"]?.members ?? []
        where !(member.value.string.map(RelyingParty.isSafeAddress) ?? false) {
            errors.append(
                FieldError(
                    pointer("/endpoints", member.name), .invalid,
                    "must be an https URL without a user and a fragment; http is for 127.0.0.1, "
                        + "[::1] and localhost alone"))
        }
        for (index, item) in (document["upstreams"]?.array ?? []).enumerated()
        where (item["kind"]?.string == nil) != (item["issuer"]?.string == nil) {
            errors.append(
                FieldError(
                    "/upstreams/\(index)", .invalid, "must have both a kind and an issuer, or none")
            )
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    /// UserPoolIdType of the Cognito API, without requiring its `_` in the middle, which emulators
    /// omit. With a `/` it would read as another pool's upstream.
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

    /// Only the platform may open a pool to this machine's processes: otherwise a tenant that named
    /// another's pool would admit the users of an emulator here.
    private func checkOpening(_ call: Call, _ current: ProviderRow?) throws {
        let opening = document["lambda_open"]
        guard opening?.string == "loopback", !call.principal.platform,
            opening != current?.document["lambda_open"]
        else { return }
        throw Problem.invalid([
            FieldError("/lambda_open", .notAllowed, "is set by the platform's operators")
        ])
    }

    /// Domains as A-labels, `email_trust` `none` by default if the kind has it, tenants by id.
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
                    guard let tenant = try await call.services.database.tenant(text),
                        owner == .platform || tenant.id == owner
                    else {
                        throw Problem.invalid([
                            FieldError(
                                pointer("/client_tenants", member.name), .invalid,
                                owner == .platform
                                    ? "must be a tenant" : "must be the provider's own tenant")
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
