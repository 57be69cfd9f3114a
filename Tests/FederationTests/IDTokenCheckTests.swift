import Cryptography
import Domain
import Federation
import TestSupport
import Testing
import Text

struct IDTokenCheckTests {
    private let mint: TokenMint
    private let party: RelyingParty
    private let now = Timestamp(microseconds: 1_800_000_000_000_000)

    init() throws {
        mint = TokenMint(
            issuer: "https://id.example", clientID: "web-client", key: try SigningKey(), now: now)
        party = RelyingParty(
            provider: UUID.random(), kind: .oidc, issuer: "https://id.example",
            clientID: "web-client", otherAudiences: ["app-client"])
    }

    private func keys(_ more: [String] = []) throws -> KeySet {
        let list = ([mint.key.publicJWK()] + more).joined(separator: ",")
        return try #require(KeySet(Array(#"{"keys":[\#(list)]}"#.utf8)))
    }

    private func check(
        _ text: String, _ party: RelyingParty? = nil, nonce: String? = nil, keys: KeySet? = nil
    ) throws -> IDClaims {
        try IDTokenCheck(party: party ?? self.party, now: now, nonce: nonce)
            .claims(of: IDToken(Array(text.utf8)), keys: keys ?? self.keys())
    }

    private func fault(_ text: String, nonce: String? = nil, keys: KeySet? = nil) -> String? {
        do {
            _ = try check(text, nonce: nonce, keys: keys)
            return nil
        } catch { return (error as? IDTokenFault)?.rawValue ?? "\(error)" }
    }

    @Test func `a good token names the person`() throws {
        let claims = try check(mint.token(["hd": "\"example.com\""]))
        #expect(claims.subject == "person-1")
        #expect(claims.audience == "web-client")
        #expect(claims.email == "ann@example.com")
        #expect(claims.emailVerified == true)
        #expect(claims.hostedDomain == "example.com")
    }

