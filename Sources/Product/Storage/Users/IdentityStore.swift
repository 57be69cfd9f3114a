import Cryptography
import Domain
import Postgres
import Text

/// Links identities to users and unlinks them.
extension Change {
    /// Links an identity to a user, whose row must be locked. Throws 409 `identity_conflict`, with
    /// the id of the user who has the identity, if it is linked already. `isAssertedByTenant` means
    /// that it counts only in this tenant. `isManual` means that an operator links it, so that it
    /// may enter the tenant again after an earlier unlinking. `isTold` notifies the user by mail.
    package func linkIdentity(
        _ user: UserRow, provider: String, issuer: String, subject: String, email: String?,
        isAssertedByTenant: Bool, isManual: Bool = false, isTold: Bool = true
    ) async throws -> (user: UserRow, identity: UUID) {
        try require(user, user.status != .deleted)
        let isPools = sameBytes(provider, ProviderKind.cognito.rawValue)
        let issuer = isPools ? CognitoMapping.canonical(issuer: issuer) : issuer
        let id = UUID.random()
        let made = try await query(
            """
            INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email,
                created_at, tenants_word, linked_by_type, linked_by_id)
            VALUES (\(tenant), \(id), \(user.id), \(provider), \(issuer), \(subject), \(email),
                \(now), \(isAssertedByTenant), \(isManual ? actor.type : nil),
                \(isManual ? actor.id : nil))
            ON CONFLICT (tenant_id, provider, issuer, subject) DO NOTHING RETURNING id
            """)
        guard made.count == 1 else {
            let holder = try await query(
                """
                SELECT user_id FROM identities WHERE tenant_id = \(tenant)
                    AND provider = \(provider) AND issuer = \(issuer) AND subject = \(subject)
                """)
            throw StorageFailure.conflict(
                code: "identity_conflict", detail: "The sign-in is linked to a user already.",
                id: try holder.first?.get(0))
        }
        let key = database.personKey(provider: provider, issuer: issuer, subject: subject)
        try await query("SELECT directory_add_person(\(key))")
        if isManual { try await endBar(on: (provider, issuer, subject)) }
        if isTold { try await tellOfSignIn(at: provider, user.id, user.email) }
        try await audit(.identityLinked, AuditTarget("identity", id, "\(provider) \(subject)"))
        return (try await touch(user), id)
    }

    /// Mails the user that an identity was added, and cancels a pending change of the address,
    /// since the same attacker may have caused both. A password identity is not mailed here, since
    /// passwords have their own mail.
    package func tellOfSignIn(
        at provider: String, _ user: UUID, _ email: String
    ) async throws {
        try await endEmailChange(of: user)
        guard database.options.sendsMail, provider != ProviderKind.password.rawValue else { return }
        try await post(
            OutgoingMail(
                .signInAdded, to: email, tenantName: try await tenantName(), message: provider,
                expiresAt: now.adding(seconds: Self.noticeSeconds)),
            about: UUID.random(), of: [user])
    }

    /// Deletes the identity and ends the user's sessions. With `isBarred` the identity may no
    /// longer enter the tenant.
    package func unlinkIdentity(
        _ user: UserRow, _ id: UUID, isBarred: Bool
    ) async throws {
        guard let identity = user.identities.first(where: { $0.id == id }) else {
            throw StorageFailure.notFound("identity")
        }
        try await query(
            """
            DELETE FROM identities WHERE tenant_id = \(tenant) AND id = \(id)
                AND user_id = \(user.id)
            """)
        try await invalidate(identity)
        if isBarred { try await bar(identity, of: user) }
        if identity.provider == "password" {
            try await query(
                """
                UPDATE users SET password_hash = NULL, password_awaited = false
                WHERE tenant_id = \(tenant) AND id = \(user.id)
                """)
            try await endResets(of: user.id)
        }
        try await query("DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(user.id)")
        let target = AuditTarget("identity", id, "\(identity.provider) \(identity.subject)")
        try await audit(.identityUnlinked, target)
        _ = try await touch(user)
    }

    /// Bars the identity from the tenant from now on. An invite that is sent at this very moment
    /// does not readmit it.
    func bar(_ identity: IdentityRow, of user: UserRow) async throws(PostgresError) {
        try await query(
            """
            INSERT INTO barred_identities (tenant_id, provider, issuer, subject, user_id, barred_at)
            VALUES (\(tenant), \(identity.provider), \(identity.issuer), \(identity.subject),
                \(user.id), \(now))
            ON CONFLICT (tenant_id, provider, issuer, subject) DO UPDATE
            SET user_id = excluded.user_id, barred_at = excluded.barred_at
            """)
    }

    func endBar(
        on identity: (provider: String, issuer: String, subject: String)
    ) async throws(PostgresError) {
        try await query(Self.endOfBar(on: identity, in: tenant))
    }

    static func endOfBar(
        on identity: (provider: String, issuer: String, subject: String), in tenant: UUID
    ) -> SQL {
        """
        DELETE FROM barred_identities
        WHERE tenant_id = \(tenant) AND provider = \(identity.provider)
            AND issuer = \(identity.issuer) AND subject = \(identity.subject)
        """
    }

    /// Creates the user's password identity, for a password that was not set through an invite.
    /// Returns the identity's subject.
    package func linkPassword(of user: UUID) async throws -> String {
        let user = try await lockUser(user)
        if let subject = user.passwordSubject { return subject }
        let subject = user.id.description
        _ = try await linkIdentity(
            user, provider: ProviderKind.password.rawValue, issuer: Self.passwordIssuer,
            subject: subject, email: user.email, isAssertedByTenant: false)
        return subject
    }

    static let passwordIssuer = "gatehouse"

    /// Raises the user's version after a change of an identity, since a response about the user
    /// shows the identities.
    private func touch(_ user: UserRow) async throws -> UserRow {
        let rows = try await query(
            """
            UPDATE users SET version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id) RETURNING \(UserRow.columns(of: tenant))
            """)
        return try rows.only(UserRow.init)
    }
}

extension UserRow {
    /// The subject of the user's password identity, as the rules use it; `nil` without a password.
    package var passwordSubject: String? {
        identities.first { sameBytes($0.provider, ProviderKind.password.rawValue) }?.subject
    }
}

/// The keys by which the directory finds a person's tenants. They are HMACs, so that a dump of the
/// directory names no person; a leading byte in what is hashed distinguishes addresses from
/// identities. A key has 36 bytes: the id of the secret key, and the HMAC. During a rotation of the
/// secret key, a person has two keys, first the one that is stored; the directory's functions look
/// for both.
extension Database {
    /// The number of bytes of one key: the id of the secret key, and 32 bytes of HMAC-SHA-256.
    static let personKeyLength = SecretKeys.idLength + 32

    /// The keys of an address, from its email key.
    package func personKey(emailKey: String) -> [UInt8] {
        directory.named([1] + Array(emailKey.utf8))
    }

    /// The keys of an identity.
    package func personKey(provider: String, issuer: String, subject: String) -> [UInt8] {
        var message: [UInt8] = [2]
        for part in [provider, issuer, subject] {
            message += Array(part.utf8)
            message.append(0)
        }
        return directory.named(message)
    }
}
