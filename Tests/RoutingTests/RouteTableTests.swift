import HTTP
import Testing

struct RouteTableTests {
    private func table(_ routes: (Method, String)...) throws -> RouteTable<String> {
        try RouteTable(
            routes.map { ($0.0, try RoutePattern($0.1), "\($0.0.rawValue) \($0.1)") })
    }

    @Test func `a literal goes before a parameter`() throws {
        let table = try table((.get, "/users/{id}"), (.get, "/users/duplicates"))
        #expect(table.match("/users/duplicates")?.value(for: .get) == "GET /users/duplicates")
        #expect(table.match("/users/7")?.parameters["id"] == "7")
    }

    @Test func `a literal that leads nowhere gives way to the parameter`() throws {
        let table = try table((.get, "/users/{id}/sessions"), (.get, "/users/duplicates"))
        let match = try #require(table.match("/users/duplicates/sessions"))
        #expect(match.parameters["id"] == "duplicates")
        #expect(match.pattern.description == "/users/{id}/sessions")
    }

    @Test func `several parameters keep their names and order`() throws {
        let table = try table((.delete, "/v1/tenants/{tenant}/users/{id}"))
        let match = try #require(table.match("/v1/tenants/acme/users/42"))
        #expect(match.parameters["tenant"] == "acme")
        #expect(match.parameters.all.map(\.name) == ["tenant", "id"])
    }

    @Test(arguments: [
        "", "/", "/users", "/users/", "/users//", "/users/1/", "users/1", "//users/1",
    ])
    func `a path of another shape is not matched`(path: String) throws {
        #expect(try table((.get, "/users/{id}")).match(path) == nil)
    }

    @Test func `the root is a path`() throws {
        #expect(try table((.get, "/")).match("/")?.value(for: .get) == "GET /")
    }

    @Test func `parameters are percent-decoded`() throws {
        let table = try table((.get, "/users/{id}"))
        #expect(table.match("/users/a%20b%C3%A9")?.parameters["id"] == "a bé")
    }

    @Test(arguments: ["%", "%4", "%zz", "%2F", "%00", "%C3", "%2e%2e", "..", ".", "%7f"])
    func `a badly encoded parameter matches nothing`(segment: String) throws {
        #expect(try table((.get, "/users/{id}")).match("/users/\(segment)") == nil)
    }

    @Test func `HEAD is answered by GET and stands in Allow`() throws {
        let match = try #require(try table((.get, "/a"), (.post, "/a")).match("/a"))
        #expect(match.value(for: .head) == "GET /a")
        #expect(match.value(for: .delete) == nil)
        #expect(match.allowed == [.get, .head, .post, .options])
    }

    @Test func `the rest of a path is one parameter`() throws {
        let table = try table((.get, "/t/{tenant}/{rest...}"), (.get, "/t/{tenant}/known"))
        #expect(table.match("/t/x/a/b%20c")?.parameters["rest"] == "a/b c")
        #expect(table.match("/t/x/known")?.value(for: .get) == "GET /t/{tenant}/known")
        #expect(table.match("/t/x/a/%2e%2e/b") == nil)
    }

    @Test func `the same method and path twice is a conflict that names both`() throws {
        #expect(throws: RouteError.conflict("GET /a/{id}", "GET /a/{id}")) {
            try table((.get, "/a/{id}"), (.get, "/a/{id}"))
        }
    }

    @Test func `one path with two names for its parameter is a conflict`() throws {
        #expect(throws: RouteError.conflict("GET /a/{id}", "POST /a/{key}")) {
            try table((.get, "/a/{id}"), (.post, "/a/{key}"))
        }
    }

    @Test(arguments: [
        "", "a", "/a//b", "/a/", "/{}", "/{a", "/{A}", "/{r...}/b", "/{a}/{a}", "/a b",
    ])
    func `a malformed pattern is refused`(text: String) {
        #expect(throws: RouteError.malformed(text)) { try RoutePattern(text) }
    }
}
