import API
import Cryptography
import Domain
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct IDTokenCheckTests {
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
        } catch { return (error as? IDTokenFault)?.name ?? "\(error)" }
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
            ("\"yes\"", false), ("1", false), ("null", nil), (nil, nil),
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

    @Test(arguments: OpenSSLKey.algorithms)
    func `what OpenSSL signs is accepted by that key and algorithm alone`(name: String) throws {
        let key = try OpenSSLKey(name)
        let token = try key.token(payloadOf: mint.token())
        let (mine, bare) = (
            try keys([key.jwk]), try keys(["{\(key.members),\"kid\":\"\(key.id)\"}"])
        )
        #expect(fault(token, keys: mine) == nil)
        #expect(fault(token, keys: bare) == nil)
        #expect(fault(token) == "key_unknown")
        let other = try keys([OpenSSLKey(name).jwk])
        #expect(fault(token, keys: other) == "signature_invalid")
        let parts = token.split(separator: ".")
        let cut = Base64URL.encode((Base64URL.decode(String(parts[2])) ?? []).dropLast())
        #expect(
            fault("\(parts[0]).\(parts[1]).\(cut)", keys: mine) == "signature_invalid")
        // A key that is named for one algorithm checks no other of its type.
        for another in ["RS256", "RS512", "PS256", "PS384"]
        where name.hasSuffix("S256") && "RP".contains(name.prefix(1)) && another != name {
            let other = try key.token(payloadOf: mint.token(), by: another)
            #expect(fault(other, keys: mine) == "key_unknown")
            #expect(fault(other, keys: bare) == nil)
            let claimed = other.split(separator: ".")
            #expect(
                fault("\(parts[0]).\(claimed[1]).\(claimed[2])", keys: bare)
                    == "signature_invalid")
        }
    }

    @Test func `an RSA key below 2048 bits checks nothing`() throws {
        let key = try OpenSSLKey("RS256", bits: 1024)
        let token = try key.token(payloadOf: mint.token())
        #expect(fault(token, keys: try keys([key.jwk])) == "key_unknown")
    }

    @Test func `null is absent in tokens and keys`() throws {
        for claims in [["azp": "null"], ["nbf": "null"], ["name": "null"], ["auth_time": "null"]] {
            #expect(fault(mint.token(claims)) == nil, "\(claims)")
        }
        #expect(fault(mint.token(["aud": "[\"web-client\"]", "azp": "null"])) == nil)
        for header in [["typ": "null"], ["kid": "null"], ["crit": "null"], ["jku": "null"]] {
            #expect(fault(mint.token(header: header)) == nil, "\(header)")
        }
        let jwk = mint.key.publicJWK()
        let kid = "\"kid\":\"\(mint.key.thumbprint)\""
        for changed in [
            jwk.replacing(#""use":"sig""#, with: #""use":null"#),
            jwk.replacing(#""alg":"ES256""#, with: #""alg":null"#),
            jwk.replacing(#""use":"sig""#, with: #""key_ops":null"#),
            jwk.replacing(kid, with: "\"kid\":null"), jwk.replacing("," + kid, with: ""),
        ] {
            #expect(changed != jwk)
            let keys = try #require(KeySet(Array(#"{"keys":[\#(changed)]}"#.utf8)))
            #expect(fault(mint.token(), keys: keys) == nil, "\(changed)")
            #expect(fault(mint.token(header: ["kid": nil]), keys: keys) == nil, "\(changed)")
        }
        // Of two keys without an id none is the token's.
        let nameless = [jwk, try SigningKey().publicJWK()].map {
            $0.split(separator: ",").filter { !$0.hasPrefix("\"kid\"") }.joined(separator: ",")
        }
        let two = try #require(
            KeySet(Array(#"{"keys":[\#(nameless.joined(separator: ","))]}"#.utf8)))
        #expect(fault(mint.token(), keys: two) == "key_unknown")
    }

    @Test func `header members that name keys are ignored, never followed`() throws {
        let evil = try SigningKey()
        let forged = TokenMint(
            issuer: mint.issuer, clientID: mint.clientID, key: evil, now: now)
        for header in [
            ["jku": "\"https://evil.example/keys\""], ["x5u": "\"https://evil.example/cert\""],
            ["jwk": evil.publicJWK()], ["x5c": "[\"MIIB\"]"], ["jku": "7"],
        ] {
            #expect(fault(mint.token(header: header)) == nil, "\(header)")
            #expect(fault(forged.token(header: header)) == "key_unknown")
            let claimed = header.merging(["kid": "\"\(mint.key.thumbprint)\""]) { $1 }
            #expect(fault(forged.token(header: claimed)) == "signature_invalid")
        }
    }

    @Test func `the authorized party is checked if an app brings the token`() throws {
        func fault(
            _ claims: [String: String?], _ party: RelyingParty, nonce: String? = nil
        ) -> IDTokenFault? {
            do {
                _ = try check(
                    mint.token(claims.merging(["nonce": "\"n1\""]) { old, _ in old }), party,
                    nonce: nonce)
                return nil
            } catch { return error as? IDTokenFault }
        }
        let foreign: [String: String?] = ["azp": "\"android\""]
        let refused = try #require(fault(foreign, party))
        #expect(refused.name == "authorized_party_mismatch")
        #expect(refused.reason.contains("android") && refused.reason.contains("authorized_parties"))
        #expect(fault(foreign, party, nonce: "n1") == nil)
        #expect(fault(["azp": "\"app-client\""], party) == nil)
        var listed = party
        listed.authorizedParties = ["android"]
        #expect(fault(foreign, listed) == nil)
        let several: [String: String?] = [
            "aud": "[\"web-client\",\"other\"]", "azp": "\"android\"",
        ]
        #expect(fault(several, listed) == nil)
        #expect(fault(several, party, nonce: "n1")?.name == "authorized_party_mismatch")
        let google = RelyingParty(
            provider: UUID.random(), kind: .google, issuer: "https://id.example",
            clientID: "web-client")
        #expect(fault(foreign, google) == nil)
        #expect(
            fault(["aud": "\"android\"", "azp": "\"web-client\""], google) == .audienceMismatch)
        #expect(fault(several, google)?.name == "authorized_party_mismatch")
        let own = party.asClient("mobile")
        #expect(fault(["aud": "\"mobile\"", "azp": "\"web-client\""], own) == nil)
        #expect(fault(["aud": "\"web-client\""], own) == .audienceMismatch)
    }

    @Test func `a token's age counts, even if it expires much later`() throws {
        for end in [
            "\(mint.seconds + 172_800)", "\(mint.seconds + 604_800)", "100000000000",
            "253402300800", "9223372036854775807",
        ] {
            #expect(fault(mint.token(["exp": end])) == nil, "\(end)")
            let old = mint.token(["exp": end, "iat": "\(mint.seconds - 86_461)"])
            #expect(fault(old) == "life_too_long", "\(end)")
        }
        #expect(fault(mint.token(["iat": "\(mint.seconds - 86_400)"])) == nil)
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
