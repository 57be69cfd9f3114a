import API
import HTTP
import JSON
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct PreconditionTests {
    let fixture: ThingFixture

    init() async throws { fixture = try await ThingFixture() }

    @Test func `a creation answers with its place and tag`() async throws {
        let response = try await fixture.send(.post, ThingFixture.path, json: RefusalTests.good)
        #expect(response.status == 201)
        #expect(response.first("location") == ThingFixture.onePath)
        #expect(response.first("etag") == "\"v1\"")
    }

    @Test(arguments: [
        ("\"v1\"", 200), ("\"v0\", \"v1\"", 200), ("*", 200), ("W/\"v1\"", 412), ("", 412),
    ])
    func `If-Match is compared strongly`(tag: String, status: Int) async throws {
        let response = try await fixture.send(
            .put, ThingFixture.onePath, [("if-match", tag)], json: RefusalTests.good)
        #expect(response.status == status)
    }

    @Test func `read-only members may be repeated but not changed`() async throws {
        let match = [("if-match", "*")]
        func body(_ id: String) -> String {
            #"{"id":"\#(id)","slug":"acme","email":"a@b.c"}"#
        }
        let same = try await fixture.send(
            .put, ThingFixture.onePath, match, json: body(ThingFixture.thing.description))
        #expect(same.status == 200)
        let other = try await fixture.send(.put, ThingFixture.onePath, match, json: body("x"))
        #expect(try other.errors() == ["/id changed"])
    }

    @Test func `tags of different moments differ below a millisecond`() {
        let first = ETag.updated(Timestamp(microseconds: 1_000_001))
        #expect(first != ETag.updated(Timestamp(microseconds: 1_000_002)))
    }
}
