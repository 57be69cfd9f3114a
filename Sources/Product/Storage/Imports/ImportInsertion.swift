import Domain
import JSON
import Postgres
import Text

extension Change {
    /// Imports one batch: at most `limit` rows after the row number `position`. New users are
    /// written together, with one statement for each table; existing users are updated one by one.
    package func importBatch(
        by rules: ImportRules, after position: Int, limit: Int
    ) async throws -> (results: [JobResult], isLast: Bool) {
        let rows = try await stagedRows(of: rules.id, after: position, limit: limit)
        var results: [JobResult] = []
        let facts = try await importFacts(rows, by: rules)
        let schema = try await attributeSchema().schema
        var new: [ImportCandidate] = []
        for (row, verdict) in zip(rows, try await verdicts(on: rows, facts, by: rules, schema)) {
            switch verdict {
            case .result(let result): results.append(result)
            case .create(let candidate): new.append(candidate)
            case .update(let candidate, let known):
                results.append(
                    try await result(ofRow: row.row) {
                        try await updateKnown(known, from: candidate, by: rules)
                    })
            }
        }
        results += try await insertUsers(new, by: rules, schema)
        return (results.sorted { $0.row < $1.row }, rows.count < limit)
    }

    /// Decides what will happen to each row, and claims the ids that new users take over from the
    /// file. An id is no longer free if another import, into any tenant, has claimed it in the
    /// meantime.
    private func verdicts(
        on rows: [StagedRow], _ facts: ImportFacts, by rules: ImportRules, _ schema: AttributeSchema
    ) async throws -> [ImportFacts.Verdict] {
        var facts = facts
        let verdicts = rows.map { facts.verdict(on: $0, by: rules, schema) }
        let wanted = verdicts.compactMap(\.fileID)
        guard !wanted.isEmpty else { return verdicts }
        let claimed = try await query("SELECT directory_claim_ids(\(wanted))")
            .all { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        guard claimed.count < wanted.count else { return verdicts }
        facts.free.subtract(Set(wanted).subtracting(claimed))
        return rows.map { facts.verdict(on: $0, by: rules, schema) }
    }
}

/// What an existing user got from an import and did not have before.
struct ImportedSecrets: Sendable {
    var password = false
    var proof = false
    /// Whether the import made a user active who was waiting for a first sign-in.
    var activation = false
}

/// What the undo of one row needs to know.
enum ImportEffect: Sendable {
    case created
    /// The row updated an existing user. The values are the user before the import, what the import
    /// set, the ids of the sign-ins that the import linked, and the user's version after the
    /// import.
    case updated(UserRow, secrets: ImportedSecrets, identities: [UUID], version: Int)

    var document: JSONValue {
        switch self {
        case .created: .object([.init("created", .bool(true))])
        case .updated(let user, let secrets, let identities, let version):
            .object([
                .init("version", .int(version)),
                .init("name", user.name.map(JSONValue.string) ?? .null),
                .init("role", .string(user.role.rawValue)),
                .init("keep", .bool(user.isKept)),
                .init("external_id", user.externalID.map(JSONValue.string) ?? .null),
                .init("public_attributes", .string(user.attributes.public.text)),
                .init("private_attributes", .string(user.attributes.private.text)),
                .init("password", .bool(secrets.password)), .init("proof", .bool(secrets.proof)),
                .init("activation", .bool(secrets.activation)),
                .init("signed_in", user.lastSignInAt.map { .string($0.description) } ?? .null),
                .init("identities", .array(identities.map { .string($0.description) })),
            ])
        }
    }
}

/// Does what `insertUser` does, for all new users of a batch, with one statement for each table. If
/// another transaction has taken an address, an external id or a sign-in in the meantime, a
/// statement fails, and the batch runs again.
extension Change {
    func insertUsers(
        _ candidates: [ImportCandidate], by rules: ImportRules, _ schema: AttributeSchema
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
        if !identities.isEmpty { try await insertIdentities(identities, by: rules) }
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

    /// Returns the new user for a row, under the id from the file or a random one. Ids are of
    /// version 4 like those of all users, since client apps refuse other versions.
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
    /// The status of the new user: active if the import brings a password or a sign-in, otherwise
    /// pending until the first sign-in, as for a user whom an operator created.
    fileprivate var begins: User.Status {
        passwordHash != nil || !identities.isEmpty ? .active : .pending
    }
}

extension Change {
    /// Links sign-ins to users, as an operator can do by hand, because the importer states that
    /// they belong together. If the row's address is not verified, the sign-in may be another
    /// person's. It is then stored without an actor who linked it, and is valid only in this
    /// tenant.
    func insertIdentities(
        _ identities: [(user: UUID, identity: ImportedIdentity, isVerified: Bool)],
        by rules: ImportRules
    ) async throws {
        let ids = identities.map { _ in UUID.random() }
        queryLater(
            """
            INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email,
                created_at, tenants_word, linked_by_type, linked_by_id)
            SELECT anchor.id, i.id, i.user_id, i.provider, i.issuer, i.subject,
                nullif(i.email, ''), \(now), \(rules.isAssertedByTenant) OR i.verified = '',
                CASE WHEN i.verified <> '' THEN \(actor.type) END,
                CASE WHEN i.verified <> '' THEN \(actor.id) END
            FROM \(SQL.anchor(of: tenant)), unnest(\(ids)::uuid[],
                \(identities.map(\.user))::uuid[], \(identities.map(\.identity.provider))::text[],
                \(identities.map(\.identity.issuer))::text[],
                \(identities.map(\.identity.subject))::text[],
                \(identities.map { $0.identity.email ?? "" })::text[],
                \(identities.map { $0.isVerified ? "yes" : "" })::text[])
                AS i (id, user_id, provider, issuer, subject, email, verified)
            WHERE anchor.id = \(tenant)
            """)
        let keys = identities.map(\.identity).map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
        queryLater("SELECT directory_add_people(\(keys))")
        try await audit(
            .identityLinked,
            ofEach: zip(ids, identities).map { id, made in
                AuditTarget("identity", id, "\(made.identity.provider) \(made.identity.subject)")
            })
    }

