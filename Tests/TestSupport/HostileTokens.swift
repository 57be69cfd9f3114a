import Cryptography
import Text

/// An id token that must be refused, and the reason.
package struct HostileToken: Sendable, CustomStringConvertible {
    package let description: String
    package let text: String
    /// The reason's name in the log.
    package let fault: String
}

/// Makes good and bad id tokens of one issuer for one client. Values are raw JSON text, so that
/// anything can be written, even what no writer would.
package struct TokenMint: Sendable {
    package let issuer: String
    package let clientID: String
    package let key: SigningKey
    package let now: Timestamp

    package init(issuer: String, clientID: String, key: SigningKey, now: Timestamp) {
        self.issuer = issuer
        self.clientID = clientID
        self.key = key
        self.now = now
    }

    package var seconds: Int64 { now.microseconds / 1_000_000 }

    /// A good token, except for the given changes; a `nil` value leaves the member out.
    package func token(
        _ claims: [String: String?] = [:], header: [String: String?] = [:]
    ) -> String {
        var head: [String: String] = [
            "alg": "\"ES256\"", "typ": "\"JWT\"", "kid": "\"\(key.thumbprint)\"",
        ]
        var body: [String: String] = [
            "iss": "\"\(issuer)\"", "aud": "\"\(clientID)\"", "sub": "\"person-1\"",
            "iat": "\(seconds)", "exp": "\(seconds + 300)", "email": "\"ann@example.com\"",
            "email_verified": "true", "name": "\"Ann\"",
        ]
        for (name, value) in header { head[name] = value }
        for (name, value) in claims { body[name] = value }
        return signed(header: Self.object(head), payload: Self.object(body))
    }

    package func signed(header: String, payload: String) -> String {
        (try? JWS.sign(header: Array(header.utf8), payload: Array(payload.utf8), with: key)) ?? ""
    }

    private static func object(_ members: [String: String]) -> String {
        "{"
            + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
            .joined(separator: ",") + "}"
    }

    /// `ahead` is how many seconds in the future tokens from the future are. The least that is
    /// refused is 61, which needs a clock that stands still.
    package func hostile(ahead: Int64 = 61) -> [HostileToken] {
        forms() + algorithms() + headers() + signatures() + names() + times(ahead) + subjects()
    }

    private func forms() -> [HostileToken] {
        let good = token()
        let bad = [
            "abc", "a.b", "a.b.c.d", "", good + "=", good + ".", "." + good, good + "é",
            String(good.dropLast(1)) + "+", String(repeating: "a", count: 17_000),
        ]
        var all = bad.enumerated().map {
            HostileToken(description: "form \($0)", text: $1, fault: "not_compact")
        }
        for (index, header) in ["[]", "x", "{", "{}{}", #"{"alg":"ES256","alg":"ES256"}"#, "\"a\""]
            .enumerated()
        {
            all.append(
                HostileToken(
                    description: "header \(index)", text: signed(header: header, payload: "{}"),
                    fault: "header_malformed"))
        }
        let header = #"{"alg":"ES256","kid":"\#(key.thumbprint)"}"#
        let twice = #"{"iss":"\#(issuer)","aud":"\#(clientID)","sub":"a","sub":"b"}"#
        for (index, payload) in ["[]", "x", "", twice].enumerated() {
            all.append(
                HostileToken(
                    description: "claims \(index)", text: signed(header: header, payload: payload),
                    fault: "claims_malformed"))
        }
        return all
    }

    private func algorithms() -> [HostileToken] {
        let parts = token().split(separator: ".").map(String.init)
        var all: [HostileToken] = []
        let names = [
            "none", "None", "NONE", "HS256", "HS384", "HS512", "ES256K", "eddsa", "rs256", "es256",
            "", "ES256 ", "RSA-OAEP",
        ]
        for name in names {
            let header = Base64URL.encode(Array(#"{"alg":"\#(name)"}"#.utf8))
            for signature in ["", parts[2]] {
                all.append(
                    HostileToken(
                        description: "alg \(name)", text: "\(header).\(parts[1]).\(signature)",
                        fault: "algorithm_refused"))
            }
        }
        all += ["5", "null", "[\"ES256\"]"].map {
            bad("alg \($0)", "algorithm_refused", header: ["alg": $0])
        }
        all.append(bad("no alg", "algorithm_refused", header: ["alg": nil]))
        // The public key as an HMAC secret: the classic confusion.
        let header = Base64URL.encode(Array(#"{"alg":"HS256","kid":"\#(key.thumbprint)"}"#.utf8))
        let text = "\(header).\(parts[1])"
        let secret = Array(Self.publicPEM(of: key).utf8)
        let tag = Base64URL.encode(SHA256.authenticate(Array(text.utf8), key: secret))
        all.append(
            HostileToken(
                description: "HMAC by the public key", text: "\(text).\(tag)",
                fault: "algorithm_refused"))
        for name in ["RS256", "RS512", "PS256", "ES384", "ES512", "EdDSA"] {
            all.append(bad("\(name) of a P-256 key", "key_unknown", header: ["alg": "\"\(name)\""]))
        }
        return all
    }

    /// SubjectPublicKeyInfo of a P-256 key (RFC 5480): its fixed head and the uncompressed point.
    private static func publicPEM(of key: SigningKey) -> String {
        let head: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
            0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]
        let base64 = Base64URL.encode(head + key.x + key.y)
            .map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return "-----BEGIN PUBLIC KEY-----\n\(String(base64.prefix(64)))\n"
            + "\(String(base64.dropFirst(64)))==\n-----END PUBLIC KEY-----\n"
    }

    private func headers() -> [HostileToken] {
        [
            bad("crit", "header_refused", header: ["crit": "[\"exp\"]"]),
            bad("crit empty", "header_refused", header: ["crit": "[]"]),
            bad("b64", "header_refused", header: ["b64": "false"]),
            bad("zip", "header_refused", header: ["zip": "\"DEF\""]),
            bad("access token", "type_refused", header: ["typ": "\"at+jwt\""]),
            bad("logout token", "type_refused", header: ["typ": "\"logout+jwt\""]),
            bad("type number", "type_refused", header: ["typ": "1"]),
            bad("kid number", "header_malformed", header: ["kid": "1"]),
            bad("kid empty", "header_malformed", header: ["kid": "\"\""]),
            bad(
                "kid long", "header_malformed",
                header: ["kid": "\"\(String(repeating: "k", count: 256))\""]),
            bad("kid unknown", "key_unknown", header: ["kid": "\"other\""]),
            bad("kid path", "key_unknown", header: ["kid": "\"../../../dev/null\""]),
            bad("kid SQL", "key_unknown", header: ["kid": "\"' OR 1=1 --\""]),
        ]
    }

    private func signatures() -> [HostileToken] {
        let good = token().split(separator: ".").map(String.init)
        let other = token(["sub": "\"person-2\""]).split(separator: ".").map(String.init)
        let stranger = (try? SigningKey()).map {
            TokenMint(issuer: issuer, clientID: clientID, key: $0, now: now)
                .token(header: ["kid": "\"\(key.thumbprint)\""])
        }
        let bytes = Base64URL.decode(good[2]) ?? []
        let zero = Base64URL.encode([UInt8](repeating: 0, count: 64))
        let texts = [
            "\(good[0]).\(other[1]).\(good[2])", "\(good[0]).\(good[1]).",
            "\(good[0]).\(good[1]).\(zero)",
            "\(good[0]).\(good[1]).\(Base64URL.encode(bytes.dropLast()))",
            "\(good[0]).\(good[1]).\(Base64URL.encode(bytes + [0]))",
            "\(good[0]).\(good[1]).\(other[2])",
            stranger ?? "",
        ]
        return texts.enumerated().map {
            HostileToken(description: "signature \($0)", text: $1, fault: "signature_invalid")
        }
    }

    private func names() -> [HostileToken] {
        let issuers = [
            "\"https://evil.example\"", "\"\(issuer)/\"", "\"\(issuer.uppercased())\"",
            "\"\(issuer.dropLast())\"", "\"\(issuer) \"", "\"\"", "7", "[\"\(issuer)\"]",
            "null",
        ]
        let audiences = [
            "\"other\"", "\"\"", "[]", "7", "null", "[\"other\"]", "[\"\(clientID)\",7]",
            "\"\(clientID)x\"", "\"\(clientID.uppercased())\"", "[\"\(clientID)\",\"\"]",
            "{\"\(clientID)\":1}",
        ]
        var all = issuers.map { bad("iss \($0)", "issuer_mismatch", ["iss": $0]) }
        all.append(bad("no iss", "issuer_mismatch", ["iss": nil]))
        all += audiences.map { bad("aud \($0)", "audience_mismatch", ["aud": $0]) }
        all.append(bad("no aud", "audience_mismatch", ["aud": nil]))
        let party = "authorized_party_mismatch"
        let several = "[\"\(clientID)\",\"other\"]"
        all += [
            bad("several without azp", party, ["aud": several]),
            bad("several, azp null", party, ["aud": several, "azp": "null"]),
            bad("several, azp number", party, ["aud": several, "azp": "7"]),
            bad("several, azp other", party, ["aud": several, "azp": "\"other\""]),
        ]
        return all
    }

    private func times(_ ahead: Int64) -> [HostileToken] {
        let ends = [
            "\(seconds - 60)", "0", "-1", "\"\(seconds + 300)\"", "null", "1e12", "true",
        ]
        var all = ends.map { bad("exp \($0)", "expired", ["exp": $0]) }
        all.append(bad("no exp", "expired", ["exp": nil]))
        for value in ["\(seconds + ahead)", "\"\(seconds)\"", "null", "-1"] {
            all.append(bad("iat \(value)", "issued_in_future", ["iat": value]))
        }
        all.append(bad("no iat", "issued_in_future", ["iat": nil]))
        for (name, value) in [("iat", "\(seconds - 90_000)"), ("iat", "0")] {
            all.append(bad("\(name) \(value)", "life_too_long", [name: value]))
        }
        for value in ["\(seconds + ahead)", "\"0\""] {
            all.append(bad("nbf \(value)", "not_yet_valid", ["nbf": value]))
        }
        return all
    }

    private func subjects() -> [HostileToken] {
        let long = String(repeating: "s", count: 256)
        return ["\"\"", "7", "null", "[\"a\"]", "\"a\\nb\"", "\"a\\u007f\"", "\"\(long)\""].map {
            bad("sub \($0.prefix(12))", "subject_malformed", ["sub": $0])
        } + [bad("no sub", "subject_malformed", ["sub": nil])]
    }

    private func bad(
        _ name: String, _ fault: String, _ claims: [String: String?] = [:],
        header: [String: String?] = [:]
    ) -> HostileToken {
        HostileToken(description: name, text: token(claims, header: header), fault: fault)
    }
}
