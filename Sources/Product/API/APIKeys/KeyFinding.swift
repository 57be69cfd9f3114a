import Domain
import JSON
import Storage
import Text

/// The verification of a presented key. A caller without the right gets `unknown` for all, and
/// nothing is looked up; a tenant's caller costs a look-up only for keys of that tenant, which the
/// key's own text names.
package struct KeyFinding: JSONView {
    package private(set) var verdict = APIKeyVerdict.unknown
    package private(set) var key: PresentedKey?
    /// Seconds until a key over its limit per minute is good again.
    private var retryAfter: Int64?

    /// Counted as a use if the key is active. `isLimited`: also against its rate limit.
    static func of(
        _ question: KeyQuestion, isLimited: Bool = true, _ call: Call
    ) async throws -> KeyFinding {
        var finding = KeyFinding()
        if let secret = question.secret, try await mayAsk(of: secret.locator, call) {
            let database = try call.services.database
            let found = try await database.fetchKey(locator: secret.locator, hash: secret.hash)
            finding = KeyFinding(
                found, question.terms, isLimited: isLimited, to: call.principal.subject,
                in: database, at: call.now)
        }
        call.services.onVerification(finding.verdict)
        return finding
    }

    /// The same for many, in their order.
    static func of(_ questions: [KeyQuestion], _ call: Call) async throws -> [KeyFinding] {
        let database = try call.services.database
        let locator = try await ownLocator(of: call)
        let secrets = questions.map(\.secret).map { secret in
            secret.flatMap { locator.covers($0.locator) ? $0 : nil }
        }
        let asked = secrets.compactMap(\.self)
        var found = try await call.services.batches.one(of: call.principal, asked.isEmpty) {
            try await database.fetchKeys(asked)
        }.makeIterator()
        return zip(questions, secrets).map { question, secret in
            var finding = KeyFinding()
            if secret != nil, let key = found.next() {
                finding = KeyFinding(
                    key, question.terms, to: call.principal.subject, in: database, at: call.now)
            }
            call.services.onVerification(finding.verdict)
            return finding
        }
    }

    /// The keys for which the caller may get more than `unknown`.
    private enum Locators {
        case all, none
        case one(String)

        func covers(_ locator: String) -> Bool {
            switch self {
            case .all: true
            case .none: false
            case .one(let own): sameBytes(own, locator)
            }
        }
    }

    private static func ownLocator(of call: Call) async throws -> Locators {
        let caller = call.principal.subject
        guard Permissions.permits(caller, .verifyKeys, in: caller.tenantID) == .allowed else {
            return .none
        }
        guard let home = caller.tenantID else { return .all }
        let tenant = try await call.services.database.fetchTenant(home.description)
        return tenant.map { .one($0.locator) } ?? .none
    }

    private static func mayAsk(of locator: String, _ call: Call) async throws -> Bool {
        try await ownLocator(of: call).covers(locator)
    }

    private init() {}

    /// `found`: nil if no key has the secret. Counted as a use if the key is active.
    package init(
        _ found: PresentedKey?, _ terms: KeyTerms, isLimited: Bool = true,
        to principal: Principal, in database: borrowing Database, at now: Timestamp
    ) {
        let facts = found?.facts(scopes: terms.scopes, ip: terms.ip, origin: terms.origin)
        let outcome = APIKeyVerdict.of(facts, now: now)
        guard let found,
            Permissions.permits(principal, .verifyKeys, in: found.home) == .allowed
        else { return }
        verdict = outcome
        guard outcome == .valid else {
            key = found
            return
        }
        guard !isLimited || database.keyUses.isWithinLimit(found, at: now) else {
            verdict = .rateLimited
            retryAfter = database.secondsOfMinuteLeft
            return
        }
        database.keyUses.note(found, at: now, ip: terms.ip, isVerified: true)
        key = found
    }

    package func write(to json: inout JSONWriter) {
        json.object {
            guard verdict == .valid, let key else {
                $0.member("valid", false)
                $0.member("code", verdict.rawValue)
                if let retryAfter { $0.member("retry_after", Int(retryAfter)) }
                return
            }
            $0.member("valid", true)
            $0.member("key_id", key.id)
            $0.member("tenant_id", key.home)
            $0.member("name", key.name)
            $0.member("environment", key.environment)
            $0.object("owner") {
                $0.member("type", key.ownerType)
                $0.member("id", key.ownerUser ?? key.home)
            }
            $0.member("scopes", key.scopes)
            $0.member("expires_at", key.expiresAt)
            if let id = key.externalID { $0.member("external_id", id) }
            if let attributes = key.attributes { $0.member("attributes", stored: attributes) }
        }
    }
}

/// The verdicts of many.
struct KeyFindings: JSONView {
    var results: [KeyFinding]

    func write(to json: inout JSONWriter) { json.object { $0.member("results", results) } }
}

extension PresentedKey {
    /// Nil: the platform's.
    var home: UUID? { tenant == .platform ? nil : tenant }
}
