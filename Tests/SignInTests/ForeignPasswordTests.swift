import API
import Domain
import Gatehouse
import Glibc
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@testable import Cryptography

/// People whose password's hash another system made sign in as before, and get a hash of ours.
@Suite(.cleansUp) struct ForeignPasswordTests {
    private static let bcrypt = "$2b$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz."
    private static let pbkdf2 =
        "$pbkdf2-sha256$i=20000$AQIDBAUGBwgJCgsMDQ4PEA"
        + "$dlKqdyfL/jjnl+w0zxgS1CHO4SujcgoLlrPYvvnOcxE"
    private static let next = "staple battery horse"

    private static func store(
        _ text: String, _ service: TestService, _ tenant: UUID, _ email: String = "ann@acme.example"
    ) async throws {
        try await service.storage.scope(tenant).change(by: .system) { change in
            _ = try await change.query(
                """
                UPDATE users SET password_hash = \(text)
                WHERE tenant_id = \(tenant) AND email_key = \(email)
                """)
        }
    }

    private static func stored(
        _ service: TestService, _ tenant: UUID, _ email: String = "ann@acme.example"
    ) async throws -> String {
        let found = try await service.storage.scope(tenant).userWithPassword(
            emailKey: email, device: [])
        return try #require(found?.secrets.passwordHash)
    }

    @Test(arguments: [bcrypt, pbkdf2])
    func `the old password signs in at once, and is hashed anew once`(text: String) async throws {
        let fixture = try await ImmichFixture.make()
        let (service, tenant) = (fixture.service, fixture.tenant.id)
        try await Self.store(text, service, tenant)
        #expect(try await fixture.signIn("correct horse batterz").status == 401)
        #expect(try await Self.stored(service, tenant) == text, "a wrong password changes nothing")
        #expect(try await fixture.signIn().status == 201)
        let own = try await Self.stored(service, tenant)
        #expect(own.hasPrefix("$argon2id$v=19$") && own.contains(",keyid="))
        #expect(try await fixture.signIn().status == 201)
        #expect(try await fixture.signIn("correct horse batterz").status == 401)
        #expect(try await Self.stored(service, tenant) == own)
    }

