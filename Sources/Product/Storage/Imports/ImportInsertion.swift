import Domain
import JSON
import Postgres
import Text

/// As `insertUser`, for the new users of a batch: one statement for each table. If another transaction
/// took an address, an external id or a sign-in since it was found free, a statement fails, and the
/// batch is tried again.
extension Change {
    func insertUsers(
        _ candidates: [ImportCandidate], by rules: ImportRules, _ schema: AttributeSchema,
        in database: Database
    ) async throws -> [JobResult] {
        guard !candidates.isEmpty else { return [] }
        let users = candidates.map(newUser)
        insertRows(users, of: candidates.map(\.user))
        putInSearch(users)
        queryLater(
            """
            SELECT directory_add_people(\(users.map { database.personKey(emailKey: $0.new.emailKey) }))
            """)
        let identities = zip(users, candidates).flatMap { user, candidate in
            candidate.user.identities.map {
                (user: user.new.id, identity: $0, isVerified: candidate.user.emailVerified)
            }
        }
        if !identities.isEmpty { try await insertIdentities(identities, by: rules, database) }
        indexAll(users, by: schema)
        audit(
            .userCreated,
            ofEach: users.map { (user: (new: NewUser, createdAt: Timestamp)) in
                var changes = AuditChanges()
                changes.add("role", nil, user.new.role)
                changes.add("status", nil, user.new.status)
                changes.add("external_id", nil, user.new.externalID)
                if user.new.isKept { changes.add("keep", .bool(false), .bool(true)) }
                changes.add(AttributePair(), user.new.attributes)
                return (AuditTarget("user", user.new.id, user.new.email), changes)
            })
        return zip(candidates, users).map { candidate, user in
            JobResult(
                row: candidate.row, .done, detail: candidate.user.note, targetType: "user",
                targetID: user.new.id, effect: ImportEffect.created.document)
        }
    }

    /// With ids of version 4, as everybody's: contracts show them, and apps' models refuse others.
    private func newUser(_ candidate: ImportCandidate) -> (new: NewUser, createdAt: Timestamp) {
        let user = candidate.user
        var new = NewUser(
            email: user.email.original, emailKey: user.email.key, name: user.name,
            role: user.role ?? .member,
            status: user.isSuspended ? .suspended : user.begins,
            source: .import, emailVerifiedAt: user.emailVerified ? now : nil,
            passwordHash: user.passwordHash, externalID: user.externalID,
            attributes: user.attributes)
        new.isKept = user.isKept ?? false
        if let id = candidate.fileID { new.id = id }
        return (new, min(user.createdAt ?? now, now))
    }

    private func insertRows(
        _ users: [(new: NewUser, createdAt: Timestamp)], of imported: [ImportedUser]
    ) {
        let new = users.map(\.new)
        let never = Self.endOfTime
        queryLater(
            """
            INSERT INTO users (tenant_id, id, email, email_key, name, role, status, source,
                email_verified_at, password_hash, password_changed_at, external_id,
                public_attributes, private_attributes, status_before, created_at, updated_at,
                resumed_at, password_awaited, keep)
            SELECT anchor.id, u.id, u.email, u.email_key, nullif(u.name, ''), u.role, u.status,
                'import', nullif(u.verified_at, \(never)), nullif(u.password, ''),
                CASE WHEN u.password <> '' THEN \(now)::timestamptz END, nullif(u.external_id, ''),
                u.shown, u.kept, CASE WHEN u.status = 'suspended' THEN u.before END, u.created_at,
                \(now), \(now), u.awaited <> '', u.keep <> ''
            FROM \(SQL.anchor(of: tenant)), unnest(\(new.map(\.id))::uuid[], \(new.map(\.email))::text[],
                \(new.map(\.emailKey))::text[], \(new.map { $0.name ?? "" })::text[],
                \(new.map(\.role.rawValue))::text[], \(new.map(\.status.rawValue))::text[],
                \(new.map { $0.emailVerifiedAt ?? never })::timestamptz[],
                \(new.map { $0.passwordHash ?? "" })::text[],
                \(new.map { $0.externalID ?? "" })::text[],
                \(new.map(\.attributes.public.text))::text[],
                \(new.map(\.attributes.private.text))::text[],
                \(users.map(\.createdAt))::timestamptz[],
                \(imported.map { $0.awaitsPassword ? "yes" : "" })::text[],
                \(imported.map(\.begins.rawValue))::text[],
                \(new.map { $0.isKept ? "yes" : "" })::text[])
                AS u (id, email, email_key, name, role, status, verified_at, password, external_id,
                    shown, kept, created_at, awaited, before, keep)
            WHERE anchor.id = \(tenant)
            """)
    }

    private func putInSearch(_ users: [(new: NewUser, createdAt: Timestamp)]) {
        queryLater(
            """
            SELECT user_search_put_all(\(tenant), \(users.map(\.new.id)),
                \(users.map { Self.searchText($0.new.emailKey, $0.new.name) }),
                \(users.map(\.createdAt)))
            """)
    }
}

extension ImportedUser {
    /// Active if the importer brought something to sign in with; else the user waits for the first
    /// sign-in, as one by an operator does.
    fileprivate var begins: User.Status {
        passwordHash != nil || !identities.isEmpty ? .active : .pending
    }
}
