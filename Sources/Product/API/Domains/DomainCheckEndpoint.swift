import Storage
import Text

/// Checks verified domains again when they are due.
package struct DomainChecks: Sendable {
    private let database: Database
    private let services: Services

    package init(database: Database, services: Services) {
        self.database = database
        self.services = services
    }

    /// One round over the domains that are due; returns their results, in that order. A failed
    /// check is left for the next round, and thrown after all others are done.
    @discardableResult
    package func round() async throws -> [DomainCheck] {
        var results: [DomainCheck] = []
        var failure: (any Error)?
        for due in try await database.dueDomains() {
            switch await attempt(due) {
            case .success(let result): if let result { results.append(result) }
            case .failure(let error): failure = error
            }
        }
        if let failure { throw failure }
        return results
    }

    private func attempt(_ due: DueDomain) async -> Result<DomainCheck?, any Error> {
        do { return .success(try await look(at: due)) } catch { return .failure(error) }
    }

    private func look(at due: DueDomain) async throws -> DomainCheck? {
        // The look-up precedes the transaction: no lock waits for a name server.
        let isThere = await services.txtRecords(due.row.recordName, nil).map { records in
            records.contains { sameBytes($0, due.row.recordValue) }
        }
        return try await database.scope(due.tenant).change(by: .system) { change in
            let result = try await change.check(due.row, isThere: isThere)
            if result == .lost, services.sendsMail {
                try await change.warnOfLoss(due.row, publicURL: services.publicURL, in: database)
            }
            return result
        }
    }
}
