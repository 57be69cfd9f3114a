import Cryptography
import Testing

/// What an import's file may hold: any text. Nothing of it crashes, and nothing costly is kept.
@Suite struct ForeignHashBoundsTests {
    private typealias Refusal = ForeignPasswordHash.Refusal

    private static let salt = "AQIDBAUGBwgJCgsMDQ4PEA"
    private static let hash = "dlKqdyfL/jjnl+w0zxgS1CHO4SujcgoLlrPYvvnOcxE"
    private static let bcryptRest = "abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz."
    private static let sha512Rest =
        "yFt3OZ1L77kfUmw7eEZm6YC6/8CKS3G45iRUWYUluvfSLcmsdcYJBTXxX3pcdOnUt4CaXJeJOoPxMOc8724/Q."

    private static func refusal(_ text: String) -> Refusal? {
        ForeignPasswordHashTests.refusal { () throws(ForeignPasswordHash.Refusal) in
            try .parse(text)
        }
    }

    @Test func `each bound is held on both sides`() {
        let tail = "$\(Self.salt)$\(Self.hash)"
        // 64 bytes, twice the length of SHA-256.
        let long = String(repeating: "A", count: 86)
        let cases: [(String, Refusal?)] = [
            ("$2b$04$\(Self.bcryptRest)", nil), ("$2b$14$\(Self.bcryptRest)", nil),
            ("$2b$03$\(Self.bcryptRest)", .tooWeak), ("$2b$15$\(Self.bcryptRest)", .tooCostly),
            ("$2b$99$\(Self.bcryptRest)", .tooCostly),
            ("$6$rounds=1000$saltsalt$\(Self.sha512Rest)", nil),
            ("$6$rounds=1000000$saltsalt$\(Self.sha512Rest)", nil),
            ("$6$rounds=999$saltsalt$\(Self.sha512Rest)", .tooWeak),
            ("$6$rounds=1000001$saltsalt$\(Self.sha512Rest)", .tooCostly),
            ("$6$rounds=99999999999999999999$saltsalt$\(Self.sha512Rest)", .tooCostly),
            ("$6$saltsal$\(Self.sha512Rest)", .tooWeak),
            ("$argon2id$v=19$m=262144,t=10,p=4\(tail)", nil),
            ("$argon2id$v=19$m=512,t=1,p=1\(tail)", nil),
            ("$argon2id$m=512,t=1,p=1\(tail)", nil),
            ("$argon2id$v=19$m=262145,t=10,p=4\(tail)", .tooCostly),
            ("$argon2id$v=19$m=262144,t=11,p=4\(tail)", .tooCostly),
            ("$argon2id$v=19$m=262144,t=10,p=64\(tail)", nil),
            ("$argon2id$v=19$m=262144,t=10,p=65\(tail)", .tooCostly),
            ("$argon2id$v=19$m=65536,t=40,p=8\(tail)", nil),
            ("$argon2id$v=19$m=65536,t=41,p=8\(tail)", .tooCostly),
            ("$argon2id$v=19$m=512,t=1,p=64\(tail)", nil),
            ("$scrypt$ln=15,r=8,p=8\(tail)", nil), ("$scrypt$ln=15,r=8,p=9\(tail)", .tooCostly),
            ("$scrypt$ln=16384,r=8,p=1\(tail)", nil), ("$scrypt$ln=65536,r=8,p=1\(tail)", nil),
            ("$scrypt$ln=131072,r=8,p=1\(tail)", .tooCostly),
            ("$scrypt$ln=64,r=8,p=1\(tail)", .tooWeak),
            ("$scrypt$ln=99999999999999999999,r=8,p=1\(tail)", .tooCostly),
            ("$argon2i$v=19$m=511,t=1,p=1\(tail)", .tooWeak),
            ("$scrypt$ln=16,r=8,p=4\(tail)", nil), ("$scrypt$ln=10,r=8,p=1\(tail)", nil),
            ("$scrypt$ln=17,r=8,p=1\(tail)", .tooCostly),
            ("$scrypt$ln=16,r=9,p=1\(tail)", .tooCostly),
            ("$scrypt$ln=16,r=8,p=5\(tail)", .tooCostly),
            ("$scrypt$ln=9,r=8,p=1\(tail)", .tooWeak),
            ("$scrypt$ln=40,r=8,p=1\(tail)", .tooCostly),
            ("$scrypt$ln=63,r=8,p=1\(tail)", .malformed),
            ("$scrypt$ln=1,r=9223372036854775807,p=1\(tail)", .tooCostly),
            ("$scrypt$ln=16,r=1,p=1\(tail)", .malformed),
            ("$pbkdf2-sha256$i=1000\(tail)", nil), ("$pbkdf2-sha256$i=2000000\(tail)", nil),
            ("$pbkdf2-sha256$i=999\(tail)", .tooWeak),
            ("$pbkdf2-sha256$i=2000001\(tail)", .tooCostly),
            ("$pbkdf2-sha256$i=1000000$\(Self.salt)$\(long)", nil),
            ("$pbkdf2-sha256$i=1000001$\(Self.salt)$\(long)", .tooCostly),
            ("$pbkdf2-sha256$i=9223372036854775807$\(Self.salt)$\(long)", .tooCostly),
            ("$pbkdf2-sha256$i=1000$AQIDBAUGBw$\(Self.hash)", .tooWeak),
            ("$pbkdf2-sha256$i=1000$\(Self.salt)$AQIDBAUGBwgJCgsMDQ4P", .tooWeak),
            ("$pbkdf2-sha256$i=1000$\(long)AAAA$\(Self.hash)", .malformed),
            ("$pbkdf2-sha256$i=1000$\(Self.salt)$\(long)\(long)\(long)", .malformed),
        ]
        for (text, refusal) in cases {
            #expect(Self.refusal(text) == refusal, "\(text)")
            // What is not kept is not verified either, if it stood in the database.
            #expect((ForeignPasswordHash(stored: text) == nil) == (refusal != nil), "\(text)")
        }
    }

