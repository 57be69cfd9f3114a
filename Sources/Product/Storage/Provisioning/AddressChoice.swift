import Domain
import Postgres
import Text

extension Database {
    /// The call with the address that is decided by, where a provider verified several: that of the
    /// call's invite; else, where a tenant is asked, the only one that is invited there or has a
    /// pending row; else the primary one. Chosen once, before anything is locked.
    func choosingAddress(_ call: ProvisioningCall) async throws -> ProvisioningCall {
        guard !call.otherEmails.isEmpty, let text = call.tenant else { return call }
        var asked = UUID(text)
        if asked == nil { asked = try await tenant(text)?.id }
        guard let asked else { return call }
        let primary = call.emailVerified == true ? call.email : nil
        var candidates: [String: String] = [:]
        for email in [primary].compactMap(\.self) + call.otherEmails {
            guard let key = try? EmailAddress(email).key, candidates[key] == nil else { continue }
            candidates[key] = email
        }
        let hash = call.inviteHash ?? call.inviteToken.map(TenantToken.hash)
        let keys = Array(candidates.keys)
        let rows = try await app.tenantRead(
            asked,
            """
            SELECT invited.email_key, invited.is_asked FROM unnest(\(keys)::text[]) AS address, LATERAL (
                SELECT email_key, token_hash = \(hash)::bytea AS is_asked FROM invites
                WHERE tenant_id = \(asked) AND email_key = address
                    AND (\(SQL.unindexed("status")) = 'pending' AND expires_at > \(clock())
                        OR token_hash = \(hash)::bytea) OFFSET 0) AS invited
            UNION SELECT waiting.email_key, false FROM unnest(\(keys)::text[]) AS address, LATERAL (
                SELECT email_key FROM users WHERE tenant_id = \(asked) AND email_key = address
                    AND \(SQL.unindexed("status")) = 'pending' OFFSET 0) AS waiting
            """)
        var invited: Set<String> = []
        for row in rows {
            let key: String = try row.get(0)
            if try row.get(1, as: Bool?.self) == true { return call.decided(by: candidates[key]) }
            invited.insert(key)
        }
        let primaryKey = primary.flatMap { try? EmailAddress($0).key }
        if invited.isEmpty || primaryKey.map({ invited.contains($0) }) ?? false { return call }
        if invited.count == 1 { return call.decided(by: invited.first.flatMap { candidates[$0] }) }
        var open = call
        open.isAddressOpen = true
        return open
    }
}

extension ProvisioningCall {
    /// The same attempt with `chosen`, a verified address, as its own; its former address joins the others if it is
    /// verified, too: of the person's other addresses each proves something.
    fileprivate func decided(by chosen: String?) -> ProvisioningCall {
        guard let chosen, email.map({ !sameBytes($0, chosen) }) ?? true else { return self }
        var call = self
        call.otherEmails =
            otherEmails.filter { !sameBytes($0, chosen) }
            + (emailVerified == true ? [email].compactMap(\.self) : [])
        call.email = chosen
        call.emailVerified = true
        return call
    }
}
