import Cryptography
import HTTP
import JSON
import Storage
import Text

/// A person who was proved at a provider and still has to choose or to confirm: sealed in a cookie
/// for ten minutes, so that any replica can continue and the database stores nothing.
struct PendingSignIn: Sendable {
    var person: ProvedPerson
    /// The tenant of the sign-in; the platform's id if there is none yet.
    var tenant: UUID
    /// The account to which this identity is to be added, once that was proved too.
    var user: UUID?
    /// The hash of the link grant by which it is to be added, in place of that proof.
    var grantHash: [UInt8]?

    init(_ person: ProvedPerson, tenant: UUID, user: UUID? = nil) {
        self.person = person
        self.tenant = tenant
        self.user = user
    }

    /// nil if the request has none, or one that is expired or not ours.
    init?(_ request: Request, _ core: SignInCore) async throws {
        guard let text = HostedCookie.held.value(in: request),
            let sealed = Base64URL.decode(text),
            let plain = try? core.sealer.open(sealed, context: Self.context),
            let value = try? JSONValue(parsing: plain),
            let until = value["until"]?.int,
            core.database.clock().microseconds / 1_000_000 < Int64(until),
            let tenant = value["tenant"]?.string.flatMap({ UUID($0) }),
            let provider = value["provider"]?.string.flatMap({ UUID($0) }),
            let row = try await core.database.provider(provider, owner: nil),
            let subject = value["subject"]?.string
        else { return nil }
        person = ProvedPerson(
            provider: row, subject: subject, email: value["email"]?.string,
            emailVerified: value["verified"]?.bool, name: value["name"]?.string,
            hostedDomain: value["hosted_domain"]?.string, audience: value["audience"]?.string)
        person.otherEmails = (value["other_emails"]?.array ?? []).compactMap(\.string)
        switch value["token_time"] {
        case nil, .null: person.tokenTime = nil
        case let time? where time["begun"]?.int != nil:
            person.tokenTime = .begun(
                Timestamp(microseconds: Int64(time["begun"]?.int ?? 0)),
                authenticatedAt: time["asked"]?.int.map { Int64($0) })
        case let time?: person.tokenTime = time.int.map { .at(Int64($0)) } ?? .unknown
        }
        self.tenant = tenant
        user = value["user"]?.string.flatMap { UUID($0) }
        grantHash = value["grant"]?.string.flatMap { Base64URL.decode($0) }
    }

    /// The cookie's value, sealed so that only this server can read or write it.
    func sealed(_ core: SignInCore) throws -> String {
        func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
        let until = core.database.clock().microseconds / 1_000_000 + HostedCookie.seconds
        let value = JSONValue.object([
            .init("until", .int(Int(until))), .init("tenant", .string(tenant.description)),
            .init("user", text(user?.description)),
            .init("grant", text(grantHash.map { Base64URL.encode($0) })),
            .init("provider", .string(person.provider.id.description)),
            .init("subject", .string(person.subject)), .init("email", text(person.email)),
            .init("verified", person.emailVerified.map(JSONValue.bool) ?? .null),
            .init("name", text(person.name)), .init("hosted_domain", text(person.hostedDomain)),
            .init("audience", text(person.audience)), .init("token_time", tokenTime),
            .init("other_emails", .array(person.otherEmails.map(JSONValue.string))),
        ])
        return Base64URL.encode(try core.sealer.seal(value.encoded(), context: Self.context))
    }

    private var tokenTime: JSONValue {
        switch person.tokenTime {
        case nil: .null
        case .at(let seconds): .int(Int(seconds))
        case .begun(let time, let asked):
            .object([
                .init("begun", .int(Int(time.microseconds))),
                .init("asked", asked.map { .int(Int($0)) } ?? .null),
            ])
        case .unknown: .string("unknown")
        }
    }

    private static let context = Array("held person".utf8)
}
