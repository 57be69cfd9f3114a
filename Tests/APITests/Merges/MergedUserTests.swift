import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Who was merged comes in as the winner, by any door and in any race.
@Suite(.serialized, .cleansUp) struct MergedUserTests {
    @Test
    func `scopes lost by a moved key are lost on every replica and return after the undo`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let fixture = UserFixture(service: service, tenant: tenant)
        let ada = try await service.makeUser(
            "ada@acme.example", name: "Ada", password: "correct horse battery", in: tenant)
        let eve = try await service.makeUser(
            "eve@acme.example", name: "Eve", password: "correct horse battery", in: tenant)
        _ = try await fixture.send(.patch, "/\(ada.id)", json: #"{"role":"admin"}"#)
        let key = try await service.makeKey(
            #""users:write","smtp""#, #","owner":{"type":"user","id":"\#(eve.id)"}"#)
        let replicas = [service.composition, try service.replica()]
        func writes() async throws -> [Int] {
            var found: [Int] = []
            for replica in replicas {
                let answer = try await service.send(
                    .patch, "/v1/tenants/acme/users/\(ada.id)", json: #"{"name":"A"}"#,
                    as: key.credential, to: replica)
                found.append(answer.status)
            }
            return found
        }
        #expect(try await writes() == [404, 404])
        let merge = try await fixture.merge(
            winner: ada.id.description, loser: eve.id.description)
        #expect(merge.json["refused_scopes"]?.array?.count == 1, "\(merge.text)")
        #expect(try await writes() == [403, 403])
        let row = try await service.send(
            .get, "/v1/tenants/acme/api-keys/\(key.id)", as: .platformOwner)
        #expect(row.json["scopes"] == .array([.string("smtp")]))
        #expect(try await service.verdict(key.secret) == "valid")
        let id = try #require(merge.json["id"]?.string)
        #expect(try await fixture.send(.post, "/merges/\(id)/undo").status == 200)
        #expect(try await writes() == [404, 404])
    }

    @Test func `an invited person who signed in otherwise is one after the merge`() async throws {
        let fixture = try await ProvisioningFixture.make(policy: #"{"sign_up":"open"}"#)
        // Document 003: the invite went to one address, the sign-in came with another.
        let (_, token) = try await fixture.invite("ann@ex.com", role: "manager")
        let second = try await fixture.google(
            "ann", "ann@gmail.example", more: #","tenant":"acme""#)
        #expect(second.json["outcome"]?.string == "created", "\(second.text)")
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users?sort=email", as: .platformOwner)
        let ids = (users.json["items"]?.array ?? []).compactMap { $0["id"]?.string }
        try #require(ids.count == 2)
        let merge = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/merges",
            json: #"{"winner":"\#(ids[0])","loser":"\#(ids[1])"}"#, as: .platformOwner)
        #expect(merge.status == 201, "\(merge.text)")
        let doors = [
            try await fixture.google("ann", "ann@gmail.example", more: #","tenant":"acme""#),
            try await fixture.google("ann", "ann@ex.com", more: #","tenant":"acme""#),
        ]
        for door in doors {
            #expect(door.json["outcome"]?.string == "existing", "\(door.text)")
            #expect(door.json["user"]?["id"]?.string == ids[0], "\(door.text)")
        }
        let one = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/\(ids[0])", as: .platformOwner)
        #expect(one.json["role"]?.string == "manager")
        #expect(one.json["status"]?.string == "active")
        _ = token
    }

    @Test func `sign-ins that race with merges and their undoing make no third user`() async throws
    {
        let fixture = try await ProvisioningFixture.make(policy: #"{"sign_up":"open"}"#)
        let replicas = [fixture.service.composition, try fixture.service.replica()]
        var ids: [String] = []
        for name in ["ann", "bob"] {
            let made = try await fixture.google(name, "\(name)@ex.com", more: #","tenant":"acme""#)
            ids.append(try #require(made.json["user"]?["id"]?.string, "\(made.text)"))
        }
        let (winner, loser) = (ids[0], ids[1])
        for round in 0..<10 {
            let answers = try await withThrowingTaskGroup(of: TestAnswer?.self) { group in
                for number in 0..<50 {
                    let name = number % 2 == 0 ? "ann" : "bob"
                    group.addTask {
                        try await fixture.service.send(
                            .post, "/v1/hooks/pre-signup",
                            json: """
                                {"provider":"google","subject":"\(name)","email":"\(name)@ex.com",
                                "email_verified":true,"tenant":"acme","event_id":"\(round)-\(number)"}
                                """, as: .platformOwner, to: replicas[number / 2 % 2])
                    }
                }
                group.addTask {
                    let merge = try await fixture.service.send(
                        .post, "/v1/tenants/acme/users/merges",
                        json: #"{"winner":"\#(winner)","loser":"\#(loser)"}"#, as: .platformOwner)
                    #expect(merge.status == 201, "\(merge.text)")
                    let id = merge.json["id"]?.string ?? ""
                    let undone = try await fixture.service.send(
                        .post, "/v1/tenants/acme/users/merges/\(id)/undo", as: .platformOwner)
                    #expect(undone.status == 200, "\(undone.text)")
                    return nil
                }
                var answers: [TestAnswer] = []
                for try await answer in group { if let answer { answers.append(answer) } }
                return answers
            }
            let odd = answers.filter { ![200, 503].contains($0.status) }
            #expect(odd.isEmpty, "\(odd.prefix(3).map(\.text))")
            let known = answers.filter { $0.status == 200 }
            let strange = known.filter { !ids.contains($0.json["user"]?["id"]?.string ?? "") }
            #expect(strange.isEmpty, "\(strange.prefix(3).map(\.text))")
            #expect(known.count > 25)
        }
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        #expect(users.json["total"]?["value"] == .int(2) || users.json["items"]?.array?.count == 2)
    }
}
