import Domain
import Postgres
import Text

extension Database {
    /// The tenant of a return address; nil if there is none.
    package func tenant(ofReturnToken token: String) async throws(PostgresError) -> UUID? {
        let locator = ReturnToken.locator(token)
        guard locator.utf8.count == 6, locator.utf8.allSatisfy({ (0x30...0x7A).contains($0) })
        else { return nil }
        let rows = try await app.read("SELECT directory_tenant_by_locator(\(locator))")
        return try rows.first?.get(0, as: UUID?.self)
    }

    /// The mail server accepted the mail, or it is given up for the reason, which is logged;
    /// `words`: what its invite shows of it. `isRefused`: for good, so that another would fare no
    /// better.
    package func endMail(
        _ mail: DueMail, failure: String?, words: String?, isRefused: Bool = false
    ) async throws {
        try await endMail(
            mail.id, mail.mail.kind, about: mail.about, of: mail.tenant, failure: failure,
            words: words ?? failure, isRefused: isRefused)
    }

    func endMail(
        _ id: UUID, _ kind: OutgoingMail.Kind?, about thing: UUID, of tenant: UUID,
        failure: String?, words: String?, isRefused: Bool = false
    ) async throws {
        try await scope(tenant).change(by: .system) { change in
            // The invite comes first, as when it is sent again.
            if kind == .invite { try await change.showSending(id, of: thing, refused: words) }
            let ended = try await change.query(
                """
                UPDATE mail SET letter = NULL, next_at = NULL, ended_at = \(change.now),
                    failure = \(failure)
                WHERE tenant_id = \(tenant) AND id = \(id) AND next_at IS NOT NULL
                """)
            if kind == .inactivityWarning, failure != nil, !isRefused, ended.affected > 0 {
                try await change.noteUnsentWarning(of: thing)
            }
        }
    }
}
