import Cryptography
import Domain
import JSON
import Storage
import Text

/// A key somebody presented, and what for.
struct KeyQuestion {
    var key: String
    var scopes: [String] = []
    var ip: String?
    var origin: String?

    init(key: String) {
        self.key = key
    }

    /// Nil where no key can look so.
    fileprivate var secret: (locator: String, hash: [UInt8])? {
        APIKeySecret(key).map { ($0.locator, SHA256.hash(Array($0.text.utf8))) }
    }

    init(_ input: Input) throws {
        key = try input.string("key")
        scopes = input.optionalStrings("scopes") ?? []
        ip = input.optionalString("ip")
        origin = input.optionalString("origin")
    }
}

/// What is found out about a presented key. The work is the same for every caller; whoever may not
/// ask is told `unknown` at its end.
struct KeyFinding {
    var verdict = APIKeyVerdict.unknown
    var key: PresentedKey?

    /// Counted as a use of the key where it is good.
    static func of(_ question: KeyQuestion, _ call: Call) async throws -> KeyFinding {
        var finding = KeyFinding()
        if let secret = question.secret {
            let database = try call.services.database
            let found = try await database.knownKey(locator: secret.locator, hash: secret.hash)
            finding = KeyFinding(found, secret.hash, question, call, database.keyUses)
        }
        call.services.onVerification(finding.verdict)
        return finding
    }

    /// The same for many, in their order.
    static func of(_ questions: [KeyQuestion], _ call: Call) async throws -> [KeyFinding] {
        let database = try call.services.database
        let secrets = questions.map(\.secret)
        var found = try await database.knownKeys(secrets.compactMap(\.self)).makeIterator()
        return zip(questions, secrets).map { question, secret in
            var finding = KeyFinding()
            if let secret, let key = found.next() {
                finding = KeyFinding(key, secret.hash, question, call, database.keyUses)
            }
            call.services.onVerification(finding.verdict)
            return finding
        }
    }

    private init() {}

    private init(
        _ found: PresentedKey?, _ hash: [UInt8], _ question: KeyQuestion, _ call: Call,
        _ uses: KeyUses
    ) {
        let facts = found?.facts(
            presented: hash, scopes: question.scopes, ip: question.ip, origin: question.origin)
        let judged = APIKeyVerdict.of(facts, now: call.now)
        guard let found,
            Permissions.permits(call.domainPrincipal, .verifyKeys, in: found.home) == .allowed
        else { return }
        verdict = judged
        guard judged == .valid else {
            key = found
            return
        }
        guard uses.isWithinLimit(found, at: call.now) else {
            verdict = .rateLimited
            return
        }
        uses.note(found, at: call.now, ip: question.ip, isVerified: true)
        key = found
    }

    var json: JSONValue {
        guard verdict == .valid, let key else {
            return .object([
                .init("valid", .bool(false)), .init("code", .string(verdict.rawValue)),
            ])
        }
        return .object([
            .init("valid", .bool(true)), .init("key_id", .uuid(key.id)),
            .init("tenant_id", .uuid(key.home)), .init("name", .string(key.name)),
            .init("environment", .string(key.environment)),
            .init(
                "owner",
                .object([
                    .init("type", .string(key.ownerType)),
                    .init("id", .uuid(key.ownerUser ?? key.home)),
                ])),
            .init("scopes", .strings(key.scopes)), .init("expires_at", .time(key.expiresAt)),
        ])
    }
}

extension PresentedKey {
    /// Nil: the platform's.
    var home: UUID? { tenant == .platform ? nil : tenant }
}