    @Test func `no other method of libcrypt is reached`() {
        for text in [
            "", "$", "$$", "x", "ab01FAX.bQRSU", "_J9..rasmBYk8r9AiWNc", "$1$saltsalt$" + Self.hash,
            "$2$06$\(Self.bcryptRest)", "$2x$06$\(Self.bcryptRest)", "$3$$\(Self.hash)",
            "$5$saltsalt$\(Self.hash)", "$7$CU..../....\(Self.hash)", "$y$j9T$\(Self.salt)$x",
            "$gy$j9T$\(Self.salt)$x", "$md5,rounds=5000$x$$x", "$sha1$480000$x$x", "*0", "!",
            "$argon2d$v=19$m=512,t=1,p=1$\(Self.salt)$\(Self.hash)", "plain text", "{SSHA}AAAA",
            "pbkdf2_md5$20000$AbCdEfGhIjKl$AAAA", "5f4dcc3b5aa765d61d8327deb882cf99",
            "$firebase-scrypt$ln=14,r=8,p=1$\(Self.salt)$\(Self.hash)$\(Self.hash)",
            "{CRYPT}ab01FAX.bQRSU", "{crypt}_J9..rasmBYk8r9AiWNc",
            "{CRYPT}$1$saltsalt$" + Self.hash,
            "{bcrypt}ab01FAX.bQRSU", "{bcrypt}$6$saltsalt$\(Self.sha512Rest)", "{bcrypt}",
            "{CRYPT}$2x$06$\(Self.bcryptRest)", "$wp$2x$06$\(Self.bcryptRest)", "$wp$P$Babcdefgh",
            "bcrypt$$2x$06$\(Self.bcryptRest)", "bcrypt_sha256$$1$saltsalt$\(Self.hash)",
            "{bcrypt}{bcrypt}$2b$06$\(Self.bcryptRest)", "{MD5}$2b$06$\(Self.bcryptRest)",
        ] {
            #expect(Self.refusal(text) == .unknown, "\(text)")
        }
    }

    @Test func `the tighter bounds refuse hashes that would occupy a core for long`() throws {
        let tail = "$\(Self.salt)$\(Self.hash)"
        for (text, isWithin) in [
            ("$2b$12$\(Self.bcryptRest)", true), ("$2b$13$\(Self.bcryptRest)", false),
            ("$wp$2y$12$\(Self.bcryptRest)", true), ("$wp$2y$13$\(Self.bcryptRest)", false),
            ("$argon2id$v=19$m=65536,t=4,p=4\(tail)", true),
            ("$argon2id$v=19$m=65536,t=5,p=4\(tail)", false),
            ("$argon2id$v=19$m=65537,t=1,p=1\(tail)", false),
            ("$scrypt$ln=15,r=8,p=1\(tail)", true), ("$scrypt$ln=15,r=8,p=2\(tail)", false),
            ("$pbkdf2-sha256$i=1000000\(tail)", true), ("$pbkdf2-sha256$i=1000001\(tail)", false),
            ("$6$rounds=200000$saltsalt$\(Self.sha512Rest)", true),
            ("$6$rounds=200001$saltsalt$\(Self.sha512Rest)", false),
        ] {
            #expect(try ForeignPasswordHash.parse(text).isWithinTightBounds == isWithin, "\(text)")
        }
    }

