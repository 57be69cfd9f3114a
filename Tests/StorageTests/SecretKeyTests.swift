import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A wrong secret key is refused, and one key gives way to the next while replicas serve.
@Suite(.cleansUp) struct SecretKeyTests {
    private static let old = [UInt8](repeating: 7, count: 32)
    private static let new = [UInt8](repeating: 8, count: 32)

    private static func both() throws -> SecretKeys {
        try #require(SecretKeys(new, previous: old))
    }

    /// A provider with a secret and a user with a password, under the old key.
    private static func fill(_ service: TestService, _ tenant: TenantRow) async throws {
        try await service.storage.admitSecrets(replica: nil)
        try await service.manage(
            .post, "/v1/providers",
            """
            {"kind":"oidc","name":"Login","issuer":"https://login.example","client_id":"c",\
            "secret":"at rest"}
            """)
        let ada = try await service.makeUser(
            "ada@acme.example", name: "Ada", password: "a long enough one", in: tenant)
        let scope = service.storage.scope(tenant.id)
        _ = try await scope.write(
            """
            INSERT INTO former_addresses (tenant_id, email_key, user_id, email, expires_at)
            VALUES (\(tenant.id), \(former), \(ada.id), \(former), now() + interval '30 days')
            """)
        let key = service.storage.personKey(emailKey: former)
        _ = try await scope.write("SELECT directory_add_people(\([key]))")
    }

    /// An address that she had.
    private static let former = "ada.b@acme.example"

