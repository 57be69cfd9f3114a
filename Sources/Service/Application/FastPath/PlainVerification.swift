import API
import Domain
import HTTP
import Serving
import SignIn
import Storage

/// A verification that depends on its two keys only: no scopes, no address, no origin.
struct PlainVerification {
    static let path: StaticString = "/v1/api-keys/verify"
    private static let prefix = Array(#"{"key":"#.utf8)
    private static let bearer = Array("Bearer ".utf8)

    let caller: KeyHash
    let key: KeyHash
    let host: UnsafeBufferPointer<UInt8>
    private let text: UnsafeBufferPointer<UInt8>

    init?(_ request: FastRequest) {
        let head = request.head
        guard head.method == .post, head.pathIs(PlainVerification.path), head.query.isEmpty,
            Self.isPlain(head), let host = head.first("host"),
            let line = head.first("authorization"), line.starts(with: Self.bearer),
            let text = Self.key(in: request.body)
        else { return nil }
        self.host = host
        self.text = text
        let bearer = UnsafeBufferPointer(rebasing: line[Self.bearer.count...])
        caller = KeyHash(of: UnsafeRawBufferPointer(bearer))
        key = KeyHash(of: UnsafeRawBufferPointer(text))
    }

    /// nil if the text has not the form of a key.
    var secret: APIKeySecret? { APIKeySecret(bytes: text) }

    private static func isPlain(_ head: RequestHead) -> Bool {
        let deciding =
            head.count("origin") + head.count("cookie") + head.count("idempotency-key")
            + head.count("content-encoding") + head.count("traceparent")
            + head.count("x-forwarded-host")
        guard deciding == 0, head.count("host") == 1, head.count("authorization") == 1,
            head.count("content-type") == 1
        else { return false }
        return head.first("content-type").map { $0.elementsEqual("application/json".utf8) } ?? false
    }

    /// The text in `{"key":"…"}`, with at most one space after the colon; nil for any other body.
    private static func key(in body: UnsafeRawBufferPointer) -> UnsafeBufferPointer<UInt8>? {
        var rest = body.bindMemory(to: UInt8.self)[...]
        guard rest.starts(with: prefix) else { return nil }
        rest = rest.dropFirst(prefix.count)
        if rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
        guard rest.count == APIKeySecret.length + 3, rest.first == UInt8(ascii: "\""),
            rest.last == UInt8(ascii: "}"), rest.dropLast().last == UInt8(ascii: "\"")
        else { return nil }
        return UnsafeBufferPointer(rebasing: rest.dropFirst().dropLast(2))
    }
}
