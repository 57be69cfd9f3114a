import Domain
import JSON
import Postgres
import Text

/// What the database says about the people in one batch of an import, read with one statement for
/// each table.
struct ImportFacts: Sendable {
    struct Known: Sendable {
        var id: UUID
        var role: UserRole
        var status: User.Status
        var emailKey: String
    }

    enum Verdict {
        case result(JobResult)
        case create(ImportCandidate)
        case update(ImportCandidate, UUID)

        /// The id that a new user takes over from the file; `nil` if the user gets another id, or is
        /// not new.
        var fileID: UUID? {
            if case .create(let candidate) = self { candidate.fileID } else { nil }
        }
    }

    /// The tenant's users who are not deleted, by email key.
    var known: [String: Known] = [:]
    /// The tenant's users whose ids occur in the file, deleted ones too. The keys are the ids in
    /// canonical form.
    var byID: [String: Known] = [:]
    /// Ids that new users may take over from the file: no object of any tenant has or had them.
    var free: Set<UUID> = []
    /// Email keys of deleted users (`deleted`), and email keys that are reserved because another
    /// user had them until recently (`reserved`).
    var deleted: Set<String> = []
    var reserved: Set<String> = []
    /// Which user of the tenant has an external id or a sign-in from the file: the user's id, by
    /// the key of the external id or sign-in.
    var holders: [Int64: UUID] = [:]
    /// Keys of sign-ins that an operator unlinked, or that belonged to a purged person.
    var barred: Set<Int64> = []
    /// For each key, the number of the first row of the file that has the key.
    var first: [Int64: Int] = [:]
}

/// The settings of an import; they are the same for all its rows.
package struct ImportRules: Sendable {
    package enum Conflict: String, Sendable, CaseIterable {
        case skip, update, fail
    }

    package var id: UUID
    package var conflict: Conflict
    /// The roles that the import's creator may give. The creator may change only users with one of
    /// these roles.
    var roles: [UserRole]
    /// Whether the creator acts for this tenant alone. Then the imported sign-ins are valid only in
    /// this tenant.
    var isAssertedByTenant: Bool

    /// Whether new users may get the ids from the file. Only the platform may decide this.
    var keepsFileIDs: Bool { !isAssertedByTenant }

    package init(id: UUID, conflict: Conflict, roles: [UserRole], isAssertedByTenant: Bool) {
        self.id = id
        self.conflict = conflict
        self.roles = roles
        self.isAssertedByTenant = isAssertedByTenant
    }
}

/// A row that can be imported, and the existing user whom it updates, if any.
struct ImportCandidate: Sendable {
    var row: Int
    var user: ImportedUser
    var known: UUID?
    /// Whether the row's id cannot be the user's id. The user then has or gets another id.
    var idIsForeign = false
    /// The id that the new user takes over from the file; `nil` if the user gets another id.
    var fileID: UUID?
}

extension Change {
    func importFacts(
        _ rows: [StagedRow], by rules: ImportRules
    ) async throws -> ImportFacts {
        let users = rows.compactMap { try? $0.content.get() }
        var facts = ImportFacts()
        guard !users.isEmpty else { return facts }
        facts.first = try await firstRows(of: rules.id, users.flatMap { $0.keys + $0.verifiedKeys })
        let addresses = users.map(\.email.key)
        try await readAddresses(addresses, into: &facts)
        let ids = users.compactMap(\.uuid)
        try await readIDs(ids, into: &facts)
        if rules.keepsFileIDs { try await readFreeIDs(ids, into: &facts) }
        try await readExternalIDs(users.compactMap { $0.externalID ?? $0.id }, into: &facts)
        let identities = users.flatMap(\.identities)
        if !identities.isEmpty { try await readIdentities(identities, into: &facts) }
        try await readTombstones(addresses, identities, into: &facts)
        return facts
    }

