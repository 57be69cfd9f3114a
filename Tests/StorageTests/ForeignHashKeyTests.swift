import API
import Cryptography
import Domain
import Gatehouse
import Storage
import TestSupport
import Testing
import Text

/// A foreign hash has no pepper: a rotation of the secret key neither waits for it nor loses it.
@Suite(.cleansUp) struct ForeignHashKeyTests {
    private static let old = [UInt8](repeating: 7, count: 32)
    private static let new = [UInt8](repeating: 8, count: 32)

    /// Firebase's published example.
    private static func firebase() throws -> ForeignPasswordHash {
        let project = try FirebaseProject(
            signerKey: "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKb"
                + "m0QsEmYUSDzZvpjeJ9WmXA==",
            saltSeparator: "Bw==", rounds: 8, memoryCost: 14)
        return try .firebase(
            hash: "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+V"
                + "HjoZilo78198JAdRuid5lQ==", salt: "42xEC+ixf3L2lw==", of: project)
    }

    @Test func `a foreign hash outlasts the key, and nothing remains of the key`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        try await service.storage.admitSecrets(replica: nil)
        let ada = try await service.makeUser(
            "ada@acme.example", name: "Ada", password: "a long enough one", in: tenant)
        let hash = try Self.firebase()
        _ = try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.setPassword(hash.text, of: ada.id, keeping: .none)
        }
        let keys = try #require(SecretKeys(Self.new, previous: Self.old))
        let database = try service.replica(secrets: keys).application.database
        try await database.admitSecrets(replica: nil)
        try await database.switchSecrets()
        _ = try await database.followSecrets(replica: nil)
        try await database.resealAll()
        try await database.rebuildDirectory()
        try await database.finishRotation()
        let previous = try #require(keys.previous)
        #expect(try await database.remains(of: previous) == [])
        let alone = try service.replica(secrets: SecretKeys(Self.new))
        try await alone.application.database.admitSecrets(replica: nil)
        try await alone.application.database.forgetSecrets()
        let found = try await alone.application.database.scope(tenant.id).userWithPassword(
            emailKey: "ada@acme.example", device: [])
        let text = try #require(found?.secrets.passwordHash)
        #expect(text == hash.text)
        let verdict = try await alone.application.passwords.verify(
            Array("user1password".utf8), against: text, ofUserIn: tenant.id)
        #expect(verdict == PasswordHasher.Verdict(matches: true, needsRehash: true))
    }
}
