import API
import Domain
import HTTP
import Storage

extension Authenticator {
    /// Throws 400 if the query contains one of our keys. The key is in access logs by then, so if
    /// it still works the leak is audited for its owner.
    func refuseKeyInAddress(_ request: Request) async throws {
        for pair in request.query.split(separator: "&") {
            guard let mark = pair.utf8.firstIndex(of: UInt8(ascii: "=")),
                let secret = APIKeySecret(pair[pair.utf8.index(after: mark)...])
            else { continue }
            let hash = KeyHash(of: secret.text)
            if let key = try await database.fetchKey(locator: secret.locator, hash: hash),
                key.revokedAt == nil
            {
                let actor = Actor(
                    type: "system", id: "gatehouse", name: "Gatehouse", requestID: request.id,
                    ip: request.remoteAddress)
                try await database.scope(key.tenant).change(by: actor) {
                    try await $0.audit(.apiKeyLeaked, AuditTarget("api_key", key.id, key.name))
                }
            }
            throw Problem(.invalidRequest, "A credential must not stand in the address.")
        }
    }
}
