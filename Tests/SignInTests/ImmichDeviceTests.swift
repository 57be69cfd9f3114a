import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// What the app reads with its session: its devices, and the settings of its screens.
@Suite(.cleansUp) struct ImmichDeviceTests {
    /// The members that the generated clients require: 2.7.5's, and the newest besides.
    private static let groups: [String: [String]] = [
        "albums": ["defaultAssetOrder"], "cast": ["gCastEnabled"],
        "download": ["archiveSize", "includeEmbeddedVideos"],
        "emailNotifications": ["albumInvite", "albumUpdate", "enabled"],
        "folders": ["enabled", "sidebarWeb"], "memories": ["duration", "enabled", "sidebarWeb"],
        "people": ["enabled", "minimumFaces", "sidebarWeb", "updateStrategy"],
        "purchase": ["hideBuyButtonUntil", "showSupportBadge"], "ratings": ["enabled"],
        "recentlyAdded": ["sidebarWeb"], "sharedLinks": ["enabled", "sidebarWeb"],
        "tags": ["enabled", "sidebarWeb"],
    ]

    @Test(arguments: ["v2", "v3"])
    func `I10 the preferences have every group that the apps require`(_ compat: String) async throws
    {
        let fixture = try await ImmichFixture.make(settings: #"{"compat":"\#(compat)"}"#)
        let token = try await fixture.token()
        let path = "/api/users/me/preferences"
        let shown = try await fixture.send(.get, path, token: token)
        #expect(shown.status == 200, "\(shown.text)")
        let groups = shown.json.members ?? []
        #expect(groups.map(\.name).sorted() == Self.groups.keys.sorted())
        for group in groups {
            #expect(
                group.value.members?.map(\.name).sorted() == Self.groups[group.name]?.sorted(),
                "\(group.name)")
        }
        #expect(shown.json["people"]?["updateStrategy"]?.string == "everyone")
        // What is sent comes back in a whole answer, and nothing is kept.
        let sent = try await fixture.send(
            .put, path,
            #"{"people":{"enabled":false,"minimumFaces":"x"},"albums":{"defaultAssetOrder":"asc"},"x":1}"#,
            token: token)
        #expect(sent.status == 200 && sent.json["x"] == nil, "\(sent.text)")
        #expect(sent.json["people"]?["enabled"]?.bool == false)
        #expect(sent.json["people"]?["minimumFaces"]?.int == 3)
        #expect(sent.json["albums"]?["defaultAssetOrder"]?.string == "asc")
        #expect(sent.json.members?.count == Self.groups.count)
        #expect(try await fixture.send(.get, path, token: token).text == shown.text)
        let refused = try await fixture.send(.get, path)
        #expect(refused.status == 401)
    }

    @Test func `I11 the devices are listed, and ended one by one or all but this one`() async throws
    {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        let path = "/api/sessions"
        var list = try await fixture.send(.get, path, token: token)
        let own = try #require(list.json.array?.first, "\(list.text)")
        expectRandomUUID(own["id"])
        expectDate(own["createdAt"])
        expectDate(own["updatedAt"])
        expectAnswer(
            list,
            #"[{"id":"\#(own["id"]?.string ?? "")","createdAt":"\#(own["createdAt"]?.string ?? "")","#
                + #""updatedAt":"\#(own["updatedAt"]?.string ?? "")","current":true,"#
                + #""isPendingSyncReset":false,"deviceOS":"Pixel 9","deviceType":"Android","#
                + #""appVersion":null}]"#)
        let others = [
            try await fixture.token(), try await fixture.token(), try await fixture.token(),
        ]
        // A session at another app, and another person's, are not this app's devices.
        let foreign = NewSession(
            tokenHash: TenantToken.hash("x"), client: "relate", method: .oauth, seconds: 600)
        let bob = try await fixture.service.makeUser(
            "bob@acme.example", name: "Bob", password: ImmichFixture.password, in: fixture.tenant)
        let bobs = NewSession(
            tokenHash: TenantToken.hash("y"), client: "immich", method: .password, seconds: 600)
        _ = try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
            _ = try await $0.startSession(foreign, of: fixture.user.id)
            return try await $0.startSession(bobs, of: bob.id)
        }
        list = try await fixture.send(.get, path, token: others[0])
        #expect(list.json.array?.count == 4)
        #expect(list.json.array?.filter { $0["current"]?.bool == true }.count == 1)
        let missing = "Not found or no authDevice.delete access"
        for id in [UUID.random().description, "x", foreign.id.description, bobs.id.description] {
            expectError(
                try await fixture.send(.delete, "\(path)/\(id)", token: token), 400, missing)
        }
        expectEmpty(
            try await fixture.send(.delete, "\(path)/\(own["id"]?.string ?? "")", token: others[0]),
            204)
        #expect(try await fixture.send(.get, "/api/users/me", token: token).status == 401)
        expectEmpty(try await fixture.send(.delete, path, token: others[0]), 204)
        for (other, status) in zip(others, [200, 401, 401]) {
            #expect(try await fixture.send(.get, "/api/users/me", token: other).status == status)
        }
        let scope = fixture.service.storage.scope(fixture.tenant.id)
        #expect(try await scope.signedIn(.id(foreign.id)) != nil)
        #expect(try await scope.signedIn(.id(bobs.id)) != nil)
    }
}