    private static func secret(_ database: Database) async throws -> String? {
        let providers = try await database.providers(issuing: "https://login.example")
        return try await database.clientSecret(of: try #require(providers.first))
    }

    private static func tenants(
        _ database: Database, of email: String = "ada@acme.example"
    ) async throws -> Int {
        let key = database.personKey(emailKey: email)
        return try await database.app.query("SELECT directory_tenants_of(\(key))").count
    }

    @Test func `a key that the canary was not written with is refused`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        try await service.storage.admitSecrets(replica: nil)
        try await service.storage.admitSecrets(replica: nil)
        let stranger = try service.replica(secrets: SecretKeys(Self.new)).application.database
        await #expect(throws: SecretKeyFault.foreign(["the canary"])) {
            try await stranger.admitSecrets(replica: nil)
        }
    }

    @Test func `no canary is written over what another key sealed`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        try await Self.fill(service, tenant)
        _ = try await service.storage.app.query("DELETE FROM secret_keys")
        let stranger = try service.replica(secrets: SecretKeys(Self.new)).application.database
        await #expect(
            throws: SecretKeyFault.foreign(["secrets of providers", "the directory"])
        ) { try await stranger.admitSecrets(replica: nil) }
        try await service.storage.admitSecrets(replica: nil)
    }

    @Test func `the key is not switched while a replica knows only one`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        try await Self.fill(service, tenant)
        let (first, second) = (UUID.random(), UUID.random())
        try await service.storage.admitSecrets(replica: first)
        let keys = try Self.both()
        let next = try service.replica(secrets: keys).application.database
        try await next.admitSecrets(replica: second)
        #expect(keys.sealing.id == keys.previous?.id, "it seals with what all can open")
        await #expect(throws: SecretKeyFault.heldByTooFew(replicas: 1)) {
            try await next.switchSecrets()
        }
        await service.storage.leaveSecrets(replica: first)
        try await next.switchSecrets()
        #expect(try await !next.secretsAreFollowed(), "the other replica has not heard of it")
        _ = try await next.followSecrets(replica: second)
        #expect(try await next.secretsAreFollowed())
        await #expect(throws: SecretKeyFault.foreign(["the canary"])) {
            try await service.storage.admitSecrets(replica: first)
        }
    }

    @Test func `a rotation repeated after any interruption leaves nothing on the old key`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        try await Self.fill(service, tenant)
        let keys = try Self.both()
        let next = try service.replica(secrets: keys)
        let database = next.application.database
        try await database.admitSecrets(replica: nil)
        #expect(try await Self.tenants(database) == 1, "people are found under both keys")
        // As often as the command may have been killed after a step.
        for steps in 1...4 {
            try await database.switchSecrets()
            _ = try await database.followSecrets(replica: nil)
            if steps > 1 { try await database.resealAll() }
            if steps > 2 { try await database.rebuildDirectory() }
            if steps > 3 { try await database.finishRotation() }
            #expect(try await Self.tenants(database) == 1)
            #expect(try await Self.secret(database) == "at rest")
        }
        let previous = try #require(keys.previous)
        let remains = try await database.remains(of: previous)
        #expect(
            remains == [
                SecretKeyRemains(name: "passwords and PINs", count: 1, endsByItself: true)
            ])
        let alone = try service.replica(secrets: SecretKeys(Self.new)).application.database
        try await alone.admitSecrets(replica: nil)
        #expect(try await Self.secret(alone) == "at rest")
        #expect(try await Self.tenants(alone) == 1)
        #expect(try await Self.tenants(alone, of: Self.former) == 1)
        await #expect(throws: SecretKeyFault.foreign(["the canary"])) {
            try await service.storage.admitSecrets(replica: nil)
        }
    }

    @Test func `a person who comes while the key changes is found under the new one alone`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        try await Self.fill(service, tenant)
        let database = try service.replica(secrets: try Self.both()).application.database
        try await database.admitSecrets(replica: nil)
        _ = try await database.scope(tenant.id).change(by: .system) { change in
            try await change.createUser(
                email: EmailAddress("bob@acme.example"), name: nil, role: .member)
        }
        try await database.switchSecrets()
        _ = try await database.followSecrets(replica: nil)
        try await database.rebuildDirectory()
        let alone = try service.replica(secrets: SecretKeys(Self.new)).application.database
        let key = alone.personKey(emailKey: "bob@acme.example")
        #expect(try await alone.app.query("SELECT directory_tenants_of(\(key))").count == 1)
    }

    @Test func `an operator's password moves to the new key at the next sign-in`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        try await service.storage.admitSecrets(replica: nil)
        let password = "a long enough one"
        let hash = try await service.composition.application.passwords.hash(Array(password.utf8))
        _ = try await service.storage.createOperator(
            email: "ann@acme.example", emailKey: "ann@acme.example", name: nil, role: .owner,
            tenant: nil, passwordHash: hash, by: .system)
        _ = try await service.storage.app.query("UPDATE operators SET status = 'active'")
        let keys = try Self.both()
        let next = try service.replica(secrets: keys)
        try await next.application.database.admitSecrets(replica: nil)
        try await next.application.database.switchSecrets()
        _ = try await next.application.database.followSecrets(replica: nil)
        let body = #"{"email":"ann@acme.example","password":"\#(password)"}"#
        let previous = try #require(keys.previous)
        #expect(try await next.application.database.remains(of: previous).count == 1)
        #expect(
            try await Self.signIn(body, service, next) < 300)
        #expect(try await next.application.database.remains(of: previous) == [])
        let alone = try service.replica(secrets: SecretKeys(Self.new))
        #expect(
            try await Self.signIn(body, service, alone) < 300)
    }

    private static func signIn(
        _ body: String, _ service: TestService, _ replica: Composition
    ) async throws -> Int {
        let fields = [Field("x-gatehouse-console", "1"), Field("sec-fetch-site", "same-origin")]
        return try await service.send(.post, "/v1/session", json: body, fields: fields, to: replica)
            .status
    }

    @Test func `a tenant's part of the directory is written and cut in that tenant alone`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        try await Self.fill(service, tenant)
        let other = try await service.makeTenant("other")
        let database = service.storage
        let key = database.personKey(emailKey: "ada@acme.example")
        _ = try await database.scope(other.id).write("SELECT directory_add_people(\([key]))")
        #expect(try await Self.tenants(database) == 2)
        let nothing: [[UInt8]] = []
        _ = try await database.scope(other.id).write("SELECT directory_keep_people(\(nothing))")
        #expect(try await Self.tenants(database) == 1)
        _ = try await database.app.query("SELECT directory_keep_people(\(nothing))")
        #expect(try await Self.tenants(database) == 1, "without a tenant nothing is cut")
    }

    @Test func `without a lost key the rest goes on, and people are found`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        try await Self.fill(service, tenant)
        let database = try service.replica(secrets: SecretKeys(Self.new)).application.database
        #expect(
            try await database.foreignPlaces() == [
                "the canary", "secrets of providers", "the directory",
            ])
        try await database.forgetSecrets()
        try await database.admitSecrets(replica: nil)
        #expect(try await Self.secret(database) == nil)
        #expect(try await Self.tenants(database) == 1)
        #expect(try await database.foreignPlaces().isEmpty)
    }
}
