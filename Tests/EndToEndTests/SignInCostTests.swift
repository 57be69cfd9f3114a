import API
import Domain
import Gatehouse
import JSON
import Storage
import TestSupport
import Testing

/// What a sign-in costs PostgreSQL: the ways to it and back, and statements.
@Suite(.cleansUp) struct SignInCostTests {
    private static func attempt(_ subject: String) -> String {
        #"{"provider":"google","issuer":"https://accounts.google.com","subject":"\#(subject)","#
            + #""email":"\#(subject)@corp.example","email_verified":true,"tenant":"acme"}"#
    }

    @Test func `an invited person's first sign-in takes 14 statements in 4 round trips`()
        async throws
    {
        let database = try await TestDatabase.make()
        let proxy = SilentProxy(to: database.app)
        let running = try await RunningService(over: database) {
            $0.appConninfo = proxy.passing(database.app)
        }
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        let bearer = ["Authorization: Bearer \(secret.text)"]
        let storage = running.service.composition.application.database
        #expect(try await storage.installSetupKey(secret.text))
        func post(_ path: String, _ body: String) throws -> RunningService.Answer {
            try running.send("POST", path, body: body, fields: bearer)
        }
        let tenant = try await storage.createTenant(
            slug: "acme", name: "Acme", policy: .object([]), by: .system)
        #expect(
            try post("/v1/providers", #"{"kind":"google","name":"Google","client_id":"web"}"#)
                .status
                == 201)
        let invites = (0..<16).map {
            #"{"email":"p\#($0)@corp.example","role":"member","delivery":"link"}"#
        }.joined(separator: ",")
        #expect(
            try post("/v1/tenants/\(tenant.id)/invites", #"{"invites":[\#(invites)]}"#).status
                == 200)
        func signIn(_ subject: String) throws {
            #expect(try post("/v1/hooks/pre-signup", Self.attempt(subject)).status == 200)
        }
        // Every connection has prepared the statements, and each answer comes late enough that what
        // travels together is seen as one.
        for n in 0..<8 { try signIn("p\(n)") }
        proxy.delay(milliseconds: 20)
        var roundTrips: [Int] = []
        for n in 8..<16 where roundTrips.last != 4 {
            let before = proxy.carried
            try signIn("p\(n)")
            let costs = proxy.carried.map { connection, traffic in
                (
                    statements: traffic.statements - (before[connection]?.statements ?? 0),
                    roundTrips: traffic.roundTrips - (before[connection]?.roundTrips ?? 0)
                )
            }
            let most = try #require(costs.max { $0.statements < $1.statements })
            #expect(most.statements == 14)
            roundTrips.append(most.roundTrips)
        }
        // A machine that stands still for longer than the delay divides what was sent together, so
        // that more are counted, never fewer.
        #expect(roundTrips.min() == 4, "\(roundTrips)")
    }
}