    /// Reads the users who have these addresses. A pending user whose invite has ended counts as
    /// absent, as everywhere else. Here and below, LATERAL and LIMIT look up each key in the index:
    /// the planner has no statistics for rows that an import has just written, and would otherwise
    /// read the whole tenant. LIMIT 2 is enough: an address has at most one user who is not
    /// deleted, and of its deleted users any one will do.
    private func readAddresses(_ keys: [String], into facts: inout ImportFacts) async throws {
        let rows = try await query(
            """
            SELECT u.email_key, u.id, u.role, u.status, u.status = 'pending'
                AND u.source = 'invite' AND u.last_sign_in_at IS NULL
            FROM unnest(\(keys)::text[]) AS w (key), LATERAL (
                SELECT * FROM users WHERE tenant_id = \(tenant) AND email_key = w.key
                    AND status <> 'merged' ORDER BY status = 'deleted' LIMIT 2) AS u
            """)
        for row in rows {
            let (key, id, role, status, isInvitee): (String, UUID, UserRole, User.Status, Bool) =
                try row.columns()
            if status == .deleted {
                facts.deleted.insert(key)
                continue
            }
            if isInvitee, try await removeLapsedInvitee(key) { continue }
            facts.known[key] = ImportFacts.Known(
                id: id, role: role, status: status, emailKey: key)
        }
        try await readReserved(keys, into: &facts)
    }

    /// Reads the tenant's users who have these ids. The id of a merged user yields the user who
    /// survived.
    private func readIDs(_ ids: [UUID], into facts: inout ImportFacts) async throws {
        guard !ids.isEmpty else { return }
        var survivors: [UUID: UUID] = [:]
        let merged = try await query(
            """
            SELECT w.id, m.user_id FROM unnest(\(ids)::uuid[]) AS w (id), LATERAL (
                SELECT user_id FROM merged_users WHERE tenant_id = \(tenant) AND id = w.id LIMIT 1)
                AS m
            """)
        for row in merged { survivors[try row.get(0)] = try row.get(1, as: UUID.self) }
        let rows = try await query(
            """
            SELECT w.named, u.id, u.role, u.status, u.email_key
            FROM unnest(\(ids)::uuid[], \(ids.map { survivors[$0] ?? $0 })::uuid[]) AS w (named, id),
                LATERAL (SELECT * FROM users WHERE tenant_id = \(tenant) AND id = w.id LIMIT 1) AS u
            """)
        for row in rows {
            let (named, id, role, status, key): (UUID, UUID, UserRole, User.Status, String) =
                try row.columns()
            facts.byID[named.description] = ImportFacts.Known(
                id: id, role: role, status: status, emailKey: key)
        }
    }

    /// Reads which of these ids a new user may get. The id must be of version 4, like all user ids,
    /// and no object of any tenant may have it or have had it.
    private func readFreeIDs(
        _ ids: [UUID], into facts: inout ImportFacts
    ) async throws {
        let wanted = Set(ids.filter { $0.isRandom && facts.byID[$0.description] == nil })
        guard !wanted.isEmpty else { return }
        let known = try await database.platform.read(
            "SELECT ids_known(\(wanted.map(\.description)))")
        facts.free = wanted.subtracting(
            try known.compactMap { UUID(try $0.get(0, as: String.self)) })
    }

    /// Reads which of these addresses are reserved, because a user of the tenant had them until
    /// recently.
    private func readReserved(_ keys: [String], into facts: inout ImportFacts) async throws {
        let reserved = try await query(
            """
            SELECT f.email_key FROM former_addresses f WHERE f.tenant_id = \(tenant)
                AND f.email_key = ANY (\(keys)) AND f.expires_at > \(now) AND EXISTS (
                    SELECT 1 FROM users u WHERE u.tenant_id = \(tenant) AND u.id = f.user_id
                        AND u.status <> 'deleted')
            """)
        for row in reserved { facts.reserved.insert(try row.get(0)) }
    }

    private func readExternalIDs(_ ids: [String], into facts: inout ImportFacts) async throws {
        guard !ids.isEmpty else { return }
        let rows = try await query(
            """
            SELECT w.id, u.id FROM unnest(\(ids)::text[]) AS w (id), LATERAL (
                SELECT id FROM users WHERE tenant_id = \(tenant) AND external_id = w.id
                    AND status <> 'deleted' AND status <> 'merged' LIMIT 1) AS u
            """)
        for row in rows {
            facts.holders[ImportedUser.key(externalID: try row.get(0))] = try row.get(1)
        }
    }
}

extension ImportedUser {
    /// The row's id as a UUID; `nil` if it is not one.
    var uuid: UUID? { id.flatMap { UUID($0) } }
}

