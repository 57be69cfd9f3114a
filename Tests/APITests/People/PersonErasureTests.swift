import Cryptography
import Domain
import Foundation
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// The erasure of a person from all tenants, and its certificate.
@Suite(.serialized, .cleansUp) struct PersonErasureTests {
    /// The certificate's payload, after `deploy/tools/certificate` has verified it with openssl.
    private func certified(_ answer: TestAnswer, _ fixture: PeopleFixture) async throws -> JSONValue
    {
        let certificate = try #require(answer.json["certificate"]?.string, "\(answer.text)")
        let keys = try await fixture.service.send(.get, "/.well-known/jwks.json")
        return try Self.verified(certificate, keys.text)
    }

    private static func verified(_ certificate: String, _ keys: String) throws -> JSONValue {
        let place = "/tmp/gh-certificate.\(Text.UUID.random())"
        defer { for name in ["jws", "keys"] { unlink("\(place).\(name)") } }
        try certificate.write(toFile: "\(place).jws", atomically: true, encoding: .utf8)
        try keys.write(toFile: "\(place).keys", atomically: true, encoding: .utf8)
        let text = try Shell.run(
            ["\(TestCluster.root)/deploy/tools/certificate", "\(place).jws", "\(place).keys"])
        return try JSONValue(parsing: Array(text.utf8))
    }

    private func tables(_ fixture: PeopleFixture, with words: [String]) async throws -> [String] {
        let acme = try #require(try await fixture.service.storage.tenant("acme"))
        return try await DeletionFixture(
            service: fixture.service, tenant: acme, clock: fixture.clock, key: ""
        ).tables(with: words)
    }

    @Test func `an erasure leaves the person in no table and proves it`() async throws {
        let fixture = try await PeopleFixture.make()
        let words = ["da.Person@", "da.person@", "Ada Person", "ada-1"]
        let all = words + words.map { Hex.encode(Array($0.utf8)) }
        #expect(try await tables(fixture, with: all).contains("identities"))
        let done = try await fixture.erase(fixture.both)
        #expect(done.status == 200 && done.results == ["done", "done"], "\(done.text)")
        #expect(done.first("cache-control") == "no-store")
        let left = try await tables(fixture, with: all)
        #expect(left == [])
        #expect(try await fixture.found() == [])
        let said = try await certified(done, fixture)
        #expect(said["iss"]?.string == "http://gatehouse.test")
        #expect(said["actor"]?["type"]?.string == "operator")
        let users = said["users"]?.array ?? []
        #expect(users.compactMap { $0["user_id"]?.string }.sorted() == fixture.ada.values.sorted())
        for user in users {
            #expect(user["evidence"]?["removed"]?["users"] == .int(1))
            #expect(user["evidence"]?["removed"]?["identities"] == .int(1))
            #expect(user["evidence"]?["redacted"]?["decisions"] == .int(1))
            #expect(user["evidence"]?["tombstones"] == .int(2))
        }
        for (slug, id) in fixture.both {
            let event = try #require(try await fixture.events(slug, "user.purged").first)
            #expect(event["target"]?["id"]?.string == id)
            #expect(event["changes"]?["reason"] == .array([.null, .string("Request 4711")]))
        }
        // Bob is another person.
        let bob = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/\(fixture.bob)", as: .platformOwner)
        #expect(bob.status == 200)
        for slug in ["acme", "beta"] {
            let back = try await fixture.signIn(slug)
            #expect(back.json["reason"]?.string == "user_deleted", "\(back.text)")
        }
    }

