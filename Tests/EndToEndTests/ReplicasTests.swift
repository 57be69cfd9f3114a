import API
import Cryptography
import Domain
import Foundation
import Gatehouse
import JSON
import Postgres
import Runtime
import Storage
import Synchronization
import TestSupport
import Testing

/// Several services on one database, asked without pause while what they answer is withdrawn.
@Suite(.cleansUp) struct ReplicasTests {
    /// Something that is accepted until it is withdrawn, and when that was seen.
    private final class Thing: Sendable {
        struct Times {
            var calledAt = UInt64.max
            var returnedAt = UInt64.max
            var lastAcceptedSent: UInt64 = 0
            var firstRefusedAnswered = UInt64.max
        }

        let request: String
        let accepted: @Sendable (RunningService.Answer) -> Bool
        let revocation: String
        let times = Mutex(Times())

        init(
            _ request: String, revocation: String,
            accepted: @escaping @Sendable (RunningService.Answer) -> Bool
        ) {
            self.request = request
            self.revocation = revocation
            self.accepted = accepted
        }
    }

    private static func services(_ database: TestDatabase, _ count: Int) async throws -> [Service] {
        var services: [Service] = []
        for _ in 0..<count {
            let service = try await Service.start(
                ServiceConfiguration(
                    appConninfo: database.app, platformConninfo: database.platform,
                    secrets: SecretKeys([UInt8](repeating: 9, count: 32)), listen: "127.0.0.1:0",
                    threads: 1, consoleDirectory: TestCluster.root + "/Public",
                    lease: .seconds(2), logger: Logger(level: .error, format: .text)))
            CleanUp.atEnd { await service.stop() }
            services.append(service)
        }
        return services
    }

    private static func platformKey(_ service: Service) async throws -> String {
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(try await service.composition.application.database.installSetupKey(secret.text))
        return "Authorization: Bearer \(secret.text)"
    }