extension Change {
    func readIdentities(
        _ identities: [ImportedIdentity], into facts: inout ImportFacts
    ) async throws {
        for table in ["identities", "barred_identities"] {
            let rows = try await query(
                """
                SELECT w.provider, w.issuer, w.subject, t.user_id
                FROM unnest(\(identities.map(\.provider))::text[],
                    \(identities.map(\.issuer))::text[], \(identities.map(\.subject))::text[])
                    AS w (provider, issuer, subject), LATERAL (
                    SELECT user_id FROM \(raw: table) WHERE tenant_id = \(tenant)
                        AND provider = w.provider AND issuer = w.issuer
                        AND subject = w.subject LIMIT 1) AS t
                """)
            for row in rows {
                let key = ImportedIdentity(
                    provider: try row.get(0), issuer: try row.get(1), subject: try row.get(2)
                ).key
                if table == "identities" {
                    facts.holders[key] = try row.get(3)
                } else {
                    facts.barred.insert(key)
                }
            }
        }
    }

    /// Reads which of these people were purged: an old file must not create them again.
    func readTombstones(
        _ addresses: [String], _ identities: [ImportedIdentity], into facts: inout ImportFacts
    ) async throws {
        let people = addresses.map { database.personKey(emailKey: $0) }
        let signIns = identities.map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
        let rows = try await query(
            """
            SELECT key FROM tombstones WHERE tenant_id = \(tenant) AND expires_at > \(now)
                AND key = ANY (person_keys(\(Array((people + signIns).joined()))))
            """)
        guard !rows.isEmpty else { return }
        var buried: Set<[UInt8]> = []
        for row in rows { buried.insert(try row.get(0)) }
        func isBuried(_ keys: [UInt8]) -> Bool {
            stride(from: 0, to: keys.count, by: Database.personKeyLength).contains {
                buried.contains(Array(keys[$0..<$0 + Database.personKeyLength]))
            }
        }
        facts.deleted.formUnion(zip(addresses, people).filter { isBuried($1) }.map(\.0))
        facts.barred.formUnion(zip(identities, signIns).filter { isBuried($1) }.map(\.0.key))
    }
}

extension ImportFacts {
    /// Decides what will happen to a row, before anything is written.
    func verdict(
        on row: StagedRow, by rules: ImportRules, _ schema: AttributeSchema
    ) -> Verdict {
        var user: ImportedUser
        switch row.content {
        case .success(let content): user = content
        case .failure(let fault): return .result(JobResult(row.row, fault))
        }
        let named = user.uuid.flatMap { byID[$0.description] }
        if user.isDeleted { return .result(Self.deleted(row.row, named)) }
        let known = named ?? known[user.email.key]
        let fileID = known == nil ? user.uuid.flatMap { free.contains($0) ? $0 : nil } : nil
        let isForeign = user.id != nil && named == nil && fileID == nil
        if isForeign { user.takeForeignID() }
        var candidate = ImportCandidate(row: row.row, user: user, known: known?.id)
        candidate.idIsForeign = isForeign
        let contested = contested(by: user, in: row.row, known)
        if let fault = fault(in: row.row, user, known, by: rules) {
            var result = JobResult(row.row, fault, about: known?.id)
            result.externalID = contested
            return .result(result)
        }
        if let known {
            guard rules.conflict == .update else {
                var result = JobResult(
                    row: row.row, rules.conflict == .skip ? .unchanged : .failed,
                    code: "email_taken", detail: "A user of this tenant has the address.",
                    targetType: "user", targetID: known.id)
                if named != nil { result.detail = "A user of this tenant has the row's `id`." }
                result.externalID = contested
                return .result(result)
            }
            return .update(candidate, known.id)
        }
        if let fault = Self.attributeFault(user, schema) {
            return .result(JobResult(row.row, fault))
        }
        candidate.known = nil
        candidate.fileID = fileID
        candidate.user = user.asNew
        return .create(candidate)
    }

    /// Returns the result for a row that the file marks as deleted; no user is created from it.
    private static func deleted(_ row: Int, _ named: Known?) -> JobResult {
        guard let named, named.status == .deleted else {
            return JobResult(
                row,
                ImportFault(
                    "user_deleted",
                    "The file marks this user as deleted, so no "
                        + "user was created."),
                about: named?.id)
        }
        return JobResult(
            row: row, .unchanged, detail: "The user is deleted here too.", targetType: "user",
            targetID: named.id)
    }

