import API
import Cryptography
import Domain
import Postgres
import Storage
import Text

/// The content of `dev`'s first screen: an owner and the tenant `demo`, created at the first start.
package struct Demonstration: Sendable {
    private static let owner = "owner@gatehouse.test"
    private let database: Database
    private let dispatcher: Dispatcher

    package init(_ service: Service) {
        database = service.composition.database
        dispatcher = service.composition.dispatcher
    }

    /// A token that signs the owner in once, valid for an hour.
    package func signInLink() async throws -> String {
        let owner = try await owner()
        if try await database.tenant("demo") == nil { try await populate(owner) }
        let token = TokenSecret.make()
        try await database.storeOperatorLink(
            TokenSecret.hash(token) ?? [], for: owner.id, seconds: 3600)
        return token
    }

    private func owner() async throws -> OperatorRow {
        let found = try await database.operatorsWithPassword(emailKey: Self.owner)
        if let (person, _) = found.first { return person }
        return try await database.createOperator(
            email: Self.owner, emailKey: Self.owner, name: "Owner", role: .owner, tenant: nil,
            passwordHash: nil, by: .system)
    }

    private func populate(_ owner: OperatorRow) async throws {
        let token = TokenSecret.make()
        let hash = TokenSecret.hash(token) ?? []
        try await database.startOperatorSession(
            owner, tokenHash: hash, userAgent: nil, method: .password, by: .system)
        try await DemonstrationData(dispatcher: dispatcher, token: token).make()
        if let session = try await database.operatorSession(tokenHash: hash) {
            try await database.endOperatorSession(session.id, of: owner, by: .system)
            try await database.forgetSignIns(of: owner)
        }
    }
}
