import API
import Domain
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

    /// The members of a body that the answer has too, with another value.
    private static func lost(_ body: JSONValue, _ answer: JSONValue) -> [String] {
        (body.members ?? []).flatMap { member -> [String] in
            guard let given = answer[member.name] else { return [] }
            if member.value.members != nil {
                return lost(member.value, given).map { "\(member.name).\($0)" }
            }
            return given == member.value ? [] : [member.name]
        }
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
                // There is a tenant `acme` already.
                json: String(decoding: example.encoded(), as: UTF8.self)
                    .replacing(#""slug":"acme""#, with: #""slug":"example""#), as: .bearer(key),
                fields: endpoint.ifMatch == .ignored ? [] : [Field("if-match", "*")])
            #expect(
                ![400, 415].contains(answer.status) && answer.status < 500
                    && answer.json["code"]?.string != "validation_failed",
                "\(endpoint.id) \(answer.text)")
            // What a body sets is in the answer: nothing is taken and dropped.
            if answer.status == 201 {
                let lost = Self.lost(example, answer.json).filter { $0 != "slug" }
                #expect(lost.isEmpty, "\(endpoint.id): \(lost) \(answer.text)")
            }
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
            // The first paragraph says what a caller needs; the notes may name other things.
            let text = endpoint.access == .open ? "" : operation?["description"]?.string ?? ""
            let said = text.split(separator: "\n\n").first ?? ""
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
        #expect(codes?["x-extensible-enum"]?.array?.count == Code.allCases.count)
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
        let start = try #require(page.firstRange(of: #"<details class="op" id="createApiKey">"#))
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
        #expect(part.contains("curl -X POST &quot;$URL/v1/tenants/$TENANT/api-keys&quot;"))
        for action in AuditAction.allCases {
            #expect(!action.summary.isEmpty && page.contains("<code>\(action.rawValue)</code>"))
        }
    }

    @Test func `the page of errors explains each code, and each problem leads there`() throws {
        let page = String(decoding: DocumentPage.errors, as: UTF8.self)
        for code in Code.allCases {
            #expect(page.contains("id=\"\(code.rawValue)\""))
            #expect(!code.text.cause.isEmpty && !code.text.remedy.isEmpty, "\(code.rawValue)")
            guard case .bytes(let bytes) = Problem(code, "").response(requestID: nil).body else {
                Issue.record("a problem has a body")
                continue
            }
            let type = try JSONValue(parsing: bytes)["type"]?.string
            #expect(type == "/docs/errors#\(code.rawValue)")
        }
    }

    @Test func `pages may read every header field that is declared`() {
        let exposed = CORSProfile.exposedHeaders.split(separator: ", ").map(String.init)
        for header in ResponseHeader.allCases {
            #expect(exposed.contains(header.rawValue.lowercased()))
        }
    }

    @Test func `each body and each answer has a schema`() {
        var bare: Set<String> = []
        for path in Self.document["paths"]?.members ?? [] {
            for operation in path.value.members ?? [] {
                let id = operation.value["operationId"]?.string ?? ""
                var parts = (operation.value["responses"]?.members ?? []).map(\.value)
                if let body = operation.value["requestBody"] { parts.append(body) }
                for media in parts.flatMap({ $0["content"]?.members ?? [] })
                where media.value["schema"]?.members?.isEmpty != false {
                    bare.insert("\(id) \(media.name)")
                }
            }
        }
        #expect(bare.isEmpty, "\(bare.sorted())")
    }
}
