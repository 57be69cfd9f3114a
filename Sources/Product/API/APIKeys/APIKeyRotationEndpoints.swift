import Domain
import HTTP
import JSON
import Storage
import Text

/// Rotation: the id stays, the secret changes, and the old secret stays valid for a grace period.
enum APIKeyRotationEndpoints {
    static func endpoints(_ collection: APIKeyCollection) -> [Endpoint] {
        [
            rotate(collection),
            verb(collection, "cut", "Ends the old secret's grace period now.") { row, now in
                try refusing { () throws(APIKeyRotation.Failure) in
                    try APIKeyRotation.cut(row.key, now: now)
                }
            },
            verb(
                collection, "rollback",
                "Ends the new secret, and makes the old secret the only valid one again. This is "
                    + "possible only in the grace period of the old secret."
            ) {
                row, now in
                try refusing { () throws(APIKeyRotation.Failure) in
                    try APIKeyRotation.rollBack(row.key, now: now)
                }
            },
        ]
    }

    private static func rotate(_ collection: APIKeyCollection) -> Endpoint {
        let grace = FieldShape.optional(
            "grace_seconds", .integer(0...Int(APIKeyRotation.graces.upperBound)),
            "How long the old secret remains valid, in seconds; 0 if absent.")
        return Endpoint(
            .post, "\(collection.path)/{id}/rotate", id: collection.operation("rotate"),
            tag: "API keys",
            summary: "Gives a key a new secret. The response contains the new secret, which is "
                + "never shown again. The old secret stays valid for `grace_seconds`.",
            access: collection.access(.writeKeys),
            body: .json(ObjectShape("APIKeyRotation", [grace])),
            answers: [
                .ok(APIKeyRow.secretShape).showing([
                    "status": .string("grace"),
                    "previous": .object([
                        .init("last4", .string("8Wd1")),
                        .init("until", .string("2026-11-20T10:30:00.000Z")),
                        .init("last_used_at", .null), .init("uses", .int(0)),
                    ]),
                ])
            ], problems: [.conflict], idempotent: true,
            secret: true, exists: { try await collection.exists($0) },
            handle: { call in
                guard let locator = try await collection.scope(call).keyLocator(),
                    let pair = Secrets(locator)
                else { throw Problem.notFound("tenant") }
                let grace = Int64(call.input.optionalInt("grace_seconds") ?? 0)
                let tenant = try collection.tenantID(call)
                let row = try await collection.change(call, .writeKeys, action: .apiKeyRotated) {
                    row, now in
                    // The caller must be allowed to grant the key's scopes, since a new secret
                    // gives its holder these scopes, as a new key would.
                    try APIKeyInput.requireGiveable(row.key.scopes, call, tenant)
                    let secret = pair.of(row.key.environment).stored
                    var next = try refusing { () throws(APIKeyRotation.Failure) in
                        try APIKeyRotation.rotate(row.key, to: secret, grace: grace, now: now)
                    }
                    next.isGivenBefore = false
                    return (next, isStronger: true)
                }
                let secret = pair.of(row.key.environment)
                var answer = Response.ok(row.json(at: call.now).revealing(secret), etag: row.etag)
                answer.set("cache-control", "no-store")
                return answer
            })
    }

    /// A new secret for each environment, live and test. Both are made in advance, since the key's
    /// environment is known only after the key is locked.
    private struct Secrets: Sendable {
        let live: APIKeySecret
        let test: APIKeySecret

        init?(_ locator: String) {
            guard let live = APIKeySecret.make(environment: .live, locator: locator),
                let test = APIKeySecret.make(environment: .test, locator: locator)
            else { return nil }
            self.live = live
            self.test = test
        }

        func of(_ environment: APIKeySecret.Environment) -> APIKeySecret {
            environment == .live ? live : test
        }
    }

    private static func verb(
        _ collection: APIKeyCollection, _ name: String, _ summary: String,
        _ body: @escaping @Sendable (APIKeyRow, Timestamp) throws -> APIKey
    ) -> Endpoint {
        Endpoint(
            .post, "\(collection.path)/{id}/\(name)", id: collection.operation(name),
            tag: "API keys",
            summary: summary, access: collection.access(.writeKeys),
            answers: [.ok(APIKeyRow.shape)],
            problems: [.conflict], idempotent: true, exists: { try await collection.exists($0) },
            handle: { call in
                let isCut = name == "cut"
                let tenant = try collection.tenantID(call)
                let row = try await collection.change(
                    call, .writeKeys, action: isCut ? .apiKeyCut : .apiKeyRolledBack
                ) { row, now in
                    // If the old secret stays valid for longer, the caller must be allowed to grant
                    // the key's scopes, as for a new key.
                    if !isCut { try APIKeyInput.requireGiveable(row.key.scopes, call, tenant) }
                    return (try body(row, now), isStronger: !isCut)
                }
                return .ok(row.json(at: call.now), etag: row.etag)
            })
    }

    private static func refusing(
        _ change: () throws(APIKeyRotation.Failure) -> APIKey
    ) throws -> APIKey {
        do {
            return try change()
        } catch {
            switch error {
            case .notLive: throw Problem(.conflict, "The key is revoked or expired.")
            case .nothingInGrace: throw Problem(.conflict, "No old secret is still working.")
            case .graceOutOfRange:
                throw Problem.invalid([
                    FieldError("/grace_seconds", .outOfRange, "must be from 0 to 604800 (7 days)")
                ])
            }
        }
    }
}
