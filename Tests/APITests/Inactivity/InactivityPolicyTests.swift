import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The rule for inactivity in the policy: its days, and the dry run before it.
@Suite(.cleansUp) struct InactivityPolicyTests {
    private static let rule = #"{"warn_days":30,"suspend_days":60,"delete_days":90}"#

    @Test func `the rule is off by default, and each wrong day is a 422 with its pointer`()
        async throws
    {
        let fixture = try await InactivityFixture.make()
        let read = try await fixture.service.send(
            .get, InactivityFixture.policy, as: .platformOwner)
        for name in ["warn_days", "suspend_days", "delete_days"] {
            #expect(read.json["inactivity"]?[name] == .null)
        }
        for (rule, pointers) in [
            (#"{"warn_days":29}"#, ["/inactivity/warn_days"]),
            (#"{"warn_days":3651}"#, ["/inactivity/warn_days"]),
            (#"{"warn_days":60,"suspend_days":60}"#, ["/inactivity/suspend_days"]),
            (#"{"delete_days":60}"#, ["/inactivity/delete_days"]),
            (#"{"suspend_days":60,"delete_days":59}"#, ["/inactivity/delete_days"]),
            (
                #"{"warn_days":60,"suspend_days":50,"delete_days":40}"#,
                ["/inactivity/suspend_days", "/inactivity/delete_days"]
            ),
            (#"{"days":60}"#, ["/inactivity/days"]),
        ] {
            for query in ["", "?dry_run=true"] {
                let bad = try await fixture.put(rule, query: query)
                #expect(bad.status == 422, "\(rule): \(bad.text)")
                let found = (bad.json["errors"]?.array ?? []).compactMap {
                    $0["pointer"]?.string
                }
                #expect(found == pointers)
            }
        }
    }

    @Test func `another rule is published only after a dry run of the same policy and version`()
        async throws
    {
        let fixture = try await InactivityFixture.make()
        func refused(_ more: String = "") async throws {
            let answer = try await fixture.put(Self.rule, more: more)
            #expect(answer.status == 409, "\(answer.text)")
            #expect(answer.json["code"]?.string == "confirm_required")
        }
        try await refused()
        // Another content, then another version.
        try await fixture.look(Self.rule, more: #","sign_up":"open""#)
        try await refused()
        try await fixture.look(Self.rule)
        #expect(try await fixture.put("{}", more: #","sign_up":"open""#).status == 200)
        try await refused()
        // An hour is over, to the second.
        try await fixture.look(Self.rule)
        fixture.clock.advance(seconds: 3600)
        try await refused()
        let dry = try await fixture.look(Self.rule)
        #expect(dry.json["version"] == .int(3) && dry.json["inactivity"]?["warn_days"] == .int(30))
        fixture.clock.advance(seconds: 3599)
        let done = try await fixture.put(Self.rule)
        #expect(done.status == 200 && done.json["version"] == .int(3), "\(done.text)")
        #expect(done.json["inactivity"]?["delete_days"] == .int(90))
        #expect(done.json["inactivity_preview"] == nil)
    }

    @Test func `keeping or removing the inactivity rule needs no dry run`() async throws {
        let fixture = try await InactivityFixture.make()
        try await fixture.publish(Self.rule)
        let same = try await fixture.put(Self.rule, more: #","sign_up":"open""#)
        #expect(same.status == 200, "\(same.text)")
        let dry = try await fixture.put(Self.rule, query: "?dry_run=true")
        #expect(dry.status == 200 && dry.json["inactivity_preview"] == nil)
        // A longer time is another rule too.
        #expect(try await fixture.put(#"{"warn_days":400}"#).status == 409)
        let ended = try await fixture.put("{}")
        #expect(ended.status == 200 && ended.json["inactivity"]?["warn_days"] == .null)
        #expect(try await fixture.put(Self.rule).status == 409)
    }

    @Test func `another tenant's dry run does not count`() async throws {
        let fixture = try await InactivityFixture.make()
        try await fixture.service.makeTenant("other")
        let dry = try await fixture.service.send(
            .put, "/v1/tenants/other/policy?dry_run=true",
            json: #"{"inactivity":\#(Self.rule)}"#, as: .platformOwner,
            fields: [Field("if-match", "*")])
        #expect(dry.status == 200)
        #expect(try await fixture.put(Self.rule).status == 409)
    }

    @Test func `a dry run counts each user once, by the user's own last use`() async throws {
        let fixture = try await InactivityFixture.make()
        let users = try await fixture.users(8)
        for (index, days) in [29, 30, 59, 60, 89, 90, 400, 400].enumerated() {
            let at = fixture.clock.now.adding(seconds: -Int64(days) * InactivityFixture.day)
            try await fixture.write(
                "UPDATE users SET created_at = \(at) WHERE id = \(users[index])")
        }
        try await fixture.write("UPDATE users SET role = 'admin' WHERE id = \(users[7])")
        let preview = try #require(try await fixture.look(Self.rule).json["inactivity_preview"])
        for (step, ids) in [
            ("warn", [users[1], users[2]]), ("suspend", [users[3], users[4]]),
            ("delete", [users[5], users[6]]),
        ] {
            #expect(preview[step]?["value"] == .int(2) && preview[step]?["exact"] == .bool(true))
            let shown = (preview[step]?["ids"]?.array ?? []).compactMap(\.string)
            #expect(Set(shown) == Set(ids.map(\.description)), "\(step)")
        }
        // A rule without some steps.
        let short = try #require(
            try await fixture.look(#"{"suspend_days":60}"#).json["inactivity_preview"])
        #expect(short["warn"]?["value"] == .int(0) && short["suspend"]?["value"] == .int(4))
        #expect(short["delete"]?["value"] == .int(0))
    }
}
