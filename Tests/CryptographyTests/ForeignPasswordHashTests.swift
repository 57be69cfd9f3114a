import Cryptography
import Testing
import Text

/// The hashes were made by other programs: Python's hashlib, crypt, bcrypt, cryptography (OpenSSL's
/// argon2id) and argon2-cffi; the reference implementations of argon2 and of Firebase's scrypt.
@Suite struct ForeignPasswordHashTests {
    static let password = "correct horse battery"
    static let texts = [
        "$2a$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
        "$2b$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
        "$2y$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
        "$argon2id$v=19$m=4096,t=3,p=2$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$eQS+ErXPpSPw/YDF8Ml/KaQgV+U/YRltp1aSvcCyUSQ",
        "$argon2i$v=19$m=4096,t=3,p=2$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$4LWi27GNC+A5EDi9eBOQsA7/E0enJpCBTLegX5s6bnE",
        "$argon2i$v=16$m=4096,t=3,p=1$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$extFNtZe661nDCrou0JdpAB5AeZ256A035K3/K0hx2Y",
        "$scrypt$ln=14,r=8,p=1$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$iVVijm+fudOvtzdC9sCHX2tvgDm75mya9Ykl9gIDJh0",
        "$pbkdf2-sha1$i=20000$AQIDBAUGBwgJCgsMDQ4PEA$pEueT4jnrfoHI5jp36sVvw8SZrI",
        "$pbkdf2-sha256$i=20000$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$dlKqdyfL/jjnl+w0zxgS1CHO4SujcgoLlrPYvvnOcxE",
        "$pbkdf2-sha512$i=20000$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$zzYl5qdZl19NjMQtviv8uOuzwVbBauTi94S29yiRKaf7iA6r/FDXe+D6D1I/jJDWmN2RbZ9mU1wAvWvH"
            + "/qCaUA",
        "$6$saltsaltsaltsalt$yFt3OZ1L77kfUmw7eEZm6YC6/8CKS3G45iRUWYUluvfSLcmsdcYJBTXxX3pcdOnUt4"
            + "CaXJeJOoPxMOc8724/Q.",
        "$6$rounds=10000$saltsalt$mzUvCpH0sXZlEWWkXrTETC123GYpA7yRzr3qia9U1TuoJ4UshCSprOeng4p7"
            + "I8/SzbJ7D0KQbHEQzDHXHtCwB.",
    ]

    private static let tenant = UUID.random()

    private static func hasher(_ secret: UInt8 = 1) -> PasswordHasher {
        PasswordHasher(
            secrets: SecretKeys([secret]), threads: 1,
            cost: PasswordHasher.Cost(kibibytes: 64, passes: 1, lanes: 1))
    }

    static func matches(_ password: String, _ text: String) async throws -> Bool {
        let verdict = try await hasher().verify(
            Array(password.utf8), against: text, ofUserIn: tenant)
        #expect(verdict.needsRehash == verdict.matches)
        return verdict.matches
    }

    static func refusal(
        _ parse: () throws(ForeignPasswordHash.Refusal) -> ForeignPasswordHash
    ) -> ForeignPasswordHash.Refusal? {
        do {
            _ = try parse()
            return nil
        } catch { return error }
    }

    @Test(arguments: texts) func `the right password matches, and no other`(text: String)
        async throws
    {
        let hash = try ForeignPasswordHash.parse(text)
        #expect(hash.text == text)
        #expect(ForeignPasswordHash(stored: hash.text) == hash)
        #expect(!text.contains("keyid"), "it names no secret key")
        #expect(try await Self.matches(Self.password, text))
        for wrong in ["correct horse batterz", "correct horse batter", "", Self.password + " "] {
            #expect(try await !Self.matches(wrong, text))
        }
    }

    @Test func `a hash depends on no secret key, and asks for one of ours`() async throws {
        for secret: UInt8 in 1...2 {
            let verdict = try await Self.hasher(secret).verify(
                Array(Self.password.utf8), against: Self.texts[0], ofUserIn: Self.tenant)
            #expect(verdict == PasswordHasher.Verdict(matches: true, needsRehash: true))
        }
    }

    @Test func `the published hash of argon2's own program matches`() async throws {
        let hash = try ForeignPasswordHash.parse(
            "$argon2i$v=19$m=65536,t=2,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG")
        #expect(try await Self.matches("password", hash.text))
    }

    @Test func `a password outside ASCII is taken as UTF-8`() async throws {
        let text = "$2b$05$abcdefghijklmnopqrstuuZVEMa1pjhlynBQ1qXmSvGBJpN9h1w8G"
        #expect(try await Self.matches("pässwörd", text))
        #expect(try await !Self.matches("passwörd", text))
    }

