import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// An act that says again what a job has done is an act of its own: the undo of the job leaves it.
@Suite(.serialized, .cleansUp) struct RepeatedActTests {
    private static let verbs: [(act: String, status: User.Status)] = [
        ("suspend", .suspended), ("delete", .deleted), ("resume", .active),
    ]

    private func act(
        _ verb: String, on user: UUID, _ fixture: BulkFixture, reason: String? = nil,
        as who: TestService.Credential? = nil
    ) async throws {
        let why = reason.map { #","reason":"\#($0)""# } ?? ""
        let answer = try await fixture.act(
            #"{"action":"\#(verb)","ids":["\#(user)"]\#(why)}"#, as: who)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test(arguments: ["suspend", "delete", "resume"])
    func `a job's undo leaves users on whom somebody acted again`(_ verb: String) async throws {
        let fixture = try await BulkFixture.make()
        let status = try #require(Self.verbs.first { $0.act == verb }).status
        let users = try await fixture.users(101)
        if verb == "resume" {
            _ = try await fixture.finish(
                try await fixture.act(#"{"action":"suspend","ids":[\#(list(users))]}"#))
        }
        let job = try await fixture.finish(
            try await fixture.act(#"{"action":"\#(verb)","ids":[\#(list(users))],"reason":"x"}"#))
        #expect(job.json["status"]?.string == "done", "\(job.text)")
        // The maker with another reason, the maker without one, and another with the same.
        try await act(verb, on: users[0], fixture, reason: "She asked for it.")
        try await act(verb, on: users[1], fixture)
        try await act(verb, on: users[2], fixture, reason: "x", as: .platformOwner)
        let path = "/\(users[3])"
        let one =
            verb == "delete"
            ? try await fixture.base.send(.delete, path)
            : try await fixture.base.send(.post, path + "/" + verb)
        #expect(one.status < 300, "\(one.text)")
        let undone = try await fixture.undo(job.json)
        #expect(undone.json["undone"] == .int(97) && undone.json["kept"] == .int(4))
        for user in users[..<4] { #expect(try await fixture.status(user) == status) }
        #expect(try await fixture.status(users[4]) != status)
    }

    @Test func `a role that is given again stays`() async throws {
        let fixture = try await BulkFixture.make()
        let users = try await fixture.users(101)
        let job = try await fixture.finish(
            try await fixture.act(
                #"{"action":"set_role","role":"manager","ids":[\#(list(users))],"reason":"x"}"#))
        let again = try await fixture.act(
            #"{"action":"set_role","role":"manager","ids":["\#(users[0])"],"reason":"Hers."}"#)
        #expect(again.outcomes[users[0].description] == "unchanged", "\(again.text)")
        let undone = try await fixture.undo(job.json)
        #expect(undone.json["kept"] == .int(1), "\(undone.text)")
        #expect(try await fixture.base.count("users WHERE role = 'manager'") == 1)
    }

    @Test func `the same request once more is no second act`() async throws {
        let fixture = try await BulkFixture.make()
        let user = try await fixture.user("one@a.example")
        for verb in ["suspend", "resume"] {
            var versions: [String] = []
            for _ in 0..<3 {
                let answer = try await fixture.base.send(.post, "/\(user)/\(verb)")
                versions.append(try #require(answer.first("etag")))
            }
            #expect(Set(versions).count == 1)
        }
        for _ in 0..<3 { try await act("delete", on: user, fixture, reason: "x") }
        for action in ["user.suspended", "user.resumed", "user.deleted"] {
            #expect(try await fixture.base.count("audit_events WHERE action = \(action)") == 1)
        }
        // The days until the purge count from the first deletion.
        fixture.clock.advance(seconds: 60)
        try await act("delete", on: user, fixture, reason: "y")
        #expect(
            try await fixture.base.count("audit_events WHERE action = 'user.deleted'") == 2)
        #expect(try await fixture.base.count("users WHERE deleted_at < updated_at") == 1)
    }
}
