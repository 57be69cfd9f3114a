import Domain
import Storage
import Text

/// Looks at verified domains again, as often as each is due.
package struct DomainChecks: Sendable {
    private let database: Database
    private let services: Services

    package init(database: Database, services: Services) {
        self.database = database
        self.services = services
    }

    /// One round over what is due; gives what came of it, in that order.
    @discardableResult
    package func round() async throws -> [DomainCheck] {
        var results: [DomainCheck] = []
        for due in try await database.dueDomains() {
            // The look-up stands before the transaction: no lock waits for a name server.
            let isThere = await services.txtRecords(due.row.recordName).map { records in
                records.contains { $0.isSame(as: due.row.recordValue) }
            }
            let result = try await database.scope(due.tenant).change(by: .system) { change in
                let result = try await change.check(due.row, isThere: isThere)
                if result == .lost, services.sendsMail {
                    try await change.warnOfLoss(
                        due.row, publicURL: services.publicURL, in: database)
                }
                return result
            }
            if let result { results.append(result) }
        }
        return results
    }
}