    @Test func `the hosted page takes the old password`() async throws {
        let fixture = try await HostedFixture()
        let token = try await fixture.invite()
        let accepted = try await fixture.service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","password":"a long enough one","name":"Ann"}"#)
        #expect(accepted.status == 200, "\(accepted.text)")
        let tenant = try #require(try await fixture.service.storage.tenant("acme")).id
        try await Self.store(Self.bcrypt, fixture.service, tenant, HostedFixture.email)
        let jar = HostedFixture.Jar()
        let asked = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar)
        let form = hiddenField("token", asked)
        for (password, status, text) in [
            ("a long enough one", 401, "password is wrong"),
            (ImmichFixture.password + "\0", 401, ""),
            (ImmichFixture.password, 200, "Add One?"),
        ] {
            let answer = try await fixture.post(
                "/sign-in/password", [("token", form), ("password", password)], jar)
            if text.isEmpty {
                #expect(answer.status >= 400)
            } else {
                expectHostedPage(answer, status, text)
            }
        }
        let own = try await Self.stored(fixture.service, tenant, HostedFixture.email)
        #expect(own.contains(",keyid="))
    }

    @Test func `a password that is changed meanwhile stays`() async throws {
        let fixture = try await ImmichFixture.make()
        let (service, tenant) = (fixture.service, fixture.tenant.id)
        let hash = try await service.composition.application.passwords.hash(Array(Self.next.utf8))
        let id = fixture.user.id
        // Where the change always comes first, each sign-in fails: the limit lets four of them pass.
        for _ in 0..<4 {
            try await Self.store(Self.bcrypt, service, tenant)
            async let signedIn = fixture.signIn()
            async let changed = service.storage.scope(tenant).change(by: .system) { change in
                _ = try await change.setPassword(hash, of: id, keeping: .none)
            }
            _ = try await (signedIn, changed)
            #expect(try await Self.stored(service, tenant) == hash)
        }
        // The order in which the change comes between the check and the new hash.
        try await service.storage.scope(tenant).change(by: .system) { change in
            try await change.rehashPassword("late", of: id, from: Self.bcrypt)
        }
        #expect(try await fixture.signIn(Self.next).status == 201)
    }

    @Test func `the own password may be changed before it is hashed anew`() async throws {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        try await Self.store(Self.bcrypt, fixture.service, fixture.tenant.id)
        let changed = try await fixture.send(
            .post, "/api/auth/change-password",
            #"{"password":"\#(ImmichFixture.password)","newPassword":"\#(Self.next)"}"#,
            token: token)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(try await fixture.signIn().status == 401)
        #expect(try await fixture.signIn(Self.next).status == 201)
    }

    @Test func `bcrypt's owner signs in by the first 72 bytes until the password is set anew`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let text = "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"
        try await Self.store(text, fixture.service, fixture.tenant.id)
        let longest = String(repeating: "a", count: 72)
        #expect(try await fixture.signIn("b" + longest).status == 401)
        for password in [longest + "aaaaaaaa", longest, longest + "other"] {
            #expect(try await fixture.signIn(password).status == 201)
            let own = try await Self.stored(fixture.service, fixture.tenant.id)
            #expect(own.contains(",cut=72$"))
        }
        let id = fixture.user.id
        let hash = try await fixture.service.composition.application.passwords.hash(
            Array((longest + "new").utf8))
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            _ = try await change.setPassword(hash, of: id, keeping: .none)
        }
        #expect(try await fixture.signIn(longest + "other").status == 401)
        #expect(try await fixture.signIn(longest + "new").status == 201)
    }

    @Test func `wrong passwords are counted and answered as with a hash of ours`() async throws {
        var all: [[String]] = []
        for text in [nil, Self.bcrypt] {
            let clock = TestClock()
            clock.startMinute()
            let fixture = try await ImmichFixture.make(clock: clock)
            if let text { try await Self.store(text, fixture.service, fixture.tenant.id) }
            var answers: [String] = []
            for number in 0..<8 {
                let answer = try await fixture.signIn("guess \(number)")
                let id = answer.first("x-immich-cid") ?? ""
                answers.append("\(answer.status) \(answer.text.replacing(id, with: ""))")
            }
            all.append(answers)
        }
        #expect(all[0] == all[1])
        #expect(all[0].filter { $0.hasPrefix("429 ") }.count == 3)
    }

    @Test func `an operator's password is never a foreign one`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        _ = try await service.storage.createOperator(
            email: "ann@acme.example", emailKey: "ann@acme.example", name: nil, role: .owner,
            tenant: nil, passwordHash: Self.bcrypt, by: .system)
        _ = try await service.storage.app.query("UPDATE operators SET status = 'active'")
        await #expect(throws: PasswordFault.badHash) {
            try await service.composition.application.passwords.verify(
                Array(ImmichFixture.password.utf8), against: Self.bcrypt)
        }
        let answer = try await service.send(
            .post, "/v1/session",
            json: #"{"email":"ann@acme.example","password":"\#(ImmichFixture.password)"}"#,
            fields: [Field("x-gatehouse-console", "1"), Field("sec-fetch-site", "same-origin")])
        #expect(answer.status >= 400, "\(answer.text)")
    }

    /// `@unchecked`: a semaphore may be used by any thread.
    private final class Door: @unchecked Sendable {
        private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

        init() { sem_init(semaphore, 0, 0) }
        deinit { semaphore.deallocate() }

        func open() { sem_post(semaphore) }
        func pass() { while sem_wait(semaphore) != 0 {} }
    }

    @Test func `too many at once in one tenant are asked to retry`() async throws {
        let fixture = try await ImmichFixture.make()
        let tenant = fixture.tenant.id
        try await Self.store(Self.bcrypt, fixture.service, tenant)
        let queue = fixture.service.composition.application.passwords.foreign
        let door = Door()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            // One runs until the door opens, the others wait, and the last finds no place.
            for _ in 0..<ForeignHashQueue.waitingLimit + 2 {
                group.addTask {
                    do {
                        return try await queue.alone(tenant) { () -> Result<Bool, PasswordFault> in
                            door.pass()
                            return .success(true)
                        }
                    } catch PasswordFault.busy { return false }
                }
            }
            #expect(try await group.next() == false)
            let answer = try await fixture.signIn()
            #expect(answer.status == 429)
            #expect(answer.first("retry-after") == "1")
            for _ in 0...ForeignHashQueue.waitingLimit { door.open() }
            for try await isDone in group { #expect(isDone) }
        }
        #expect(try await fixture.signIn().status == 201)
    }
}
