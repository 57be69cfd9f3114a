import API
import HTTP
import JSON
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ListTests {
    let fixture: ThingFixture

    init() async throws { fixture = try await ThingFixture() }

    @Test func `a list has items, the next cursor, a total and a link`() async throws {
        let response = try await fixture.send(.get, ThingFixture.path, query: "limit=1&q=ab")
        let body = try response.json()
        let cursor = try #require(body["next_cursor"]?.string)
        #expect(body["items"]?.array?.count == 1)
        #expect(body["total"]?["value"]?.int == 9)
        #expect(body["total"]?["exact"]?.bool == false)
        #expect(
            response.first("link")
                == "<\(ThingFixture.path)?limit=1&q=ab&cursor=\(cursor)>; rel=\"next\"")
        let next = try await fixture.send(
            .get, ThingFixture.path, query: "limit=2&q=ab&cursor=\(cursor)")
        #expect(next.status == 200)
    }

    @Test func `a cursor of another filter, sort or text is 422`() async throws {
        let first = try await fixture.send(.get, ThingFixture.path, query: "q=ab")
        let cursor = try #require(try first.json()["next_cursor"]?.string)
        let flipped = (cursor.hasPrefix("A") ? "B" : "A") + cursor.dropFirst()
        for query in [
            "q=abc&cursor=\(cursor)", "q=ab&sort=created_at&cursor=\(cursor)",
            "q=ab&cursor=\(flipped)", "q=ab&cursor=\(cursor)A", "q=ab&cursor=%3D",
        ] {
            let response = try await fixture.send(.get, ThingFixture.path, query: query)
            #expect(response.status == 422, "\(query)")
            #expect(try response.errors() == ["?cursor invalid"])
        }
    }

    @Test func `a place that no text of the database can have is refused`() async throws {
        let endpoint = Endpoint(
            .get, "/x", id: "x", tag: "X", summary: "", access: .open,
            query: QueryParameter.list(sorts: ["email"]), answers: [.noContent]
        ) { call in
            _ = try call.page(defaultSort: "email")
            return call.list([], next: Cursor(key: "a\0b", id: ThingFixture.thing), total: Total(0))
        }
        let dispatcher = try await Dispatcher.open(endpoint)
        let first = await dispatcher.respond(to: Request(.get, "/x"))
        let cursor = try #require(try first.json()["next_cursor"]?.string)
        let second = await dispatcher.respond(to: Request(.get, "/x", query: "cursor=\(cursor)"))
        #expect(second.status == 422)
        #expect(try second.errors() == ["?cursor invalid"])
    }

    @Test func `a page carries its limit, order and place`() async throws {
        let seen = Pages()
        let endpoint = Endpoint(
            .get, "/x", id: "x", tag: "X", summary: "", access: .open,
            query: QueryParameter.list(sorts: ["email", "-email"]), answers: [.noContent]
        ) { call in
            seen.keep(try call.page(defaultSort: "email"))
            return call.list([], next: Cursor(key: "é,\n", id: ThingFixture.thing), total: Total(0))
        }
        let dispatcher = try await Dispatcher.open(endpoint)
        let first = await dispatcher.respond(to: Request(.get, "/x"))
        let cursor = try #require(try first.json()["next_cursor"]?.string)
        _ = await dispatcher.respond(to: Request(.get, "/x", query: "limit=7&cursor=\(cursor)"))
        _ = await dispatcher.respond(to: Request(.get, "/x", query: "sort=-email"))
        let pages = seen.all
        #expect(pages[0].limit == 50 && pages[0].after == nil && !pages[0].descending)
        #expect(pages[1].limit == 7)
        #expect(pages[1].after == Cursor(key: "é,\n", id: ThingFixture.thing, total: Total(0)))
        #expect(pages[2].sort == "email" && pages[2].descending)
    }
}
