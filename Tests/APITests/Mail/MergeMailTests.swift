import API
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What the person of two records is told.
@Suite(.serialized, .cleansUp) struct MergeMailTests {
    private func send(_ fixture: UserFixture) async throws {
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
    }

    private func make() async throws -> (UserFixture, SMTPSink) {
        let sink = SMTPSink()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))))
        return (
            UserFixture(service: service, tenant: try await service.makeTenant("acme")), sink
        )
    }

    @Test func `both addresses are told of a merge and of its undoing`() async throws {
        let (fixture, sink) = try await make()
        let ada = try await fixture.make("ada@example.com")
        let eve = try await fixture.make("eve@example.com")
        try await send(fixture)
        let before = sink.mails.count
        let name = fixture.tenant.name
        let tried = try await fixture.merge(winner: ada, loser: eve, query: "?dry_run=true")
        #expect(tried.status == 200)
        try await send(fixture)
        #expect(sink.mails.count == before)
        let merge = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        try await send(fixture)
        let told = sink.mails.dropFirst(before)
        #expect(
            told.map(\.to).sorted { $0[0] < $1[0] } == [
                ["<ada@example.com>"], ["<eve@example.com>"],
            ])
        for mail in told {
            #expect(mail.header("Subject") == "Your accounts at \(name) were merged")
            for part in mail.parts {
                #expect(part.contains("You had two accounts at \(name)"), "\(part)")
                // By which the one that is left goes on.
                #expect(part.contains("ada@example.com") && !part.contains("eve@example.com"))
            }
            #expect(mail.parts.count == 2)
        }
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
        try await send(fixture)
        let undone = sink.mails.dropFirst(before + 2)
        let others = [
            "<ada@example.com>": "eve@example.com", "<eve@example.com>": "ada@example.com",
        ]
        #expect(Set(undone.flatMap(\.to)) == Set(others.keys) && undone.count == 2)
        for mail in undone {
            #expect(mail.header("Subject") == "Your accounts at \(name) were separated again")
            let other = try #require(others[mail.to[0]])
            for part in mail.parts {
                #expect(part.contains("separated your accounts at \(name) again"), "\(part)")
                #expect(
                    part.contains(other)
                        && !part.contains(mail.to[0].filter { $0 != "<" && $0 != ">" }), "\(part)")
            }
        }
    }

    @Test func `the winner may take the loser's address, and then the undo is refused`()
        async throws
    {
        let (fixture, sink) = try await make()
        let ada = try await fixture.service.makeUser(
            "ada@example.com", name: "Ada", password: "correct horse battery", in: fixture.tenant
        ).id.description
        let eve = try await fixture.make("eve@example.com")
        func take(_ address: String) async throws {
            let asked = try await fixture.send(
                .post, "/\(ada)/email-change", json: #"{"email":"\#(address)"}"#)
            #expect(asked.status == 202, "\(asked.text)")
            try await send(fixture)
            let mail = try #require(
                sink.mails.last {
                    $0.to == ["<\(address)>"] && $0.parts[0].contains("#token=")
                })
            let token = mail.parts[0].split(separator: "#token=").last?
                .prefix { !$0.isWhitespace }
            let confirmed = try await fixture.service.send(
                .post, "/v1/email-changes/confirm", json: #"{"token":"\#(token ?? "")"}"#)
            #expect(confirmed.json["email"]?.string == address, "\(confirmed.text)")
        }
        let merge = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        try await take("eve@example.com")
        #expect(try await fixture.emails("sort=email") == ["eve@example.com"])
        let refused = try await fixture.send(.post, "/merges/\(merge)/undo")
        let pointers = refused.json["conflicts"]?.array?.map { $0["pointer"]?.string }
        #expect(refused.status == 409 && pointers == ["/winner/email"], "\(refused.text)")
        try await take("ada@example.com")
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
        #expect(
            try await fixture.emails("sort=email") == ["ada@example.com", "eve@example.com"])
        #expect(try await fixture.send(.get, "/\(eve)").json["email"]?.string == "eve@example.com")
    }
}
