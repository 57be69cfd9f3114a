import Postgres
import Text

/// The web site for which passkeys are made and used. It follows from the server's public URL:
/// browsers permit passkeys only on a domain over https, and on `localhost`.
package struct PasskeySite: Sendable {
    /// Why no passkeys are possible at a server's public URL.
    package enum Fault: Error, Sendable {
        /// The public URL names an IP address instead of a domain.
        case address
        /// The public URL is plain http, and not on `localhost`.
        case insecure
    }

    /// The origin as browsers write it, such as `https://example.com`.
    package let origin: String
    package let host: String

    package init(publicURL: String) throws(Fault) {
        guard let origin = try? Origin(configuring: publicURL), origin.kind == .exact else {
            throw .address
        }
        let bare = origin.host.utf8.first == UInt8(ascii: "[") ? "::" : origin.host
        guard IPAddress(bare) == nil else { throw .address }
        guard origin.scheme == "https" || Self.isLocal(origin.host) else { throw .insecure }
        self.origin = origin.canonical
        host = origin.host
    }

    /// The site of a server, or why passkeys are not possible there.
    package static func of(publicURL: String) -> Result<PasskeySite, Fault> {
        do { return .success(try PasskeySite(publicURL: publicURL)) } catch {
            return .failure(error)
        }
    }

    private static func isLocal(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost")
    }

    /// The RP ids that a browser accepts at this host: the host, and the domains above it.
    var relyingParties: [String] {
        let labels = host.split(separator: ".")
        return labels.indices.map { labels[$0...].joined(separator: ".") }
    }
}

extension Database {
    /// The RP id for new passkeys and for requests. It is the RP id of the passkeys in use or, if
    /// there are none, the host. So a server that moves to a subdomain of its first host loses no
    /// passkeys.
    package func relyingParty(of site: PasskeySite) async throws -> String {
        try await relyingParty(of: site, usable: "usable AND") ?? site.host
    }

    private func relyingParty(of site: PasskeySite, usable: SQL = "") async throws -> String? {
        let rows = try await app.read(
            """
            SELECT relying_party FROM operator_passkeys
            WHERE \(usable) relying_party = ANY(\(site.relyingParties)::text[])
            ORDER BY created_at, id LIMIT 1
            """)
        return try rows.first?.get(0)
    }

    /// Called when the server starts. Marks as usable the passkeys that browsers offer at this
    /// server's name. These all have the same RP id. Other passkeys cannot be requested, but they
    /// still count as a second factor: renaming the server must not make a password alone enough to
    /// sign in.
    package func markUsablePasskeys() async throws {
        let party = try await partyAtStart()
        _ = try await app.query(
            """
            WITH turned AS (
                UPDATE operator_passkeys SET usable = NOT usable
                WHERE usable <> (relying_party = \(party) AND NOT disowned)
                RETURNING operator_id)
            UPDATE operators SET version = version + 1
            WHERE id IN (SELECT operator_id FROM turned)
            """)
    }

    /// The RP id when the server starts; empty if passkeys are not possible.
    private func partyAtStart() async throws -> String {
        guard let site = try? options.passkeySite.get() else { return "" }
        if let party = try await relyingParty(of: site, usable: "usable AND") { return party }
        return try await relyingParty(of: site) ?? site.host
    }

    /// The number of passkeys that browsers do not offer at this server's name, for each domain
    /// that they were made for.
    package func passkeysLost() async throws -> [(party: String, count: Int)] {
        let rows = try await app.read(
            """
            SELECT relying_party, count(*) FROM operator_passkeys
            WHERE relying_party <> \(partyAtStart()) AND NOT disowned
            GROUP BY relying_party ORDER BY relying_party
            """)
        return try rows.map { row in (try row.get(0), try row.get(1)) }
    }

    /// How many operators have no second factor except passkeys that browsers do not offer at this
    /// server's name.
    package func operatorsLost() async throws -> Int {
        try await app.read(
            """
            SELECT count(*) FROM operators o
            WHERE EXISTS (SELECT 1 FROM operator_passkeys k WHERE k.operator_id = o.id)
                AND NOT EXISTS (SELECT 1 FROM operator_passkeys k
                    WHERE k.operator_id = o.id AND k.relying_party = \(partyAtStart()))
                AND NOT EXISTS (SELECT 1 FROM operator_totp t
                    WHERE t.operator_id = o.id AND t.confirmed)
            """
        ).only { try $0.get(0) }
    }
}