    func indexAll(
        _ users: [(new: NewUser, createdAt: Timestamp)], by schema: AttributeSchema
    ) {
        guard !schema.indexed.isEmpty else { return }
        let words = users.flatMap { user in
            schema.indexedWords(of: user.new.attributes).map {
                (user: user.new.id, name: $0.name, word: $0.word, createdAt: user.createdAt)
            }
        }
        if words.isEmpty { return }
        queryLater(
            """
            INSERT INTO user_attributes (tenant_id, user_id, name, value, created_at)
            SELECT anchor.id, w.user_id, w.name, w.value, w.created_at
            FROM \(SQL.anchor(of: tenant)), unnest(\(words.map(\.user))::uuid[], \(words.map(\.name))::text[],
                \(words.map(\.word))::text[], \(words.map(\.createdAt))::timestamptz[])
                AS w (user_id, name, value, created_at)
            WHERE anchor.id = \(tenant)
            """)
    }
}

extension Change {
    /// Updates an existing user with the values of a row.
    func updateKnown(
        _ id: UUID, from candidate: ImportCandidate, by rules: ImportRules
    ) async throws -> JobResult {
        let before = try await lockUser(id)
        let row = candidate.row
        let user = candidate.user.asUpdate(
            of: before, hasPassword: try await hasPassword(before.id))
        var after = UserEdit(of: before)
        // The stored name may have white space at its ends, which was not always refused. Names
        // that differ only in this white space count as equal.
        if let name = user.name, before.name.map(DisplayText.stripped) != name { after.name = name }
        if let role = user.role { after.role = role }
        if let isKept = user.isKept { after.isKept = isKept }
        // If the file's id serves as the external id, it does not replace an external id that the
        // user already has.
        if let externalID = user.externalID,
            !candidate.idIsForeign || before.externalID == nil
                || candidate.user.id != externalID
        {
            after.externalID = externalID
        }
        after.attributes.public = before.attributes.public.merging(.object(user.publicAttributes))
        after.attributes.private =
            before.attributes.private.merging(.object(user.privateAttributes))
        let edited = try await editUser(before, to: after)
        let secrets = try await fillIn(edited, from: user)
        let identities = try await linkAll(user.identities, to: edited, rules)
        let end = try await lockUser(id)
        guard end.version != before.version else {
            return JobResult(
                row: row, .unchanged, detail: user.note, targetType: "user", targetID: id)
        }
        return JobResult(
            row: row, .done, detail: user.note, targetType: "user", targetID: id,
            effect: ImportEffect.updated(
                before, secrets: secrets, identities: identities, version: end.version
            ).document)
    }

    private func hasPassword(_ user: UUID) async throws -> Bool {
        try await query(
            """
            SELECT password_hash IS NOT NULL FROM users
            WHERE tenant_id = \(tenant) AND id = \(user)
            """
        ).only { row throws(PostgresError) in try row.get(0, as: Bool.self) }
    }

    /// Sets a password and the time at which the address was proved, each only if the user has none
    /// yet. A user who waited for a first sign-in becomes active if they can now sign in. Returns
    /// what was set.
    private func fillIn(_ row: UserRow, from user: ImportedUser) async throws -> ImportedSecrets {
        let verifiedAt = user.emailVerified ? now : nil
        let changed = try await query(
            """
            WITH old AS (SELECT status, password_hash, email_verified_at FROM users
                WHERE tenant_id = \(tenant) AND id = \(row.id))
            UPDATE users u SET
                password_hash = coalesce(u.password_hash, \(user.passwordHash)),
                password_changed_at = CASE WHEN u.password_hash IS NULL
                        AND \(user.passwordHash)::text IS NOT NULL THEN \(now)
                    ELSE u.password_changed_at END,
                status = CASE WHEN u.status = 'pending' AND u.source IN ('import', 'operator')
                        AND u.password_hash IS NULL AND \(user.passwordHash)::text IS NOT NULL
                    THEN 'active' ELSE u.status END,
                resumed_at = \(now), email_verified_at = coalesce(u.email_verified_at, \(verifiedAt)),
                version = u.version + 1, updated_at = \(now)
            FROM old
            WHERE u.tenant_id = \(tenant) AND u.id = \(row.id)
                AND (u.password_hash IS NULL AND \(user.passwordHash)::text IS NOT NULL
                    OR u.email_verified_at IS NULL AND \(verifiedAt)::timestamptz IS NOT NULL)
            RETURNING old.password_hash IS NULL AND u.password_hash IS NOT NULL,
                old.email_verified_at IS NULL AND u.email_verified_at IS NOT NULL,
                old.status <> u.status
            """
        ).first
        guard let changed else { return ImportedSecrets() }
        let secrets = ImportedSecrets(
            password: try changed.get(0), proof: try changed.get(1), activation: try changed.get(2))
        try await auditSecrets(secrets, of: row)
        return secrets
    }