    @Test func `a malformed text is refused`() {
        let tail = "$\(Self.salt)$\(Self.hash)"
        for text in [
            "$2b$6$\(Self.bcryptRest)", "$2b$06$\(Self.bcryptRest)x", "$2b$06$", "$2b$",
            "$2b$0x$\(Self.bcryptRest)", "$2b$+6$\(Self.bcryptRest)",
            "$2b$06$abcdefghijklmnopqrstu:50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
            "$2b$06$abcdefghijklmnopqrst\0u50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.",
            "$6$salt:alt$\(Self.sha512Rest)", "$6$", "$6$$", "$6$saltsalt$short",
            "$6$saltsaltsaltsalts$\(Self.sha512Rest)",
            "$6$rounds=05000$saltsalt$\(Self.sha512Rest)",
            "$6$rounds=-1$saltsalt$\(Self.sha512Rest)", "$6$x=1$saltsalt$\(Self.sha512Rest)",
            "$argon2id$v=19$m=512,t=1\(tail)", "$argon2id$v=19$m=512,t=1,p=1,x=1\(tail)",
            "$argon2id$v=18$m=512,t=1,p=1\(tail)", "$argon2id$v=19$m=512,m=512,p=1\(tail)",
            "$argon2id$v=19$m=512,t=0,p=1\(tail)", "$argon2id$v=19$m=512,t=1,p=0\(tail)",
            "$argon2id$v=19$m=+512,t=1,p=1\(tail)", "$argon2id$v=19,m=512$t=1,p=1\(tail)",
            "$scrypt$ln=14,r=8\(tail)", "$scrypt$ln=0,r=8,p=1\(tail)", "$scrypt\(tail)",
            "$scrypt$ln=14,r=0,p=1\(tail)", "$pbkdf2-sha256$i=1000,l=31\(tail)",
            "$pbkdf2-sha256$i=1000,x=1\(tail)", "$pbkdf2-sha256\(tail)",
            "$pbkdf2-sha256$i=1000$\(Self.salt)$\(Self.hash)$",
            "$pbkdf2-sha256$i=1000$\(Self.salt)===$\(Self.hash)",
            "$pbkdf2-sha256$i=1000$A B$\(Self.hash)", "scrypt:16384:8$AbCdEfGhIjKl$00",
            "scrypt:16383:8:1$AbCdEfGhIjKl$" + String(repeating: "0", count: 64),
            "pbkdf2:sha256:20000$AbCdEfGhIjKl$0g", "pbkdf2_sha256$20000$AbCdEfGhIjKl",
            "$6$" + String(repeating: "a", count: 100_000),
        ] {
            #expect(Self.refusal(text) == .malformed, "\(text.prefix(200))")
        }
        #expect(Self.refusal("$argon2id$v=19$m=512,t=1,p=1,keyid=AAAAAA\(tail)") == .unknown)
        #expect(Self.refusal("$argon2id$v=19$m=512,t=1,p=1,data=AAAAAA\(tail)") == .unknown)
    }

    @Test func `texts altered at random are kept in one spelling or refused`() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("$,=.:/+-_0159amtpvlnir\0é".utf8)
        for text in ForeignPasswordHashTests.texts {
            for _ in 0..<2000 {
                var bytes = Array(text.utf8)
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let index = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes.remove(at: index)
                    case 1: bytes[index] = alphabet.randomElement(using: &random) ?? 0
                    default: bytes.insert(bytes[index], at: index)
                    }
                }
                let altered = String(decoding: bytes, as: UTF8.self)
                guard let hash = try? ForeignPasswordHash.parse(altered) else { continue }
                #expect(ForeignPasswordHash(stored: hash.text) == hash)
                #expect(!hash.text.contains("keyid"))
            }
        }
    }
}
