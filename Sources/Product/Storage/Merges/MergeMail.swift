import Domain
import Postgres
import Text

extension Change {
    /// Mails both addresses that the records are one, or two again.
    func tellOfMerge(
        _ kind: OutgoingMail.Kind, _ winner: UserRow, _ loser: UserRow, in database: Database
    ) async throws {
        guard database.sendsMail else { return }
        let name = try await tenantName()
        for (address, other) in [(winner.email, loser.email), (loser.email, winner.email)] {
            // With a random object each: a later mail about one object replaces the earlier.
            try await post(
                OutgoingMail(
                    kind, to: address, tenantName: name,
                    message: kind == .mergeUndone ? other : winner.email,
                    expiresAt: now.adding(seconds: Self.noticeSeconds)),
                about: UUID.random(), of: [winner.id, loser.id], in: database)
        }
    }
}
