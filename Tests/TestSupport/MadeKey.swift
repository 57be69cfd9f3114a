import HTTP
import JSON
import Testing

/// A key, as its creation returned it.
package struct MadeKey: Sendable {
    package let id: String
    package let secret: String
    package let json: JSONValue

    package var credential: TestService.Credential { .bearer(secret) }

    package init(_ json: JSONValue) throws {
        id = try #require(json["id"]?.string, "\(json)")
        secret = try #require(json["key"]?.string)
        self.json = json
    }
}

extension TestService {
    /// Makes a key with these scopes (`"smtp","users:read"`); `more` is appended to the body.
    package func makeKey(
        _ scopes: String, _ more: String = "", at path: String = "/v1/tenants/acme/api-keys",
        as who: Credential = .platformOwner
    ) async throws -> MadeKey {
        let answer = try await send(
            .post, path, json: #"{"name":"k","scopes":[\#(scopes)]\#(more)}"#, as: who)
        try #require(answer.status == 201, "\(answer.text)")
        return try MadeKey(answer.json)
    }

    /// `valid`, or the error code.
    package func verdict(
        _ key: String, _ more: String = "", as who: Credential = .platformOwner
    ) async throws -> String {
        let answer = try await send(
            .post, "/v1/api-keys/verify", json: #"{"key":"\#(key)"\#(more)}"#, as: who)
        return answer.json["valid"]?.bool == true
            ? "valid" : answer.json["code"]?.string ?? "\(answer.status)"
    }
}
