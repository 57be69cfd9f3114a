import Cryptography
import HTTP
import JSON
import Storage
import Text
import WebAuthn

/// The forms that browsers give (WebAuthn Level 3, section 5.1: `PublicKeyCredential.toJSON`). Their
/// further members are let pass and not read.
enum PasskeyInput {
    /// Base64url of so many bytes.
    private static func encoded(_ bytes: Int) -> Kind {
        .string(min: 1, max: (bytes * 4 + 2) / 3, rule: base64URL)
    }

    private static let base64URL = TextRule(
        pattern: "^[A-Za-z0-9_-]+$", detail: "must be base64url without padding", example: "AQID"
    ) { Base64URL.decode($0) != nil }

    private static func credential(_ name: String, _ response: [FieldShape]) -> ObjectShape {
        ObjectShape(
            name, open: true,
            [
                .required("id", encoded(1023), "The credential's id."),
                .required("type", .enumeration(["public-key"])),
                .required("response", .object(ObjectShape(response, open: true))),
            ])
    }

    /// `RegistrationResponseJSON`.
    static let registration = credential(
        "PasskeyRegistration",
        [
            .required("clientDataJSON", encoded(4096)),
            .required("attestationObject", encoded(16_384)),
            .optional("transports", .array(of: .string(max: 64), max: 16)),
        ])

    /// `AuthenticationResponseJSON`.
    static let assertion = credential(
        "PasskeyAssertion",
        [
            .required("clientDataJSON", encoded(4096)),
            .required("authenticatorData", encoded(2048)),
            .required("signature", encoded(1024)),
            .nullable("userHandle", .string(max: 128)),
        ])

    /// For the OpenAPI document.
    static let about = "What `navigator.credentials` gave, as its `toJSON()` writes it."

    static func registration(_ input: Input) throws -> Registration {
        let response = try input.object("response")
        return Registration(
            credentialID: try bytes(input, "id"), clientData: try bytes(response, "clientDataJSON"),
            attestation: try bytes(response, "attestationObject"))
    }

    /// A handle that cannot be read is another's: the check refuses it.
    static func assertion(_ input: Input) throws -> Assertion {
        let response = try input.object("response")
        return Assertion(
            credentialID: try bytes(input, "id"), clientData: try bytes(response, "clientDataJSON"),
            authenticatorData: try bytes(response, "authenticatorData"),
            signature: try bytes(response, "signature"),
            userHandle: response.optionalString("userHandle").map { Base64URL.decode($0) ?? [] })
    }

    /// Words such as `usb` or `hybrid`; the list grows, so that unknown ones are kept.
    static func transports(_ input: Input) throws -> [String] {
        let given = try input.object("response").optionalStrings("transports") ?? []
        let words = given.filter { word in
            (1...32).contains(word.utf8.count)
                && word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
        }
        return Set(words).sorted()
    }

    private static func bytes(_ input: Input, _ name: String) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(try input.string(name)) else {
            throw Problem.internalError
        }
        return bytes
    }
}
