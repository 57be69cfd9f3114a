import Domain
import JSON
import Postgres
import Text

/// "This was not me": what happens when an operator uses the link in a mail about their account.
extension Database {
    /// Ends every session, removes the password, forgets the known devices, and mails a link to set
    /// a new password. The used link itself cannot set a password, since an old mail may be in the
    /// hands of others. The factor that the mail is about is invalidated. All other factors stay,
    /// since a person who can only read the mail must not be able to bypass them. Returns nil if
    /// the token is unknown, used or expired. `needsPassword` says whether there was a password.
    package func disown(
        tokenHash: [UInt8], publicURL: String, requestID: String, ip: String?
    ) async throws -> (person: OperatorRow, needsPassword: Bool)? {
        try await platformScope.change(by: .system) { change in
            guard let link = try await change.useLink(tokenHash, to: .notMe) else { return nil }
            let id = link.person
            let needsPassword = try await change.factors(of: id).hasPassword
            let rows = try await change.query(
                """
                UPDATE operators AS o SET password_hash = NULL, version = version + 1,
                    proof_version = proof_version + 1, updated_at = \(change.now)
                WHERE o.id = \(id) AND o.status <> 'suspended' RETURNING \(OperatorRow.columns)
                """)
            guard let person = try rows.first.map(OperatorRow.init) else { return nil }
            if let factor = link.factor {
                try await change.disown(factor, of: id, addedBefore: link.madeAt)
            }
            let ended = try await change.endOperatorSessions(of: id)
            try await change.endLinks(of: id, keeping: .aboutFactors)
            try await change.forgetDevices(of: id)
            if needsPassword {
                try await change.switching(to: person.tenant ?? .platform)
                    .mailReset(of: id, to: person.email, publicURL)
            }
            var changes = AuditChanges()
            changes.add("sessions", .int(ended), .int(0))
            changes.add("factor", link.factor?.name, nil)
            let actor = Actor(
                type: "operator", id: id.description, name: person.name ?? person.email,
                requestID: requestID, ip: ip)
            try await change.switching(to: person.tenant ?? .platform).acting(as: actor)
                .audit(.operatorDisowned, person.target, changes)
            return (person, needsPassword)
        }
    }
}

/// An operator's one-time link that was just used.
struct UsedLink {
    let person: UUID
    let isMailed: Bool
    let madeAt: Timestamp
    /// The factor that the mail with the link is about; `nil` if the mail is about no factor.
    let factor: AddedFactor?

    init(person: UUID, _ row: Row) throws(PostgresError) {
        self.person = person
        let (name, id): (String?, UUID?)
        (isMailed, madeAt, name, id) = try row.columns()
        factor = AddedFactor(name: name, id: id)
    }
}

/// Which "this was not me" links survive when an operator's other links are deleted.
enum KeptLinks {
    /// All "this was not me" links survive, since a thief who sets a password must not be able to
    /// delete them.
    case aboutAnything
    /// Only the "this was not me" links about an added factor survive, since each can still
    /// invalidate its factor. The other links are not needed, since the sessions have already
    /// ended.
    case aboutFactors
}

extension Change {
    /// Marks a link as used. Returns nil if it is unknown, used or expired. Locks the operator's
    /// row before the link, as every transaction does: a transaction that deletes all of an
    /// operator's links has that lock, so the two cannot deadlock.
    func useLink(_ tokenHash: [UInt8], to purpose: LinkPurpose) async throws -> UsedLink? {
        let found = try await query(
            "SELECT operator_id FROM operator_links WHERE token_hash = \(tokenHash)")
        guard let id: UUID = try found.first?.get(0) else { return nil }
        try await query("SELECT 1 FROM operators WHERE id = \(id) FOR UPDATE")
        let used = try await query(
            """
            UPDATE operator_links SET used_at = \(now)
            WHERE token_hash = \(tokenHash) AND purpose = \(purpose.rawValue)
                AND used_at IS NULL AND expires_at > \(now)
            RETURNING mailed, created_at, factor, factor_id
            """)
        return try used.first.map { try UsedLink(person: id, $0) }
    }

    /// Deletes the operator's unused one-time links, except the "this was not me" links that
    /// `keeping` names.
    func endLinks(of person: UUID, keeping: KeptLinks) async throws(PostgresError) {
        let kept: SQL =
            switch keeping {
            case .aboutAnything: " AND purpose <> 'not_me'"
            case .aboutFactors: " AND (purpose <> 'not_me' OR factor IS NULL)"
            }
        try await query(
            """
            DELETE FROM operator_links
            WHERE operator_id = \(person) AND used_at IS NULL\(kept)
            """)
    }
}
