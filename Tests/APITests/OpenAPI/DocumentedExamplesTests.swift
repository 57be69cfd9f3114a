import API
import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing

/// What `/openapi.json` says of itself, held to the server.
@Suite(.cleansUp) struct DocumentedExamplesTests {
    private static let document: JSONValue =
        (try? JSONValue(parsing: OpenAPIDocument(endpoints: Routes.all, version: "t").bytes))
        ?? .null

    private static func operation(_ endpoint: Endpoint) -> JSONValue? {
        document["paths"]?[endpoint.path]?[endpoint.method.rawValue.lowercased()]
    }

    @Test func `every documented example body is accepted as it is`() async throws {
        let fixture = try await UserFixture.make()
        let rights = try await RightsFixture.make(fixture)
        let key = try await rights.key(RightsFixture.every, at: "/v1/api-keys")
        var posted = 0
        for endpoint in Routes.all {
            guard
                let media = Self.operation(endpoint)?["requestBody"]?["content"],
                let example = media["application/json"]?["example"]
            else { continue }
            let target = rights.target(endpoint).path.replacing("/{client}", with: "/immich")
            let answer = try await fixture.service.send(
                endpoint.method, target,
                json: String(decoding: example.encoded(), as: UTF8.self), as: .bearer(key),
                fields: endpoint.ifMatch == .ignored ? [] : [Field("if-match", "*")])
            #expect(
                ![400, 415].contains(answer.status) && answer.status < 500
                    && answer.json["code"]?.string != "validation_failed",
                "\(endpoint.id) \(answer.text)")
            posted += 1
        }
        #expect(posted > 30)
    }

    @Test func `scopes are named as they are granted, and no right by its inner name`() throws {
        let document = Self.document
        let text = document["components"]?["securitySchemes"]?["key"]?["description"]?.string ?? ""
        for scope in RightsFixture.every { #expect(text.contains("`\(scope)`"), "\(scope)") }
        var inner: [String] = []
        for endpoint in Routes.all {
            let operation = Self.operation(endpoint)
            let said = operation?["description"]?.string ?? ""
            for name in said.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            where name.offset % 2 == 1 && !RightsFixture.every.contains(String(name.element)) {
                inner.append("\(endpoint.id) \(name.element)")
            }
            let keys = operation?["security"]?.array?.compactMap { $0["key"]?.array } ?? []
            for scope in keys.joined() {
                #expect(RightsFixture.every.contains(scope.string ?? ""), "\(endpoint.id)")
            }
        }
        #expect(inner.isEmpty, "\(inner)")
        #expect(
            Self.document["paths"]?["/v1/tenants/{tenant}/users"]?["get"]?["security"]?.array?.first
                == .object([.init("key", .array([.string("users:read")]))]))
    }

    @Test func `every refusal is the one Problem by reference`() throws {
        var own: Set<String> = []
        for path in Self.document["paths"]?.members ?? [] {
            for operation in path.value.members ?? [] {
                for answer in operation.value["responses"]?.members ?? [] {
                    let schema = answer.value["content"]?["application/problem+json"]?["schema"]
                    guard let schema else { continue }
                    if schema["$ref"]?.string != "#/components/schemas/Problem" {
                        own.insert("\(path.name) \(answer.name)")
                    }
                }
            }
        }
        #expect(own.isEmpty)
        let codes = Self.document["components"]?["schemas"]?["Problem"]?["properties"]?["code"]
        #expect(codes?["enum"]?.array?.count == Code.allCases.count)
    }

    @Test func `every member and every parameter is described`() throws {
        var bare: Set<String> = []
        for path in Self.document["paths"]?.members ?? [] {
            for operation in path.value.members ?? [] {
                for parameter in operation.value["parameters"]?.array ?? []
                where parameter["description"] == nil {
                    bare.insert(parameter["name"]?.string ?? "")
                }
            }
        }
        for shape in Self.document["components"]?["schemas"]?.members ?? [] {
            for member in shape.value["properties"]?.members ?? []
            where member.value["description"] == nil {
                bare.insert("\(shape.name).\(member.name)")
            }
        }
        #expect(bare.isEmpty, "\(bare.sorted())")
    }

    @Test func `the documentation page describes each member of a body`() throws {
        let page = String(
            decoding: OpenAPIDocument(endpoints: Routes.all, version: "t").page, as: UTF8.self)
        let start = try #require(page.firstRange(of: #"<details id="createApiKey">"#))
        let part = page[start.lowerBound...].prefix(20_000)
        for text in [
            #"<td><code>name</code></td><td class="dim">required</td>"#,
            "string, 1 to 200 characters",
            #"<td><code>environment</code></td><td class="dim">optional</td>"#,
            "one of <code>live</code>, <code>test</code>", "<code>rate_limit.per_minute</code>",
            "integer, 1 to 1000000", "the scope <code>api-keys:write</code>",
        ] {
            #expect(part.contains(text), "\(text)")
        }
        #expect(page.contains(#"<h2 id="Scopes">"#) && page.contains("<code>keys:verify</code>"))
        #expect(page.contains("curl -H"))
    }
}
