import Cryptography
import HTTP
import Storage
import Text

/// Stores responses for `Idempotency-Key` in the database for 24 hours, for all replicas. A
/// response with a one-time secret is encrypted. The encryption key is derived from the server's
/// secret and the header's value. Only a hash of that value is stored.
struct ResponseStore: Sendable {
    private static let plain: UInt8 = 0
    private static let sealed: UInt8 = 1

    let database: Database
    let keys: DerivedKeys

    init(database: Database) {
        self.database = database
        keys = database.secrets.derive("kept answers")
    }

    func begin(_ claim: IdempotencyClaim) async throws -> IdempotencyClaim.State {
        switch try await database.claimIdempotency(Self.row(claim)) {
        case .fresh:
            // The quota is checked after the claim is stored, so that a repeated request gets its
            // stored response even if the caller is over its quota.
            if try await database.isOverStoredResponses(Self.principal(claim)) {
                try await abandon(claim)
                return .overQuota(retryAfter: IdempotencyQuota.retryAfter)
            }
            return .fresh
        case .inProgress: return .inProgress
        case .mismatch: return .mismatch
        case .kept(let bytes):
            // The change is committed, but the first request may still be waiting until the other
            // replicas have acknowledged it. So wait for their acknowledgements here, too.
            try await database.awaitEarlierInvalidations(of: Self.row(claim).tenant)
            let answer = Array(bytes.dropFirst())
            guard bytes.first == Self.sealed else { return .replay(answer) }
            return .replay(try sealer(claim).open(answer, context: Self.context(claim)))
        }
    }

    /// Stores the response and commits `change` in one transaction. `sealed` is true if the
    /// response contains a one-time secret and must be encrypted.
    func complete(
        _ claim: IdempotencyClaim, answer: [UInt8], sealed: Bool, with change: HeldChange
    ) async throws {
        let bytes =
            sealed
            ? [Self.sealed] + (try sealer(claim).seal(answer, context: Self.context(claim)))
            : [Self.plain] + answer
        try await database.storeResponse(bytes, of: Self.row(claim), with: change)
        database.storedResponses.add(bytes.count, of: Self.principal(claim), at: database.clock())
    }

    /// Releases the key so that it can be used again. The response (401, 429, 5xx) is not stored.
    func abandon(_ claim: IdempotencyClaim) async throws {
        try await database.dropClaim(Self.row(claim))
    }

    private func sealer(_ claim: IdempotencyClaim) -> Sealer {
        Sealer(keys.derive(salt: Array(claim.key.utf8), "kept answer"))
    }

    /// The context under which a response is encrypted. It binds the response to its request, so
    /// that another request cannot decrypt it.
    private static func context(_ claim: IdempotencyClaim) -> [UInt8] {
        Array("\(principal(claim)) \(claim.method.rawValue) \(claim.path)".utf8)
    }

    private static func principal(_ claim: IdempotencyClaim) -> String {
        "\(claim.principal.kind.rawValue) \(claim.principal.id?.description ?? "")"
    }

    private static func row(_ claim: IdempotencyClaim) -> IdempotencyRow {
        IdempotencyRow(
            tenant: claim.tenant ?? .platform, principal: principal(claim),
            method: claim.method.rawValue, path: claim.path,
            keyHash: SHA256.hash(Array(claim.key.utf8)), bodyHash: SHA256.hash(claim.body),
            claim: claim.id)
    }
}
