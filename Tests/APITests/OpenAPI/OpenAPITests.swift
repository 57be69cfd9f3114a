import API
import HTTP
import JSON
import TestSupport
import Testing

@Suite(.cleansUp) struct OpenAPITests {
    private func document() throws -> JSONValue {
        try JSONValue(
            parsing: OpenAPIDocument(endpoints: ThingFixture.endpoints(), version: "1.0").bytes)
    }

    @Test func `each endpoint is an operation with its id, tag and access`() throws {
        let document = try document()
        #expect(document["openapi"]?.string == "3.1.0")
        let path = try #require(document["paths"]?["/v1/tenants/{tenant}/things"])
        #expect(path["get"]?["operationId"]?.string == "listThings")
        #expect(path["post"]?["tags"]?.array == [.string("Things")])
        #expect(path["post"]?["security"]?.array?.count == 2)
        #expect(document["paths"]?["/v1/hooks/thing"]?["post"]?["security"]?.array == [])
        #expect(document["tags"]?.array?.count == 2)
    }

    @Test func `parameters of path, query and header are listed`() throws {
        let paths = try #require(try document()["paths"])
        func names(_ path: String, _ method: String) -> [String] {
            (paths[path]?[method]?["parameters"]?.array ?? []).compactMap { $0["name"]?.string }
        }
        #expect(
            names("/v1/tenants/{tenant}/things", "get") == [
                "tenant", "limit", "cursor", "sort", "q", "kinds",
            ])
        #expect(names("/v1/tenants/{tenant}/things", "post") == ["tenant", "Idempotency-Key"])
        #expect(names("/v1/tenants/{tenant}/things/{id}", "put") == ["tenant", "id", "If-Match"])
    }

    @Test func `every reference leads to a component`() throws {
        let document = try document()
        let schemas = try #require(document["components"]?["schemas"])
        let names = references(in: document)
        #expect(names.contains("#/components/schemas/NewThing"))
        #expect(names.contains("#/components/schemas/Place"))
        for name in names where name.hasPrefix("#/components/schemas/") {
            #expect(schemas[String(name.split(separator: "/").last ?? "")] != nil, "\(name)")
        }
    }

    @Test func `a shape is rendered with its limits`() throws {
        let thing = try #require(try document()["components"]?["schemas"]?["Thing"])
        let properties = try #require(thing["properties"])
        #expect(thing["required"]?.array == ["id", "slug", "email"].map { .string($0) })
        // It is an answer, too, and may grow.
        #expect(thing["additionalProperties"] == nil)
        #expect(properties["id"]?["readOnly"]?.bool == true)
        #expect(properties["slug"]?["minLength"]?.int == 2)
        #expect(properties["note"]?["type"]?.array == [.string("string"), .string("null")])
        #expect(properties["count"]?["maximum"]?.int == 10)
        #expect(properties["tags"]?["maxItems"]?.int == 2)
    }

    @Test func `problems are listed by status with their codes`() throws {
        let post = try document()["paths"]?["/v1/tenants/{tenant}/things"]?["post"]
        let conflict = post?["responses"]?["409"]?["content"]?["application/problem+json"]
        #expect(conflict?["schema"]?["$ref"]?.string == "#/components/schemas/Problem")
        let codes = post?["responses"]?["409"]?["x-codes"]?.array?.compactMap(\.string)
        #expect(codes == ["conflict", "email_taken", "request_in_progress"])
    }

    @Test func `the example of a body is accepted by its own endpoint`() async throws {
        let post = try document()["paths"]?["/v1/tenants/{tenant}/things"]?["post"]
        let media = post?["requestBody"]?["content"]?["application/json"]
        let example = try #require(media?["example"])
        let response = try await ThingFixture().send(
            .post, ThingFixture.path, json: String(decoding: example.encoded(), as: UTF8.self))
        #expect(response.status == 201)
    }

    private func references(in value: JSONValue) -> Set<String> {
        var found: Set<String> = []
        for item in value.array ?? [] { found.formUnion(references(in: item)) }
        for member in value.members ?? [] {
            if member.name == "$ref", let name = member.value.string { found.insert(name) }
            found.formUnion(references(in: member.value))
        }
        return found
    }
}