    /// Keys to be revoked, rotated, or refused with their owner, and origins to be removed.
    private static func things(
        _ count: Int, port: Int, auth: String
    ) throws -> [Thing] {
        var wire = try Wire(port: port)
        func make(_ target: String, _ body: String) throws -> JSONValue {
            let answer = try wire.exchange(
                Wire.request("POST", target, body: body, fields: [auth]))
            #expect(answer.status == 201 || answer.status == 200, "\(answer.body)")
            return try JSONValue(parsing: Array(answer.body.utf8))
        }
        let tenant = "/v1/tenants/acme"
        _ = try make("/v1/tenants", #"{"slug":"acme","name":"Acme"}"#)
        var things: [Thing] = []
        for index in 0..<count {
            switch index % 4 {
            case 0, 1, 2:
                var owner = ""
                var user = ""
                if index % 4 == 2 {
                    let made = try make("\(tenant)/users", #"{"email":"u\#(index)@acme.example"}"#)
                    user = made["id"]?.string ?? ""
                    owner = #","owner":{"type":"user","id":"\#(user)"}"#
                }
                let key = try make(
                    "\(tenant)/api-keys", #"{"name":"k\#(index)","scopes":["smtp"]\#(owner)}"#)
                let id = key["id"]?.string ?? ""
                let revocation: String =
                    switch index % 4 {
                    case 0:
                        Wire.request(
                            "POST", "\(tenant)/api-keys/\(id)/revoke", body: "{}", fields: [auth])
                    case 1:
                        Wire.request(
                            "POST", "\(tenant)/api-keys/\(id)/rotate", body: #"{}"#,
                            fields: [auth])
                    default:
                        Wire.request(
                            "POST", "\(tenant)/users/\(user)/suspend", body: "{}", fields: [auth])
                    }
                let secret = #"{"key":"\#(key["key"]?.string ?? "")"}"#
                // Every second one is asked about alone, the others among many.
                let isAlone = index / 4 % 2 == 0
                things.append(
                    Thing(
                        Wire.request(
                            "POST", "/v1/api-keys/verify" + (isAlone ? "" : "-batch"),
                            body: isAlone
                                ? secret : #"{"keys":[{"key":"nonsense"},\#(secret)]}"#,
                            fields: [auth]),
                        revocation: revocation
                    ) { $0.body.contains(#""valid":true"#) })
            default:
                let origin = "https://o\(index).example"
                let made = try make("\(tenant)/cors-origins", #"{"origin":"\#(origin)"}"#)
                things.append(
                    Thing(
                        Wire.request(
                            "OPTIONS", "\(tenant)/users",
                            fields: [
                                "Origin: \(origin)", "Access-Control-Request-Method: GET",
                            ]),
                        revocation: Wire.request(
                            "DELETE", "\(tenant)/cors-origins/\(made["id"]?.string ?? "")",
                            fields: [auth])
                    ) { $0.status == 204 })
            }
        }
        return things
    }

    private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// Asks for everything over and over until `done`; returns how often it asked.
    private static func ask(_ things: [Thing], _ port: Int, until done: Flag) throws -> Int {
        var wire = try Wire(port: port)
        var asked = 0
        while !done.isSet {
            for thing in things {
                let sent = now()
                let answer = try wire.exchange(thing.request)
                let answered = now()
                asked += 1
                thing.times.withLock { times in
                    if thing.accepted(answer) {
                        times.lastAcceptedSent = max(times.lastAcceptedSent, sent)
                    } else if answer.status < 500 {
                        times.firstRefusedAnswered = min(times.firstRefusedAnswered, answered)
                    }
                }
            }
        }
        return asked
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }

    @Test(arguments: [false, true])
    func `after the call returns, every replica refuses the withdrawn access`(
        connectionsAreCut: Bool
    ) async throws {
        let database = try await TestDatabase.make()
        let services = try await Self.services(database, 3)
        let auth = try await Self.platformKey(services[0])
        let things = try Self.things(40, port: services[0].port, auth: auth)
        // As their first sign-in would.
        let administrator = database.client(as: database.administrator)
        _ = try await administrator.query("UPDATE users SET status = 'active'")
        let done = Flag()
        let asked = Mutex(0)
        let group = DispatchGroup()
        for service in services {
            DispatchQueue.global().async(group: group) {
                let count = (try? Self.ask(things, service.port, until: done)) ?? 0
                asked.withLock { $0 += count }
            }
        }
        for (turn, (index, thing)) in things.enumerated().shuffled().enumerated() {
            if connectionsAreCut, turn % 10 == 5 {
                _ = try await administrator.query(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                        AND usename <> current_user
                    """)
            }
            thing.times.withLock { $0.calledAt = Self.now() }
            var status = 0
            // While the connections come back the service says 503.
            for _ in 0..<1000 where status == 0 || status >= 500 {
                var wire = try Wire(port: services[index % 3].port)
                status = try wire.exchange(thing.revocation).status
            }
            thing.times.withLock { $0.returnedAt = Self.now() }
            #expect(
                (200..<300).contains(status) || (connectionsAreCut && status == 404),
                "\(thing.revocation) \(status)")
        }
        done.set()
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        for thing in things {
            let times = thing.times.withLock { $0 }
            #expect(times.lastAcceptedSent <= times.returnedAt, "stale: \(thing.revocation)")
            #expect(times.firstRefusedAnswered >= times.calledAt, "early: \(thing.revocation)")
        }
        #expect(asked.withLock { $0 } > things.count)
        #expect(
            connectionsAreCut
                || services.allSatisfy { $0.composition.application.database.replica.isTrusted })
    }

    @Test func `a host that was bound or released on one replica is so on each at once`()
        async throws
    {
        let database = try await TestDatabase.make()
        let services = try await Self.services(database, 2)
        let auth = try await Self.platformKey(services[0])
        var here = try Wire(port: services[0].port)
        var there = try Wire(port: services[1].port)
        let made = try here.exchange(
            Wire.request(
                "POST", "/v1/tenants", body: #"{"slug":"acme","name":"Acme"}"#, fields: [auth]))
        #expect(made.status == 201)
        func ask() throws -> Int {
            try there.exchange(
                "GET /api/server/ping HTTP/1.1\r\nHost: photos.acme.example\r\n\r\n"
            ).status
        }
        func bind(_ hosts: String) throws -> Int {
            try here.exchange(
                Wire.request(
                    "PUT", "/v1/tenants/acme/clients/immich",
                    body: #"{"enabled":true,"hosts":[\#(hosts)],"redirect_uris":[],"settings":{}}"#,
                    fields: [auth])
            ).status
        }
        for _ in 0..<20 {
            #expect(try ask() == 421)
            #expect(try bind(#""photos.acme.example""#) == 200)
            #expect(try ask() == 200)
            #expect(try bind("") == 200)
        }
        #expect(try ask() == 421)
    }
}
