import Domain
import Postgres
import Text

/// The locks of persons, by which sign-ins and merges wait for each other.
extension Change {
    /// One row for each identity, then one for each address: their holder is alone with these
    /// persons on all replicas. Both are keys of `Database.personKey`, any number of them.
    static func lockingPeople(identities: [UInt8], addresses: [UInt8]) -> SQL {
        "SELECT lock_people(\(identities), \(addresses))"
    }

    /// These users and all who sign in as them, locked; those that do not exist are missing in the
    /// answer. `also`: further addresses. 409 `conflict` if a sign-in was added in between.
    func lockPeople(
        _ ids: [UUID], also: [String] = [], in database: Database
    ) async throws -> [UUID: UserRow] {
        let before = try await query(
            """
            SELECT \(UserRow.columns(of: tenant)) FROM users
            WHERE tenant_id = \(tenant) AND id = ANY (\(ids))
            """
        ).all(UserRow.init)
        let identities = Set(before.flatMap { $0.personKeys(in: database) })
        let addresses = Set(
            (before.map(\.emailKey) + also).map { database.personKey(emailKey: $0) })
        try await query(
            Self.lockingPeople(
                identities: Array(identities.joined()), addresses: Array(addresses.joined())))
        let users = try await query(
            """
            SELECT \(UserRow.columns(of: tenant)) FROM users
            WHERE tenant_id = \(tenant) AND id = ANY (\(ids)) ORDER BY id FOR UPDATE OF users
            """
        ).all(UserRow.init)
        guard users.allSatisfy({ identities.isSuperset(of: $0.personKeys(in: database)) }) else {
            throw Self.changedMeanwhile
        }
        return Dictionary(uniqueKeysWithValues: users.map { ($0.id, $0) })
    }

    private static let changedMeanwhile = StorageFailure.conflict(
        code: "conflict", detail: "A sign-in was added just now; try again.", id: nil)
}

extension UserRow {
    fileprivate func personKeys(in database: Database) -> [[UInt8]] {
        identities.map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
    }
}
