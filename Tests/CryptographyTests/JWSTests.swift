import Cryptography
import Testing

@Suite struct JWSTests {
    private static let payload =
        ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQog"
        + "Imh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    private static let elliptic =
        "eyJhbGciOiJFUzI1NiJ9" + payload
        + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    private static let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt"
        + "0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX"
        + "ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5"
        + "IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
    private static let rsa =
        "eyJhbGciOiJSUzI1NiJ9" + payload
        + ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W"
        + "2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS"
        + "jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv"
        + "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

    private func decoded(_ text: String) throws -> [UInt8] {
        try #require(Base64URL.decode(text))
    }

    private func ellipticKey() throws -> VerificationKey {
        try VerificationKey(x: try decoded(Self.x), y: try decoded(Self.y))
    }

    private func rsaKey() throws -> VerificationKey {
        try VerificationKey(n: try decoded(Self.modulus), e: [1, 0, 1])
    }

    @Test func `the tokens of RFC 7515 appendix A verify only under their own keys`() throws {
        let elliptic = try #require(JWS(compact: Array(Self.elliptic.utf8)))
        let rsa = try #require(JWS(compact: Array(Self.rsa.utf8)))
        #expect(elliptic.isSigned(by: try ellipticKey()))
        #expect(rsa.isSigned(by: try rsaKey()))
        #expect(!elliptic.isSigned(by: try rsaKey()))
        #expect(!rsa.isSigned(by: try ellipticKey()))
        #expect(String(decoding: rsa.header, as: UTF8.self) == "{\"alg\":\"RS256\"}")
    }

    @Test func `an altered payload does not verify`() throws {
        let text = Self.elliptic.replacing("eyJpc3MiOiJqb2Ui", with: "eyJpc3MiOiJqb2Uj")
        #expect(text != Self.elliptic)
        let token = try #require(JWS(compact: Array(text.utf8)))
        #expect(!token.isSigned(by: try ellipticKey()))
    }

    @Test func `a new key signs what its public half verifies`() throws {
        let key = try SigningKey()
        let text = try JWS.sign(
            header: Array("{\"alg\":\"ES256\"}".utf8), payload: Array("{}".utf8), with: key)
        let token = try #require(JWS(compact: Array(text.utf8)))
        #expect(token.isSigned(by: try VerificationKey(x: key.x, y: key.y)))
        #expect(!token.isSigned(by: try ellipticKey()))
    }

    @Test func `a private key comes back from its PEM, and no other PEM is one`() throws {
        let key = try SigningKey()
        let again = try SigningKey(pem: try key.privatePEM())
        #expect(again.x == key.x)
        #expect(again.thumbprint == key.thumbprint)
        #expect(!key.publicJWK().contains("\"d\""))
        let publicPEM = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEUG5vRE8dMCkNqar6Lr1t77V4Ihov
            KkUrUVveiwgrakCxmfi3jkrVhmz/PvVQAkrx9zR4i1TRlzQcTDGahOd4Xg==
            -----END PUBLIC KEY-----

            """
        #expect(throws: CryptographyError.badKey) { try SigningKey(pem: publicPEM) }
        #expect(throws: CryptographyError.badKey) { try SigningKey(pem: "junk") }
    }

    @Test func `weak RSA keys are refused`() throws {
        let modulus = try decoded(Self.modulus)
        let short = Array(modulus.prefix(128))
        #expect(throws: CryptographyError.badKey) { try VerificationKey(n: short, e: [1, 0, 1]) }
        #expect(throws: CryptographyError.badKey) { try VerificationKey(n: modulus, e: [1]) }
        #expect(throws: CryptographyError.badKey) { try VerificationKey(n: modulus, e: [2]) }
        #expect(throws: CryptographyError.badKey) { try VerificationKey(n: [], e: []) }
    }

    @Test func `a point off the curve is refused`() throws {
        var y = try decoded(Self.y)
        let x = try decoded(Self.x)
        y[31] ^= 1
        #expect(throws: CryptographyError.badKey) { try VerificationKey(x: x, y: y) }
        #expect(throws: CryptographyError.badKey) { try VerificationKey(x: x, y: [1]) }
    }

    @Test(arguments: ["", "a.b", "..", "a.b.c.d", "YQ.YQ.YQ=", "YQ.YQ .YQ", "YQ\n.YQ.YQ"])
    func `a text that is no compact form is refused or has no valid signature`(text: String) throws
    {
        guard let token = JWS(compact: Array(text.utf8)) else { return }
        #expect(!token.isSigned(by: try ellipticKey()))
    }
}
