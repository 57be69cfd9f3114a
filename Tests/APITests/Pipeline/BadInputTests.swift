import API
import Domain
import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing

/// Every fault that a declaration knows, at every endpoint, out of the declarations themselves: a
/// new endpoint is covered without a line.
@Suite(.serialized, .cleansUp) struct BadInputTests {
    private func withFixture(_ body: (RightsFixture) async throws -> Void) async throws {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        _ = try await fixture.base.service.session(role: .owner, tenant: nil)
        let before = try await fixture.base.service.database.content()
        try await body(fixture)
        let after = try await fixture.base.service.database.content()
        let changed = after.filter { before[$0.key] != $0.value }.map(\.key)
        #expect(changed == [], "what is refused writes nothing")
    }

    private func refused(_ answer: TestAnswer, _ pointer: String) -> Bool {
        let named = (answer.json["errors"]?.array ?? []).compactMap { $0["pointer"]?.string }
        // Of a list in the query the item is named: `?ids/0`.
        return answer.status == 422 && named.count == 1
            && (named[0] == pointer || named[0] == pointer + "/0")
    }

    private func shape(_ endpoint: Endpoint) -> ObjectShape? {
        if case .json(let shape) = endpoint.body { shape } else { nil }
    }

    @Test func `each bad member of each body is named, and nothing is written`() async throws {
        try await withFixture { fixture in
            var wrong: [String] = []
            var sent = 0
            for endpoint in Routes.all {
                guard let shape = shape(endpoint) else { continue }
                let repeats = endpoint.method == .put || endpoint.method == .patch
                for bad in shape.badBodies(acceptsReadOnly: repeats) {
                    let answer = try await fixture.base.service.send(
                        endpoint.method, fixture.target(endpoint).path,
                        json: String(decoding: bad.value.encoded(), as: UTF8.self),
                        as: .platformOwner)
                    sent += 1
                    if !refused(answer, bad.pointer) {
                        wrong.append("\(endpoint.id) \(bad.pointer): \(answer.text.prefix(300))")
                    }
                }
            }
            #expect(wrong.isEmpty, "\(wrong.count):\n\(wrong.joined(separator: "\n"))")
            #expect(sent > 700)
        }
    }

    @Test func `each bad query parameter is named, and nothing is written`() async throws {
        try await withFixture { fixture in
            var wrong: [String] = []
            for endpoint in Routes.all where endpoint.access != .open {
                for (name, value) in badQueries(endpoint) {
                    let path = fixture.target(endpoint).path
                    let answer = try await fixture.base.service.send(
                        endpoint.method, "\(path)\(path.contains("?") ? "&" : "?")\(name)=\(value)",
                        json: shape(endpoint).map {
                            String(decoding: $0.example(input: true).encoded(), as: UTF8.self)
                        }, as: .platformOwner)
                    if !refused(answer, "?" + name) {
                        wrong.append("\(endpoint.id) \(name): \(answer.text.prefix(300))")
                    }
                }
            }
            #expect(wrong.isEmpty, "\(wrong.count):\n\(wrong.joined(separator: "\n"))")
        }
    }

    private func badQueries(_ endpoint: Endpoint) -> [(String, String)] {
        [("typo", "1")]
            + endpoint.query.filter { !$0.isRequired }.compactMap { parameter in
                switch parameter.kind {
                case .string(_, let max, _):
                    (parameter.name, String(repeating: "x", count: max + 1))
                case .any, .object, .map, .attributes: nil
                default: (parameter.name, "!")
                }
            }
    }

    @Test(arguments: [
        #"{"a":"#, #"{"a":1,"a":1}"#, #"{"a":"\u0000"}"#, "\u{FEFF}{}", "{} {}", "nul",
    ])
    func `a body that is not JSON is 400 at every endpoint, and nothing is written`(
        _ text: String
    ) async throws {
        try await withFixture { fixture in
            for endpoint in Routes.all where shape(endpoint) != nil {
                let answer = try await fixture.base.service.send(
                    endpoint.method, fixture.target(endpoint).path, json: text, as: .platformOwner)
                #expect(answer.status == 400, "\(endpoint.id) \(answer.text)")
            }
        }
    }
}
