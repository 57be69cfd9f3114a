import API
import Cryptography
import Domain
import Gatehouse
import JSON
import Storage
import TestSupport
import Testing

/// A job's progress as Server-Sent Events, over a real socket, while the service works on it.
@Suite(.serialized, .cleansUp) struct JobEventsOnTheWireTests {
    /// With users in `acme` and a key of the platform.
    private func make(users: Int) async throws -> (RunningService, key: String) {
        let running = try await RunningService()
        let storage = running.service.composition.application.database
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(try await storage.installSetupKey(secret.text))
        let tenant = try await storage.createTenant(
            slug: "acme", name: "Acme", policy: .object([]), by: .system)
        try await storage.addUsers(1...users, to: tenant.id)
        return (running, secret.text)
    }

    @Test func `the events of a job go on until it ends`() async throws {
        let (running, key) = try await make(users: 300)
        let fields = ["Authorization: Bearer \(key)"]
        let begun = try running.send(
            "POST", "/v1/tenants/acme/users/actions",
            body: #"{"action":"suspend","filter":{"status":"active"},"expected":300}"#,
            fields: fields)
        #expect(begun.status == 202, "\(begun.head) \(begun.body)")
        let path = try #require(begun.first("location"))
        let answer = try running.send("GET", path + "/events", fields: fields)
        #expect(answer.status == 200 && answer.first("content-type") == "text/event-stream")
        #expect(answer.first("x-accel-buffering") == "no")
        let text = String(
            decoding: try Chunks(Array(answer.body.utf8)).whole(), as: UTF8.self)
        let events = text.split(separator: "\n\n").filter { $0.contains("event: ") }
        let last = try #require(events.last)
        #expect(events.first?.hasPrefix("retry: 2000\n") == true)
        #expect(events.dropLast().allSatisfy { $0.contains("event: progress\n") })
        #expect(last.contains("event: end\n") && last.contains(#""status":"done""#), "\(text)")
        #expect(last.contains(#""done":300"#))
        let report = try running.send(
            "GET", path + "/report", fields: fields + ["Accept: text/csv"])
        let file = try CSVFile(try Chunks(Array(report.body.utf8)).whole())
        #expect(file["status"] == [String](repeating: "done", count: 300))
    }

    @Test func `a client that hangs up gives its stream back, and a fifth waits`() async throws {
        let (running, key) = try await make(users: 1)
        let fields = ["Authorization: Bearer \(key)"]
        let storage = running.service.composition.application.database
        let tenant = try #require(try await storage.fetchTenant("acme"))
        let job = try await storage.scope(tenant.id).change(by: .system) { change in
            let maker = JobMaker(type: "operator", id: "", name: "", home: nil)
            return try await change.pauseJob(
                change.createJob("users_actions", .object([]), total: 1, by: maker))
        }
        let path = "/v1/jobs/\(job.id)/events"
        let request = Wire.request("GET", path, fields: fields)
        do {
            var first = try Wire(port: running.service.port)
            var second = try Wire(port: running.service.port)
            var third = try Wire(port: running.service.port)
            var fourth = try Wire(port: running.service.port)
            #expect(try first.exchange(request).status == 200)
            #expect(try second.exchange(request).status == 200)
            #expect(try third.exchange(request).status == 200)
            #expect(try fourth.exchange(request).status == 200)
            let fifth = try running.send("GET", path, fields: fields)
            #expect(fifth.status == 429, "\(fifth.head)")
        }
        var status = 0
        for _ in 0..<100_000 where status != 200 {
            status = try running.send("HEAD", path, fields: fields).status
        }
        #expect(status == 200)
    }
}