    private func auditSecrets(_ secrets: ImportedSecrets, of row: UserRow) async throws {
        var changes = AuditChanges()
        if secrets.proof { changes.add("email_verified_at", nil, now.description) }
        if secrets.password { changes.add("password", nil, "imported") }
        if secrets.activation { changes.add("status", row.status, .active) }
        try await audit(.userUpdated, row.target, changes)
    }

    /// Links the sign-ins that the user does not have yet, and returns the ids of those new links.
    private func linkAll(
        _ identities: [ImportedIdentity], to user: UserRow, _ rules: ImportRules
    ) async throws -> [UUID] {
        var made: [UUID] = []
        for identity in identities
        where !user.identities.contains(where: { $0.isSameSignIn(as: identity) }) {
            made.append(
                try await linkIdentity(
                    user, provider: identity.provider, issuer: identity.issuer,
                    subject: identity.subject, email: identity.email,
                    isAssertedByTenant: rules.isAssertedByTenant, isManual: true, isTold: false
                ).identity)
        }
        return made
    }
}

extension Change {
    /// Restores a user to the state before the import. Returns false and changes nothing if another
    /// user now has the external id, or if the user has signed in with what the import brought.
    func restoreImported(
        _ user: UserRow, _ effect: JSONValue
    ) async throws -> Bool {
        guard try await mayRestore(user, effect) else { return false }
        let made = effect["identities"]?.array?.compactMap { $0.string.flatMap { UUID($0) } } ?? []
        for identity in user.identities where made.contains(identity.id) {
            try await invalidate(identity)
        }
        try await query(
            """
            DELETE FROM identities WHERE tenant_id = \(tenant) AND user_id = \(user.id)
                AND id = ANY (\(made))
            """)
        // The imported password may have made password resets possible. These resets end too.
        if effect["password"]?.bool == true { try await endResets(of: user.id) }
        let row = try await writeBack(user, effect)
        let schema = try await attributeSchema().schema
        index(row.attributes, of: row.id, createdAt: row.createdAt, by: schema)
        try await putInSearch(row)
        try await auditRestored(user, row)
        return true
    }

    private func mayRestore(_ user: UserRow, _ effect: JSONValue) async throws -> Bool {
        let isSignIn =
            effect["password"]?.bool == true || effect["proof"]?.bool == true
            || !(effect["identities"]?.array ?? []).isEmpty
        guard !isSignIn || user.lastSignInAt?.description == effect["signed_in"]?.string else {
            return false
        }
        guard let externalID = effect["external_id"]?.string, externalID != user.externalID else {
            return true
        }
        return try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND status <> 'deleted' AND status <> 'merged' AND id <> \(user.id)
            """
        ).isEmpty
    }

    private func writeBack(_ user: UserRow, _ effect: JSONValue) async throws -> UserRow {
        let role = effect["role"]?.string.flatMap(UserRole.init) ?? user.role
        return try await query(
            """
            UPDATE users SET name = \(effect["name"]?.string), role = \(role),
                external_id = \(effect["external_id"]?.string),
                keep = coalesce(\(effect["keep"]?.bool)::boolean, keep),
                public_attributes = \(effect["public_attributes"]?.string ?? "{}"),
                private_attributes = \(effect["private_attributes"]?.string ?? "{}"),
                password_hash = CASE WHEN \(effect["password"]?.bool == true) THEN NULL
                    ELSE password_hash END,
                status = CASE WHEN \(effect["activation"]?.bool == true) THEN 'pending'
                    ELSE status END,
                email_verified_at = CASE WHEN \(effect["proof"]?.bool == true) THEN NULL
                    ELSE email_verified_at END,
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
            RETURNING \(UserRow.columns(of: tenant))
            """
        ).only(UserRow.init)
    }

    private func auditRestored(_ user: UserRow, _ row: UserRow) async throws {
        var changes = AuditChanges()
        changes.add("name", user.name, row.name)
        changes.add("role", user.role, row.role)
        changes.add("status", user.status, row.status)
        changes.add("external_id", user.externalID, row.externalID)
        changes.add("keep", .bool(user.isKept), .bool(row.isKept))
        changes.add(user.attributes, row.attributes)
        try await audit(.userUpdated, row.target, changes)
    }
}
