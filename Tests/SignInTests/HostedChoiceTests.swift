import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Who is known in several places says where to go.
@Suite(.cleansUp) struct HostedChoiceTests {
    private typealias Fixture = HostedFixture
    private typealias Jar = HostedFixture.Jar

    @Test func `a person invited by two tenants chooses one, and becomes active only there`()
        async throws
    {
        let fixture = try await Fixture()
        try await fixture.service.makeTenant("globex")
        for tenant in ["acme", "globex"] { _ = try await fixture.invite(tenant) }
        let jar = Jar()
        expectHostedPage(try await fixture.get("/sign-in", jar), 200, "Continue with One")
        let page = try await fixture.passThrough(0, at: "/sign-in", jar)
        expectHostedPage(page, 200, "Where do you want to go?")
        #expect(page.text.contains("Acme &amp; &lt;Sons&gt;") && page.text.contains("globex"))
        let globex = try await fixture.service.storage.tenant("globex")
        let choice = ("tenant", globex?.id.description ?? "")
        expectHostedPage(
            try await fixture.post("/sign-in/tenant", [choice, ("token", "x")], jar), 400,
            "begin again")
        let done = try await fixture.post(
            "/sign-in/tenant", [choice, ("token", hiddenField("token", page))], jar)
        expectHostedPage(done, 200, "You are signed up")
        #expect(try await fixture.users("globex").first?["status"]?.string == "active")
        #expect(try await fixture.users("acme").first?["status"]?.string == "pending")
    }

    @Test func `a member of one tenant with an invite of another may sign in to either`()
        async throws
    {
        let fixture = try await Fixture()
        try await fixture.service.makeTenant("globex")
        _ = try await fixture.invite()
        _ = try await fixture.passThrough(0, at: "/sign-in", Jar())
        _ = try await fixture.invite("globex")
        let storage = fixture.service.storage
        let acme = try #require(try await storage.tenant("acme")).id.description
        let globex = try #require(try await storage.tenant("globex")).id.description
        for (tenant, status) in [(acme, "pending"), (globex, "active")] {
            let jar = Jar()
            let page = try await fixture.passThrough(0, at: "/sign-in", jar)
            expectHostedPage(page, 200, "Where do you want to go?")
            // The own one first; what is only offered stays so until it is taken.
            let own = try #require(page.text.firstRange(of: acme), "\(page.text)")
            let offered = try #require(page.text.firstRange(of: globex), "\(page.text)")
            #expect(own.lowerBound < offered.lowerBound)
            let done = try await fixture.post(
                "/sign-in/tenant", [("tenant", tenant), ("token", hiddenField("token", page))], jar)
            expectHostedPage(done, 200, "You are signed up")
            #expect(try await fixture.users("acme").first?["status"]?.string == "active")
            #expect(try await fixture.users("globex").first?["status"]?.string == status)
        }
    }
}
