import Domain
import Postgres
import Text

/// The second names of a pool's users: the pool's own `sub` beside the name that a person chose.
extension Database {
    /// Binds the alias of a native user whose address is not proved yet to what they reserved.
    package func bindAlias(of call: ProvisioningCall, by actor: Actor) async throws {
        guard let alias = call.alias else { return }
        try await persons.alone(as: call.personKeys) {
            try await platformScope.change(by: actor) { change in
                let named = try await change.named(call)
                guard named.provider != nil else { return }
                try await FactsReading(self, call, named, change).lock()
                try await change.bind(alias, toReservationOf: named.attempt.identity)
            }
        }
    }
}

extension Database {
    /// Of a user with several federated names the first that is known.
    func knownFirst(
        _ named: NamedFacts, _ call: ProvisioningCall, _ change: Change
    ) async throws -> NamedFacts {
        guard !call.otherUserNames.isEmpty, let provider = named.provider,
            case .pool(_, let trigger, let userName) = call.provider
        else { return named }
        for name in [userName] + call.otherUserNames {
            guard
                let person = CognitoMapping.person(
                    pool: provider, trigger: trigger, userName: name)
            else { continue }
            let identity = person.identity
            let key = personKey(
                provider: identity.provider.rawValue, issuer: identity.issuer,
                subject: identity.subject)
            guard try await !change.query("SELECT directory_tenants_of(\(key))").isEmpty else {
                continue
            }
            var named = named
            named.attempt.identity = identity
            named.attempt.upstream = person.upstream
            return named
        }
        return named
    }
}

extension Change {
    fileprivate func bind(
        _ alias: String, toReservationOf key: IdentityKey
    ) async throws {
        let rows = try await query(
            """
            UPDATE reservations SET alias = \(alias)
            WHERE provider = \(key.provider.rawValue) AND issuer = \(key.issuer)
                AND subject = \(key.subject) AND expires_at > \(now)
                AND alias IS DISTINCT FROM \(alias)
            RETURNING tenant_id
            """)
        guard let row = rows.first else { return }
        let tenant = try row.get(0, as: UUID?.self) ?? .platform
        let place = try await switching(to: tenant)
        try await place.audit(
            "sign_up.bound", AuditTarget("identity", tenant, key.provider.rawValue))
    }

    /// The same of an identity that had none, at its first sign-in that tells of one.
    func bind(_ alias: String, to key: IdentityKey) async throws {
        let rows = try await query(
            """
            UPDATE identities SET alias = \(alias)
            WHERE tenant_id = \(tenant) AND provider = \(key.provider.rawValue)
                AND issuer = \(key.issuer) AND subject = \(key.subject) AND alias IS NULL
            RETURNING id
            """)
        guard let row = rows.first else { return }
        try await audit(
            "identity.bound", AuditTarget("identity", try row.get(0), key.provider.rawValue))
    }
}
