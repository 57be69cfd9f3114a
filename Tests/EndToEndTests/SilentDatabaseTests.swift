import API
import Domain
import Gatehouse
import Runtime
import Storage
import TestSupport
import Testing

/// PostgreSQL that takes everything and says nothing: every request is answered in its time.
@Suite(.serialized, .cleansUp) struct SilentDatabaseTests {
    private static let attempt =
        #"{"provider":"google","issuer":"https://accounts.google.com","subject":"1","#
        + #""email":"ann@corp.example","email_verified":true}"#

    @Test func `every answer meets its deadline, and the service continues without a restart`()
        async throws
    {
        let database = try await TestDatabase.make()
        let proxy = SilentProxy(to: database.app)
        let log = CapturedLog()
        let running = try await RunningService(over: database) {
            $0.appConninfo = proxy.passing(database.app)
            $0.platformConninfo = proxy.passing(database.platform)
            $0.logger = log.logger
            // Whether another host is bound to a client is asked of the database.
            $0.publicURL = "http://gate.example"
        }
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        let bearer = ["Authorization: Bearer \(secret.text)"]
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        #expect(try running.send("GET", "/readyz").status == 200)
        #expect(try running.send("GET", "/v1/tenants", fields: bearer).status == 200)
        #expect(try running.send("GET", "/console/").status == 200)
        proxy.swallow()
        let asked: [(String, String, body: String?, most: Duration)] = [
            ("GET", "/readyz", nil, .milliseconds(1300)),
            ("GET", "/console/", nil, .milliseconds(500)),
            ("GET", "/livez", nil, .milliseconds(500)),
            ("POST", "/v1/hooks/pre-signup", Self.attempt, .milliseconds(2800)),
            ("GET", "/v1/tenants", nil, .milliseconds(5300)),
            ("POST", "/v1/tenants", #"{"slug":"late","name":"Late"}"#, .milliseconds(5300)),
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (method, target, body, most) in asked {
                group.addTask {
                    let clock = ContinuousClock()
                    let start = clock.now
                    let answer = try await OwnThread.run {
                        try running.send(method, target, body: body, fields: bearer)
                    }
                    let took = clock.now - start
                    let isPage = target == "/console/" || target == "/livez"
                    #expect(answer.status == (isPage ? 200 : 503), "\(target) \(answer)")
                    #expect(took < most, "\(target) took \(took)")
                    if !isPage { #expect(answer.first("retry-after") == "1", "\(target)") }
                }
            }
            try await group.waitForAll()
        }
        proxy.pass()
        let clock = ContinuousClock()
        let start = clock.now
        while try running.send("GET", "/readyz").status != 200, clock.now - start < .seconds(10) {}
        #expect(clock.now - start < .seconds(8))
        // The one line of the outage: of the first connection that was given up, or was tried in vain.
        #expect(log.text.contains(/postgres\.((listener_)?lost|refused)/))
    }

    @Test func `one time holds for all that a request waits for`() async throws {
        let database = try await TestDatabase.make()
        let proxy = SilentProxy(to: database.app)
        let running = try await RunningService(over: database) {
            $0.appConninfo = proxy.passing(database.app)
            $0.platformConninfo = proxy.passing(database.platform)
            $0.publicURL = "http://gate.example"
        }
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        let bearer = ["Authorization: Bearer \(secret.text)"]
        let quick = try running.send(
            "POST", "/v1/hooks/pre-signup", body: Self.attempt, fields: bearer)
        #expect(quick.status == 200, "\(quick)")
        // No answer of the database is late by itself; all those of one attempt together are, few as they are.
        proxy.delay(milliseconds: 1100)
        let clock = ContinuousClock()
        let start = clock.now
        let answer = try await OwnThread.run {
            try running.send("POST", "/v1/hooks/pre-signup", body: Self.attempt, fields: bearer)
        }
        #expect(answer.status == 503, "\(answer)")
        #expect(clock.now - start < .milliseconds(2800))
        proxy.pass()
    }
}
