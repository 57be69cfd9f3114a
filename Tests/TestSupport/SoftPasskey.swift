import Cryptography
import JSON

/// An authenticator and its browser in one, with one ES256 credential. Its answers have the form of
/// `PublicKeyCredential.toJSON`.
package struct SoftPasskey: Sendable {
    package let id: [UInt8]
    private let key: SigningKey
    package var origin: String
    package var handle: [UInt8] = []
    /// 0 if it keeps no counter.
    package var counter: UInt32 = 0
    /// User present and verified.
    package var flags: UInt8 = 0x05
    /// Sent instead of the key's own COSE form.
    package var cose: [UInt8]?

    package init(origin: String) throws {
        self.origin = origin
        id = RandomBytes.make(32)
        key = try SigningKey()
    }

    /// The answer to the options of a registration; stores the account's handle.
    package mutating func register(_ options: JSONValue) -> String {
        let text = options["user"]?["id"]?.string ?? ""
        handle = Base64URL.decode(text) ?? []
        let own =
            [0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32] + key.x + [0x22, 0x58, 32] + key.y
        let credential =
            [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id + (cose ?? own)
        let party = options["rp"]?["id"]?.string ?? ""
        let data = authenticatorData(party, 0x40) + credential
        let attestation =
            [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67]
            + Array("attStmt".utf8) + [0xA0, 0x68] + Array("authData".utf8)
            + Self.length(data.count) + data
        return answer([
            .init("clientDataJSON", encoded(client("webauthn.create", options))),
            .init("attestationObject", encoded(attestation)),
            .init("transports", .array([.string("internal"), .string("hybrid")])),
        ])
    }

    /// The answer to the options of a sign-in or a step-up.
    package mutating func sign(_ options: JSONValue, namesUser: Bool = true) throws -> String {
        if counter > 0 { counter += 1 }
        let data = authenticatorData(options["rpId"]?.string ?? "", 0)
        let client = client("webauthn.get", options)
        let signature = try key.sign(data + SHA256.hash(client))
        var members: [JSONValue.Member] = [
            .init("clientDataJSON", encoded(client)), .init("authenticatorData", encoded(data)),
            .init("signature", encoded(Self.der(signature))),
        ]
        if namesUser { members.append(.init("userHandle", encoded(handle))) }
        return answer(members)
    }

    private func client(_ type: String, _ options: JSONValue) -> [UInt8] {
        let challenge = options["challenge"]?.string ?? ""
        return Array(
            """
            {"type":"\(type)","challenge":"\(challenge)","origin":"\(origin)","crossOrigin":false}
            """.utf8)
    }

    private func authenticatorData(_ party: String, _ more: UInt8) -> [UInt8] {
        SHA256.hash(Array(party.utf8)) + [flags | more]
            + (0..<4).map { UInt8(truncatingIfNeeded: counter >> (24 - 8 * $0)) }
    }

    private func answer(_ response: [JSONValue.Member]) -> String {
        let value = JSONValue.object([
            .init("id", encoded(id)), .init("rawId", encoded(id)),
            .init("type", .string("public-key")), .init("response", .object(response)),
            .init("authenticatorAttachment", .string("platform")),
            .init("clientExtensionResults", .object([])),
        ])
        return String(decoding: value.encoded(), as: UTF8.self)
    }

    private func encoded(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.encode(bytes)) }

    /// The head of a byte string, in the shortest form.
    private static func length(_ count: Int) -> [UInt8] {
        count < 256 ? [0x58, UInt8(count)] : [0x59, UInt8(count >> 8), UInt8(count & 0xFF)]
    }

    /// The DER form of two integers of at most 32 bytes.
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        let numbers = [raw[..<32], raw[32...]].flatMap { half -> [UInt8] in
            var number = Array(half.drop { $0 == 0 })
            if number.first.map({ $0 > 0x7F }) ?? true { number.insert(0, at: 0) }
            return [2, UInt8(number.count)] + number
        }
        return [0x30, UInt8(numbers.count)] + numbers
    }
}
