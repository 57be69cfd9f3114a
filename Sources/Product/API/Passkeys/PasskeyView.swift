import Cryptography
import Domain
import JSON
import Storage
import Text
import WebAuthn

extension PasskeyRow: JSONView {
    static let shape = ObjectShape(
        "Passkey",
        [
            .readOnly("id", .uuid), FieldShape("name", nameKind),
            .readOnly(
                "transports", .array(of: .string()), "How the browser reaches its authenticator."),
            .readOnly("backed_up", .bool, "The authenticator keeps a copy elsewhere."),
            .readOnly("relying_party", .string(), "The domain that it was made for."),
            .readOnly(
                "usable", .bool,
                "False if this server's passkeys are of another domain, or it was disowned."),
            .readOnly("created_at", .timestamp),
            .readOnly("last_used_at", .timestamp, nullable: true),
        ])

    static let nameKind = Kind.string(min: 1, max: 100, rule: .displayName)

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("name", name)
            $0.member("transports", transports)
            $0.member("backed_up", isBackedUp)
            $0.member("relying_party", relyingParty)
            $0.member("usable", isUsable)
            $0.member("created_at", createdAt)
            $0.member("last_used_at", lastUsedAt)
        }
    }
}

/// What `navigator.credentials` is asked: the JSON forms of WebAuthn Level 3, section 5.4.
enum PasskeyOptions {
    static let shape = ObjectShape(
        "PasskeyOptions", open: true,
        [
            .readOnly("challenge", .string(), "Base64url: good once, for 5 minutes."),
            .readOnly("timeout", .integer(0...600_000), "Milliseconds."),
        ])

    private static let timeout = JSONValue.int(Int(Passkey.challengeSeconds) * 1000)

    static func registration(
        _ challenge: [UInt8], relyingParty: String, handle: [UInt8], of person: OperatorRow,
        without known: [PasskeyRow]
    ) -> JSONValue {
        .object([
            .init("challenge", .string(Base64URL.encode(challenge))), .init("timeout", timeout),
            .init(
                "rp",
                .object([.init("id", .string(relyingParty)), .init("name", .string("Gatehouse"))])),
            .init(
                "user",
                .object([
                    .init("id", .string(Base64URL.encode(handle))),
                    .init("name", .string(person.email)),
                    .init("displayName", .string(person.name ?? person.email)),
                ])),
            .init(
                "pubKeyCredParams",
                .array(
                    COSEKey.Algorithm.allCases.map {
                        .object([
                            .init("type", .string("public-key")), .init("alg", .int($0.rawValue)),
                        ])
                    })),
            .init("excludeCredentials", .array(known.map(\.descriptor))),
            .init(
                "authenticatorSelection",
                .object([
                    .init("residentKey", .string("required")),
                    .init("requireResidentKey", .bool(true)),
                    .init("userVerification", .string("required")),
                ])),
            .init("attestation", .string("none")),
        ])
    }

    /// `allowed` is empty before a sign-in: who is known must not show.
    static func assertion(
        _ challenge: [UInt8], relyingParty: String, allowed: [PasskeyRow] = []
    ) -> JSONValue {
        .object([
            .init("challenge", .string(Base64URL.encode(challenge))), .init("timeout", timeout),
            .init("rpId", .string(relyingParty)),
            .init("allowCredentials", .array(allowed.map(\.descriptor))),
            .init("userVerification", .string("required")),
        ])
    }
}

extension PasskeyRow {
    fileprivate var descriptor: JSONValue {
        .object([
            .init("type", .string("public-key")),
            .init("id", .string(Base64URL.encode(credentialID))),
            .init("transports", .strings(transports)),
        ])
    }
}