    @Test func `our hash keeps bcrypt's limit of 72 bytes until the password is changed`()
        async throws
    {
        let text = "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"
        let longest = String(repeating: "a", count: 72)
        let hasher = Self.hasher()
        for typed in [longest, longest + "a", longest + "bcd"] {
            let verdict = try await hasher.verify(
                Array(typed.utf8), against: text, ofUserIn: Self.tenant)
            #expect(
                verdict == PasswordHasher.Verdict(matches: true, needsRehash: true, isCut: true))
            let own = try await hasher.hash(Array(typed.utf8), isCut: true)
            #expect(own.contains(",cut=72$"))
            for later in [longest, longest + "a", longest + "x"] {
                let verdict = try await hasher.verify(
                    Array(later.utf8), against: own, ofUserIn: Self.tenant)
                #expect(verdict.matches && verdict.isCut && !verdict.needsRehash)
            }
            #expect(
                try await !hasher.verify(
                    Array(longest.dropLast().utf8), against: own, ofUserIn: Self.tenant
                ).matches)
        }
        #expect(try await !Self.matches("b" + longest, text))
        let short = try await hasher.verify(
            Array(Self.password.utf8), against: Self.texts[1], ofUserIn: Self.tenant)
        #expect(short.matches && !short.isCut)
    }

    @Test(arguments: [
        "$wp$2y$04$abcdefghijklmnopqrstuuBmcW6jRoZjEwB6yLf8pokbS/tOkZxVi",
        "bcrypt_sha256$$2b$04$abcdefghijklmnopqrstuuFABy..DpKi5eX.TjDW.8iDMNk/Tma6W",
        "bcrypt$$2b$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
        "{bcrypt}$2a$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
        "{BCRYPT}$2y$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
        "{CRYPT}$2b$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
        "{CRYPT}" + texts[10],
        "scrypt$AbCdEfGhIjKlMnOp$16384$8$5$S0n+LiW8Aax3XrO32c1rtVUeOcGIxUJr+6Yf8y5R9VqYu+MRC23g+wc3"
            + "MDd6dLwBvEfAB5FCDqREVHlA4AOsMQ==",
        "$argon2id$v=19$m=1024,t=2,p=8$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$JJEtn2mztnvAz1tf3mzquo6eLRbg029iy+ZQb64BgGo",
        "$argon2id$v=19$m=1024,t=2,p=16$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$eZrEXWvGIykpzEhSggwTDtu5Zy5Kmpy2At8PWTC/vfc",
        "$scrypt$ln=16384,r=8,p=1$AQIDBAUGBwgJCgsMDQ4PEA"
            + "$iVVijm+fudOvtzdC9sCHX2tvgDm75mya9Ykl9gIDJh0",
    ])
    func `wrapped, prehashed and many-laned hashes are read`(_ given: String) async throws {
        let text = try ForeignPasswordHash.parse(given).text
        #expect(text.hasPrefix("$") && ForeignPasswordHash(stored: text)?.text == text)
        #expect(try await Self.matches(Self.password, text))
        #expect(try await !Self.matches(Self.password + "x", text))
    }

    @Test(arguments: texts) func `a password with NUL is refused, although C would end there`(
        text: String
    ) async throws {
        #expect(try await !Self.matches(Self.password + "\0", text))
        #expect(try await !Self.matches(Self.password + "\0x", text))
    }

    @Test func `a password too long for libcrypt is wrong, not a fault`() async throws {
        let text = try #require(Self.texts.first { $0.hasPrefix("$6$") })
        #expect(try await !Self.matches(String(repeating: "a", count: 511), text))
        #expect(try await !Self.matches(String(repeating: "a", count: 512), text))
    }

    @Test func `set bits that bcrypt does not use change nothing`() async throws {
        let odd = "$2b$06$abcdefghijklmnopqrstuv50eFBEC8vQwBnuFXMHE45jBnqvQ8xz/"
        let hash = try ForeignPasswordHash.parse(odd)
        #expect(hash.text == Self.texts[1])
    }

    @Test func `only a user's password is checked against a foreign hash`() async throws {
        let hasher = Self.hasher()
        for text in Self.texts {
            await #expect(throws: PasswordFault.badHash) {
                try await hasher.verify(Array(Self.password.utf8), against: text)
            }
        }
        let own = try await hasher.hash(Array(Self.password.utf8))
        #expect(ForeignPasswordHash(stored: own) == nil)
        #expect(
            Self.refusal { () throws(ForeignPasswordHash.Refusal) in try .parse(own) } == .unknown)
        let verdict = try await hasher.verify(
            Array(Self.password.utf8), against: own, ofUserIn: Self.tenant)
        #expect(verdict == PasswordHasher.Verdict(matches: true, needsRehash: false))
    }

    /// So that it takes no less time than with a hash of ours: where that check has no room, a wrong
    /// try has none either, whether the foreign hash was asked or not.
    @Test func `a wrong try costs our own check besides`() async throws {
        let full = PasswordHasher(secrets: SecretKeys([1]), threads: 1, queueLimit: 0)
        for text in Self.texts {
            for wrong in ["wrong", "wrong\0", ""] {
                await #expect(throws: PasswordFault.busy) {
                    try await full.verify(Array(wrong.utf8), against: text, ofUserIn: Self.tenant)
                }
            }
            let right = try await full.verify(
                Array(Self.password.utf8), against: text, ofUserIn: Self.tenant)
            #expect(right.matches)
        }
    }
}