    @Test func `a changed certificate is not verified`() async throws {
        let fixture = try await PeopleFixture.make()
        let done = try await fixture.erase(fixture.both)
        let keys = try await fixture.service.send(.get, "/.well-known/jwks.json").text
        let parts = try #require(done.json["certificate"]?.string).split(separator: ".").map(
            String.init)
        let payload = try #require(Base64URL.decode(parts[1]))
        let changed = String(decoding: payload, as: UTF8.self).replacing(
            "\"iat\":1", with: "\"iat\":2")
        let forged = "\(parts[0]).\(Base64URL.encode(Array(changed.utf8))).\(parts[2])"
        #expect(throws: Shell.Failure.self) { try Self.verified(forged, keys) }
        // It is no access token either.
        let token = parts.joined(separator: ".")
        #expect(try await fixture.service.send(.get, "/v1/me", as: .bearer(token)).status == 401)
    }

    @Test func `the confirmation is bound to the users, their versions and the session`()
        async throws
    {
        let fixture = try await PeopleFixture.make()
        let asked = try await fixture.act("erase", fixture.both)
        #expect(asked.json["code"]?.string == "confirm_required")
        #expect(!asked.text.lowercased().contains("ada.person"), "\(asked.text)")
        let held = asked.json["users"]?.array?.first?["held"]
        #expect(held?["removed"]?["identities"] == .int(1), "\(asked.text)")
        let confirm = try #require(asked.json["confirm"]?.string)
        let fewer = try await fixture.act("erase", [fixture.both[0]], confirm: confirm)
        #expect(fewer.status == 409)
        let more = fixture.both + [("acme", fixture.bob)]
        #expect(try await fixture.act("erase", more, confirm: confirm).status == 409)
        try await fixture.service.manage(
            .patch, "/v1/tenants/acme/users/\(fixture.ada["acme"] ?? "")", #"{"name":"Other"}"#)
        let late = try await fixture.act("erase", fixture.both, confirm: confirm)
        #expect(late.status == 409 && late.json["confirm"]?.string != confirm)
        #expect(try await fixture.found().count == 2)
    }

    @Test func `an erasure needs a sign-in of the last ten minutes`() async throws {
        let fixture = try await PeopleFixture.make()
        let asked = try await fixture.act("erase", fixture.both)
        let confirm = try #require(asked.json["confirm"]?.string)
        fixture.clock.advance(seconds: 601)
        for token in ["", confirm] {
            let old = try await fixture.act("erase", fixture.both, confirm: token)
            #expect(old.status == 403, "\(old.text)")
            #expect(old.json["code"]?.string == "step_up_required", "\(old.text)")
        }
        #expect(try await fixture.found().count == 2)
    }

    @Test func `the operator's own row is not erased, and the others are`() async throws {
        let fixture = try await PeopleFixture.make()
        let own = try await fixture.service.manage(
            .post, "/v1/tenants/beta/users",
            #"{"email":"owner-platform@operators.example"}"#)
        let id = try #require(own["id"]?.string)
        let users = fixture.both + [("beta", id)]
        let done = try await fixture.erase(users)
        #expect(done.results == ["done", "done", "forbidden"], "\(done.text)")
        let said = try await certified(done, fixture)
        #expect(said["users"]?.array?.count == 2)
        let user = try await fixture.service.send(
            .get, "/v1/tenants/beta/users/\(id)", as: .platformOwner)
        #expect(user.status == 200)
        let me = try await fixture.service.send(.get, "/v1/me", as: .platformOwner)
        #expect(me.status == 200)
    }

    @Test func `a repeat after a lost answer finishes it and certifies all of it`() async throws {
        let fixture = try await PeopleFixture.make()
        let first = try await fixture.erase([fixture.both[0]])
        #expect(first.results == ["done"], "\(first.text)")
        let users = fixture.both + [("acme", UUID.random().description)]
        let second = try await fixture.erase(users)
        #expect(second.results == ["done", "done", "not_found"], "\(second.text)")
        let said = try await certified(second, fixture)
        #expect(
            (said["users"]?.array ?? []).compactMap { $0["user_id"]?.string }
                == fixture.both.map(\.1))
        #expect(try await fixture.events("acme", "user.purged").count == 1)
    }

    @Test func `deleted and merged rows are erased as well`() async throws {
        let fixture = try await PeopleFixture.make()
        let service = fixture.service
        let acme = fixture.ada["acme"] ?? ""
        let other = try await service.manage(
            .post, "/v1/tenants/acme/users", #"{"email":"ada@home.example","name":"Ada Person"}"#)
        let loser = try #require(other["id"]?.string)
        try await service.manage(
            .post, "/v1/tenants/acme/users/merges", #"{"winner":"\#(acme)","loser":"\#(loser)"}"#)
        _ = try await service.send(
            .delete, "/v1/tenants/beta/users/\(fixture.ada["beta"] ?? "")", as: .platformOwner)
        let done = try await fixture.erase(fixture.both)
        #expect(done.results == ["done", "done"], "\(done.text)")
        let said = try await certified(done, fixture)
        let one = said["users"]?.array?.first { $0["user_id"]?.string == acme }
        #expect(one?["evidence"]?["removed"]?["users"] == .int(2), "\(said)")
        #expect(one?["evidence"]?["merged_ids"] == .array([.string(loser)]))
        #expect(try await tables(fixture, with: ["da.person@ex", "ada@home.example"]) == [])
    }

    @Test func `a reason with the address is refused`() async throws {
        let fixture = try await PeopleFixture.make()
        let answer = try await fixture.act(
            "erase", fixture.both, reason: "Mail of ADA.person@ex.com")
        #expect(answer.status == 422, "\(answer.text)")
        #expect(!answer.text.lowercased().contains("ada.person"))
    }

    @Test func `a sign-in beside an erasure is erased with the person or refused`() async throws {
        for _ in 0..<6 {
            let fixture = try await PeopleFixture.make()
            let asked = try await fixture.act("erase", fixture.both)
            let confirm = try #require(asked.json["confirm"]?.string)
            async let done = fixture.act("erase", fixture.both, confirm: confirm)
            let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                for number in 0..<8 {
                    group.addTask { try await fixture.signIn(number % 2 == 0 ? "acme" : "beta") }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for answer in answers {
                let outcome = answer.json["outcome"]?.string
                let reason = answer.json["reason"]?.string
                #expect(outcome == "existing" || reason == "user_deleted", "\(answer.text)")
            }
            let result = try await done
            // A sign-in may have changed a row before: then nothing of that row was removed.
            #expect(
                result.results.allSatisfy { ["done", "precondition_failed"].contains($0) },
                "\(result.text)")
            let rest = try await fixture.found()
            #expect(rest.count == result.results.count { $0 != "done" }, "\(rest)")
            guard !rest.isEmpty else { continue }
            #expect(try await fixture.erase(fixture.both).results == ["done", "done"])
        }
    }

    @Test func `a user's key fails on every replica once the erasure has returned`() async throws {
        let fixture = try await PeopleFixture.make()
        let key = try await fixture.service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(fixture.ada["acme"] ?? "")"}"#)
        let replicas = [fixture.service.composition, try fixture.service.replica()]
        for replica in replicas {
            let before = try await fixture.service.send(
                .get, "/v1/me", as: key.credential, to: replica)
            #expect(before.status == 200)
        }
        #expect(try await fixture.erase(fixture.both).results == ["done", "done"])
        for replica in replicas {
            let after = try await fixture.service.send(
                .get, "/v1/me", as: key.credential, to: replica)
            #expect([401, 403].contains(after.status), "\(after.text)")
        }
    }
}