    private static func attributeFault(
        _ user: ImportedUser, _ schema: AttributeSchema
    ) -> ImportFault? {
        let faults =
            user.attributes.faults()
            + schema.faults(user.attributes, after: AttributePair(), isNew: true)
        guard let fault = faults.first else { return nil }
        let name = [fault.object, fault.name ?? ""].filter { !$0.isEmpty }.joined(separator: ".")
        return ImportFault("validation_failed", "\(name) \(fault.detail).")
    }

    private func fault(
        in row: Int, _ user: ImportedUser, _ known: Known?, by rules: ImportRules
    ) -> ImportFault? {
        if let other = rival(of: user, in: row) {
            return ImportFault(
                "conflict",
                "Row \(other) of this import has the same address, external id or sign-in.")
        }
        if let known {
            if known.status == .deleted {
                return ImportFault(
                    "user_deleted", "The user with this id was deleted; restore the user first.")
            }
            if let other = self.known[user.email.key], other.id != known.id {
                return ImportFault(
                    "conflict",
                    "The row's `id` is that of one user, and its address that of another, "
                        + "\(other.id).")
            }
            // A row that is skipped or fails anyway needs no further check.
            guard rules.conflict == .update else { return nil }
            guard rules.roles.contains(known.role) else { return .userTooHigh }
        } else if deleted.contains(user.email.key) {
            return ImportFault(
                "user_deleted",
                "A user with this address was deleted; restore the user if it is still listed, or "
                    + "create one by hand.")
        } else if reserved.contains(user.email.key) {
            return ImportFault(
                "email_taken",
                "The address belonged to another user until recently and is reserved for 30 days.")
        }
        if !rules.roles.contains(user.role ?? .member) { return Self.roleTooHigh }
        return taken(from: user, but: known?.id)
    }

    /// Returns the number of a row that takes precedence over this one, because both have the same
    /// address, external id or sign-in; `nil` if there is none. It is an earlier row or, if this
    /// row's address is not verified, any row with a verified address.
    private func rival(of user: ImportedUser, in row: Int) -> Int? {
        let earlier = user.keys.lazy.compactMap { first[$0] }.first { $0 < row }
        return earlier ?? user.verifiedKeys.lazy.compactMap { first[$0] }.first
    }

    /// Returns the fault if another user has the row's external id or one of its sign-ins.
    private func taken(from user: ImportedUser, but known: UUID?) -> ImportFault? {
        if let id = user.externalID, let other = holders[ImportedUser.key(externalID: id)],
            other != known
        {
            return ImportFault("conflict", "The user \(other) has the external id.")
        }
        for identity in user.identities {
            if let other = holders[identity.key], other != known {
                return ImportFault(
                    "identity_conflict", "The sign-in is linked to the user \(other) already.")
            }
            if barred.contains(identity.key) {
                return ImportFault(
                    "identity_link_required",
                    "The sign-in was unlinked, or its user removed for good; link it by hand.")
            }
        }
        return nil
    }

    /// Returns the row's external id if it contradicts the row's address: a user has the address,
    /// and another user or another row has the external id. The two users may be the same person.
    private func contested(by user: ImportedUser, in row: Int, _ known: Known?) -> String? {
        guard let known, let id = user.externalID else { return nil }
        let key = ImportedUser.key(externalID: id)
        let isHeld = holders[key].map { $0 != known.id } ?? false
        return isHeld || [key, ~key].contains { (first[$0] ?? row) != row } ? id : nil
    }

    private static let roleTooHigh = ImportFault(
        "forbidden", "The role is above what this credential may give.")
}

extension ImportFault {
    static let userTooHigh = ImportFault(
        "forbidden", "The user's role is above what this credential may change.")
}

extension ImportedUser {
    var attributes: AttributePair {
        var pair = AttributePair()
        pair.public = Attributes.none.merging(.object(publicAttributes))
        pair.private = Attributes.none.merging(.object(privateAttributes))
        return pair
    }
}

extension JobResult {
    init(_ row: Int, _ fault: ImportFault, about user: UUID? = nil) {
        self.init(
            row: row, .failed, code: fault.code, detail: fault.detail,
            targetType: user == nil ? nil : "user", targetID: user)
    }
}
