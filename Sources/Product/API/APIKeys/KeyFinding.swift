import Cryptography
import Domain
import JSON
import Storage
import Text

/// What is found out about a presented key. The work is the same for every caller; whoever may not
/// ask is told `unknown` at its end.
package struct KeyFinding: JSONView {
    package private(set) var verdict: APIKeyVerdict
    package private(set) var key: PresentedKey?

    /// A good key is counted as used. `found`: the key whose secret has this hash; nil where there
    /// is none.
    package init(
        of found: PresentedKey?, presented hash: [UInt8], scopes: [String] = [], ip: String? = nil,
        origin: String? = nil, to principal: Domain.Principal, in database: Database,
        at now: Timestamp
    ) {
        verdict = .unknown
        let judged = APIKeyVerdict.of(
            found?.facts(presented: hash, scopes: scopes, ip: ip, origin: origin), now: now)
        guard let found,
            Permissions.permits(principal, .verifyKeys, in: found.home) == .allowed
        else { return }
        verdict = judged
        key = found
        guard judged == .valid else { return }
        guard database.keyUses.isWithinLimit(found, at: now) else {
            verdict = .rateLimited
            key = nil
            return
        }
        database.keyUses.note(found, at: now, ip: ip, isVerified: true)
    }

    init(
        _ text: String, _ call: Call, scopes: [String], ip: String?, origin: String?
    ) async throws {
        let database = try call.services.database
        var found: PresentedKey?
        var hash: [UInt8] = []
        if let secret = APIKeySecret(text) {
            hash = SHA256.hash(Array(secret.text.utf8))
            found = try await database.knownKey(locator: secret.locator, hash: hash)
        }
        self.init(
            of: found, presented: hash, scopes: scopes, ip: ip, origin: origin,
            to: call.domainPrincipal, in: database, at: call.now)
    }

    package func write(to json: inout JSONWriter) {
        json.object {
            guard verdict == .valid, let key else {
                $0.member("valid", false)
                $0.member("code", verdict.rawValue)
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
        }
    }
}

extension PresentedKey {
    /// Nil: the platform's.
    var home: UUID? { tenant == .platform ? nil : tenant }
}
