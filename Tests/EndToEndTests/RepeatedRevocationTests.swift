import API
import Cryptography
import Dispatch
import Domain
import Gatehouse
import JSON
import Postgres
import Runtime
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// A revocation that waits for a silent replica, and is asked for again meanwhile.
@Suite(.cleansUp) struct RepeatedRevocationTests {
    /// Holds a lease, and obeys when the test says so.
    private static let silent = UUID(high: 1, low: 2)

    private struct Case {
        var name: String
        var request: String
        var repeated = 200
    }

    private final class Asked: Sendable {
        private let done = Atomic(false)
        var isAnswered: Bool { done.load(ordering: .sequentiallyConsistent) }
        let status: Task<Int, any Error>

        private init(_ status: Task<Int, any Error>) { self.status = status }

        static func ask(_ request: String, _ port: Int) -> Asked {
            let (answers, answer) = AsyncStream<Int>.makeStream()
            let asked = Asked(
                Task {
                    for await status in answers { return status }
                    throw Wire.Closed()
                })
            // It blocks, and the test's own tasks have as many threads as there are cores.
            DispatchQueue.global().async {
                defer { answer.finish() }
                defer { asked.done.store(true, ordering: .sequentiallyConsistent) }
                guard var wire = try? Wire(port: port) else { return }
                guard let status = try? wire.exchange(request).status else { return }
                answer.yield(status)
            }
            return asked
        }
    }

    private static func cases(port: Int, auth: String) throws -> [Case] {
        var wire = try Wire(port: port)
        func make(_ target: String, _ body: String) throws -> String {
            let answer = try wire.exchange(
                Wire.request("POST", target, body: body, fields: [auth]))
            #expect(answer.status == 201, "\(answer.body)")
            return try JSONValue(parsing: Array(answer.body.utf8))["id"]?.string ?? ""
        }
        let tenant = "/v1/tenants/acme"
        _ = try make("/v1/tenants", #"{"slug":"acme","name":"Acme"}"#)
        let keys = try (0..<3).map {
            try make("\(tenant)/api-keys", #"{"name":"k\#($0)","scopes":["smtp"]}"#)
        }
        let users = try (0..<2).map {
            try make("\(tenant)/users", #"{"email":"u\#($0)@acme.example"}"#)
        }
        let origin = try make("\(tenant)/cors-origins", #"{"origin":"https://o.example"}"#)
        func post(_ target: String, _ more: String...) -> String {
            Wire.request("POST", tenant + target, body: "{}", fields: [auth] + more)
        }
        func delete(_ target: String) -> String {
            Wire.request("DELETE", tenant + target, fields: [auth])
        }
        return [
            Case(name: "a key", request: post("/api-keys/\(keys[0])/revoke")),
            Case(
                name: "a key, idempotent",
                request: post("/api-keys/\(keys[1])/revoke", "Idempotency-Key: once")),
            Case(
                name: "all keys",
                request: Wire.request(
                    "POST", tenant + "/api-keys/revoke", body: #"{"reason":"a test"}"#,
                    fields: [auth])),
            Case(name: "a person", request: post("/users/\(users[0])/suspend")),
            Case(name: "a person for good", request: delete("/users/\(users[1])"), repeated: 204),
            Case(name: "an origin", request: delete("/cors-origins/\(origin)"), repeated: 404),
            Case(name: "the tenant", request: post("/suspend")),
            Case(name: "the tenant for good", request: delete(""), repeated: 204),
        ]
    }

    @Test func `a repeated revocation waits like the first one`() async throws {
        let database = try await TestDatabase.make()
        let service = try await Service.start(
            ServiceConfiguration(
                appConninfo: database.app, platformConninfo: database.platform,
                secrets: SecretKeys([UInt8](repeating: 9, count: 32)), listen: "127.0.0.1:0",
                threads: 1,
                consoleDirectory: TestCluster.root + "/Public", lease: .seconds(60),
                logger: Logger(level: .error, format: .text)))
        CleanUp.atEnd { await service.stop() }
        let administrator = database.client(as: database.administrator)
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(try await service.composition.application.database.installSetupKey(secret.text))
        let cases = try Self.cases(
            port: service.port, auth: "Authorization: Bearer \(secret.text)")
        func last() async throws -> Int64 {
            try await administrator.query("SELECT coalesce(max(seq), 0) FROM revocations")[0]
                .get(0)
        }
        // A replica that does not listen gets no acknowledgement.
        while !service.composition.application.database.replica.isTrusted { _ = try await last() }
        _ = try await administrator.query(
            """
            INSERT INTO replicas (id, lease_until, server)
            VALUES (\(Self.silent), clock_timestamp() + interval '1 hour',
                pg_postmaster_start_time())
            """)
        for one in cases {
            let before = try await last()
            let first = Asked.ask(one.request, service.port)
            while try await last() == before, !first.isAnswered {}
            let told = try await last()
            #expect(told > before && !first.isAnswered, "\(one.name)")
            let second = Asked.ask(one.request, service.port)
            while try await last() == told, !second.isAnswered {}
            let again = try await last()
            #expect(again > told && !second.isAnswered, "\(one.name), again")
            // On several servers another announcement follows the commit.
            var acknowledged = before
            while !first.isAnswered || !second.isAnswered {
                let newest = try await last()
                while acknowledged < newest {
                    acknowledged += 1
                    let text = "acknowledged \(acknowledged) \(Self.silent)"
                    _ = try await administrator.query("SELECT pg_notify('gatehouse', \(text))")
                }
            }
            #expect((200..<300).contains(try await first.status.value), "\(one.name)")
            #expect(try await second.status.value == one.repeated, "\(one.name), again")
        }
    }
}