    @Test func `each hostile token is refused for its own reason`() {
        let all = mint.hostile()
        #expect(all.count >= 60)
        for token in all { #expect(fault(token.text) == token.fault, "\(token)") }
        #expect(fault(mint.token()) == nil)
    }

    @Test func `usual variations of providers' documents are accepted`() throws {
        let good: [[String: String?]] = [
            ["aud": "[\"web-client\"]"], ["aud": "\"app-client\""], ["azp": "\"web-client\""],
            ["aud": "[\"web-client\",\"other\"]", "azp": "\"app-client\""],
            ["exp": "\(mint.seconds - 59)"], ["iat": "\(mint.seconds + 60)"],
            ["nbf": "\(mint.seconds + 60)"], ["exp": "\(mint.seconds + 5).5"],
            ["sub": "\"\(String(repeating: "s", count: 255))\""], ["email": nil],
        ]
        for claims in good { #expect(fault(mint.token(claims)) == nil, "\(claims)") }
        for header in [["typ": nil], ["typ": "\"jwt\""], ["kid": String?.none]] {
            #expect(fault(mint.token(header: header)) == nil, "\(header)")
        }
    }

    @Test func `a nonce that was sent must come back`() throws {
        #expect(fault(mint.token(["nonce": "\"n1\""]), nonce: "n1") == nil)
        for nonce in ["\"n2\"", "\"N1\"", "1", "null", "\"\""] {
            #expect(fault(mint.token(["nonce": nonce]), nonce: "n1") == "nonce_mismatch")
        }
        #expect(fault(mint.token(), nonce: "n1") == "nonce_mismatch")
    }

    @Test func `a claim about the address is true, false or absent`() throws {
        let cases: [(String?, Bool?)] = [
            ("true", true), ("\"true\"", true), ("\"True\"", true), ("false", false),
            ("\"yes\"", false), ("1", false), ("null", false), (nil, nil),
        ]
        for (text, wanted) in cases {
            let claims = try check(mint.token(["email_verified": text]))
            #expect(claims.emailVerified == wanted, "\(text ?? "absent")")
        }
    }

    @Test func `only keys that are for signing with that algorithm count`() throws {
        let jwk = mint.key.publicJWK()
        let useless = [
            jwk.replacing(#""use":"sig""#, with: #""use":"enc""#),
            jwk.replacing(#""alg":"ES256""#, with: #""alg":"RS256""#),
            jwk.replacing(#""use":"sig""#, with: #""key_ops":["sign"]"#),
            jwk.replacing(#""crv":"P-256""#, with: #""crv":"P-384""#),
            jwk.replacing(#""kty":"EC""#, with: #""kty":"oct""#), "{}", "7",
        ]
        for text in useless {
            let keys = try #require(KeySet(Array(#"{"keys":[\#(text)]}"#.utf8)))
            #expect(fault(mint.token(), keys: keys) == "key_unknown", "\(text)")
        }
        let second = try SigningKey().publicJWK()
        let unnamed = mint.token(header: ["kid": nil])
        #expect(fault(unnamed, keys: try keys([second])) == "key_unknown")
        for text in ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[],"keys":[]}"#] {
            #expect(KeySet(Array(text.utf8)) == nil, "\(text)")
        }
        let many = [String](repeating: "{}", count: KeySet.limit + 1).joined(separator: ",")
        #expect(KeySet(Array(#"{"keys":[\#(many)]}"#.utf8)) == nil)
    }

    @Test func `an RSA key of a provider checks RS256 alone`() throws {
        let directory = try String(Shell.run(["mktemp", "-d", "/tmp/gh-rsa.XXXXXX"]).dropLast())
        defer { _ = try? Shell.run(["rm", "-rf", directory]) }
        let script = """
            cd \(directory)
            openssl genrsa -out key.pem 2048 2>/dev/null
            printf %s "$1" | openssl dgst -sha256 -sign key.pem | basenc --base64url -w0 | tr -d =
            printf '\\n'
            openssl rsa -in key.pem -noout -modulus 2>/dev/null | cut -d= -f2
            """
        let payload = mint.token().split(separator: ".")[1]
        let header = Base64URL.encode(Array(#"{"alg":"RS256","kid":"r1"}"#.utf8))
        let output = try Shell.run(["bash", "-c", script, "sign", "\(header).\(payload)"])
        let lines = output.split(separator: "\n").map(String.init)
        let modulus = Base64URL.encode(try #require(Hex.decode(lines[1].lowercased())))
        let jwk = #"{"kty":"RSA","kid":"r1","n":"\#(modulus)","e":"AQAB"}"#
        let token = "\(header).\(payload).\(lines[0])"
        #expect(fault(token, keys: try keys([jwk])) == nil)
        #expect(fault(token) == "key_unknown")
    }

    @Test func `a Cognito pool names its issuer by region and its tokens by their use`() throws {
        let pool = RelyingParty(
            provider: UUID.random(), kind: .cognito, issuer: "eu-central-1_abc", clientID: nil)
        let mint = TokenMint(
            issuer: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc",
            clientID: "any", key: mint.key, now: now)
        #expect(try check(mint.token(["token_use": "\"id\""]), pool).audience == "any")
        for use in ["\"access\"", nil] {
            #expect(throws: IDTokenFault.useMismatch) {
                try check(mint.token(["token_use": use]), pool)
            }
        }
    }

    @Test func `Google may leave the scheme out of its name`() throws {
        let google = RelyingParty(
            provider: UUID.random(), kind: .google, issuer: "https://accounts.google.com",
            clientID: "web-client")
        for issuer in ["accounts.google.com", "https://accounts.google.com"] {
            #expect(try check(mint.token(["iss": "\"\(issuer)\""]), google).subject == "person-1")
        }
        #expect(throws: IDTokenFault.issuerMismatch) {
            try check(mint.token(["iss": "\"google.com\""]), google)
        }
    }
}
