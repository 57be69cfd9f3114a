import Postgres
import Text

/// Where passkeys are made and used, which follows from the server's public URL: browsers offer them
/// to a domain over https, and to `localhost`.
package struct PasskeySite: Sendable {
    /// Why a server has none.
    package enum Fault: Error, Sendable {
        /// Its public URL names an address and no domain.
        case address
        /// It is plain http.
        case insecure
    }

    /// As browsers write it.
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

    /// The site of a server, or why it has none.
    package static func of(publicURL: String) -> Result<PasskeySite, Fault> {
        do { return .success(try PasskeySite(publicURL: publicURL)) } catch {
            return .failure(error)
        }
    }

    private static func isLocal(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost")
    }

    /// The RP ids that a browser takes at this host: itself, and the domains above it.
    package var relyingParties: [String] {
        let labels = host.split(separator: ".")
        return labels.indices.map { labels[$0...].joined(separator: ".") }
    }
}

extension Database {
    /// The RP id of new passkeys: that of the oldest one which is good at this host, else the host.
    /// A move to a host below the first one's costs none.
    package func relyingParty(of site: PasskeySite) async throws -> String {
        let rows = try await app.read(
            """
            SELECT relying_party FROM operator_passkeys
            WHERE relying_party = ANY(\(site.relyingParties)::text[])
            ORDER BY created_at, id LIMIT 1
            """)
        return try rows.first?.get(0) ?? site.host
    }

    /// At a start: marks the passkeys that browsers offer at this server's name. A passkey that they
    /// do not offer is no factor that could be asked for.
    package func markUsablePasskeys() async throws {
        let parties = (try? passkeySite.get())?.relyingParties ?? []
        _ = try await app.query(
            """
            UPDATE operator_passkeys SET usable = NOT usable
            WHERE usable <> (relying_party = ANY(\(parties)::text[]))
            """)
    }

    /// The passkeys that a browser does not offer at this server's name, and the domains that they
    /// were made for.
    package func passkeysLost() async throws -> [(party: String, count: Int)] {
        let parties = (try? passkeySite.get())?.relyingParties ?? []
        let rows = try await app.read(
            """
            SELECT relying_party, count(*) FROM operator_passkeys
            WHERE relying_party <> ALL(\(parties)::text[])
            GROUP BY relying_party ORDER BY relying_party
            """)
        return try rows.map { row in (try row.get(0), try row.get(1)) }
    }
}
