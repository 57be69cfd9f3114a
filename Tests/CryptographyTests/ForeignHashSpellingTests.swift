import Cryptography
import Testing

/// The exports of other systems, whose password is the one of `ForeignPasswordHashTests`.
@Suite struct ForeignHashSpellingTests {
    private typealias Refusal = ForeignPasswordHash.Refusal

    private static let salt = "AQIDBAUGBwgJCgsMDQ4PEA=="

    /// The example of firebase/scrypt.
    private static let signerKey =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
    private static let firebaseHash =
        "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
    private static let firebaseSalt = "42xEC+ixf3L2lw=="

    private func expectMatch(
        _ hash: ForeignPasswordHash, _ password: String = ForeignPasswordHashTests.password,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(
            try await ForeignPasswordHashTests.matches(password, hash.text),
            sourceLocation: sourceLocation)
        #expect(
            try await !ForeignPasswordHashTests.matches(password + "x", hash.text),
            sourceLocation: sourceLocation)
    }

    private func refusal(
        _ parse: () throws(ForeignPasswordHash.Refusal) -> ForeignPasswordHash
    ) -> Refusal? {
        ForeignPasswordHashTests.refusal(parse)
    }

    @Test func `Django's and Werkzeug's are read`() async throws {
        for text in [
            "pbkdf2_sha256$20000$AbCdEfGhIjKl$SdBhGsaRdTtJrXURSbP2CNra1PSWildhXjSdifEM3Qc=",
            "argon2" + ForeignPasswordHashTests.texts[3],
            "scrypt:32768:8:1$AbCdEfGhIjKlMnOp$94ed13ee984236c68c6ccceee15135408fb37bae18e516f8ce23"
                + "07e805453d66d935170b168da914eb65d5eaf01d75f702a3c8252b9aefaac363fb60c7987f5c",
            "pbkdf2:sha1:20000$AbCdEfGhIjKl$2c977ea12c418eca55f3cdac5d1884fe0d168fbc",
        ] { try await expectMatch(.parse(text)) }
    }

    @Test func `passlib's and padded forms are read`() async throws {
        let hash = "dlKqdyfL/jjnl.w0zxgS1CHO4SujcgoLlrPYvvnOcxE"
        try await expectMatch(.parse("$pbkdf2-sha256$20000$AQIDBAUGBwgJCgsMDQ4PEA$\(hash)"))
        try await expectMatch(.parse("$pbkdf2-sha256$i=20000,l=32$\(Self.salt)$\(hash)="))
    }

    @Test func `Firebase's published example matches, and keeps no signer key`() async throws {
        let project = try FirebaseProject(
            signerKey: Self.signerKey, saltSeparator: "Bw==", rounds: 8, memoryCost: 14)
        let hash = try ForeignPasswordHash.firebase(
            hash: Self.firebaseHash, salt: Self.firebaseSalt, of: project)
        try await expectMatch(hash, "user1password")
        #expect(hash.text.hasPrefix("$firebase-scrypt$ln=14,r=8,p=1$42xEC+ixf3L2lwc$lSrf"))
        #expect(!hash.text.contains(Self.signerKey.prefix(20)))
        #expect(ForeignPasswordHash(stored: hash.text) == hash)
        // Exports use either alphabet.
        let url = Self.firebaseHash.replacing("+", with: "-").replacing("/", with: "_")
        #expect(
            try .firebase(hash: url, salt: Self.firebaseSalt.replacing("+", with: "-"), of: project)
                == hash)
        #expect(
            refusal { () throws(Refusal) in
                try .firebase(hash: "AAAA", salt: Self.firebaseSalt, of: project)
            } == .malformed)
    }

    @Test func `Firebase's parameters are bounded`() {
        for (key, memoryCost, expected): (String, Int, Refusal) in [
            (Self.signerKey, 17, .tooCostly), (Self.signerKey, 64, .tooCostly),
            (Self.signerKey, -1, .malformed), (Self.signerKey, 9, .tooWeak),
            ("Bw==", 14, .tooWeak), ("!", 14, .malformed),
        ] {
            #expect(throws: expected) {
                try FirebaseProject(
                    signerKey: key, saltSeparator: "Bw==", rounds: 8, memoryCost: memoryCost)
            }
        }
    }

    @Test func `Clerk's digests are read by their hasher`() async throws {
        let texts = ForeignPasswordHashTests.texts
        let hex =
            "cf3625e6a759975f4d8cc42dbe2bfcb8ebb3c156c16ae4e2f784b6f7289129a7"
            + "fb880eabfc50d77be0fa0f523f8c90d698dd916d9f66535c00bd6bc7fea09a50"
        for (hasher, digest) in [
            ("bcrypt", texts[1]), ("argon2id", texts[3]), ("argon2i", texts[4]),
            (
                "pbkdf2_sha256",
                "pbkdf2_sha256$20000$\(Self.salt)$dlKqdyfL/jjnl+w0zxgS1CHO4SujcgoLlrPYvvnOcxE="
            ),
            (
                "pbkdf2_sha256_django",
                "pbkdf2_sha256$20000$AbCdEfGhIjKl$SdBhGsaRdTtJrXURSbP2CNra1PSWildhXjSdifEM3Qc="
            ),
            (
                "pbkdf2_sha512_hex",
                "pbkdf2_sha512_hex$20000$0102030405060708090a0b0c0d0e0f10$\(hex)"
            ),
            (
                "pbkdf2_sha512",
                "pbkdf2_sha512$20000$AbCdEfGhIjKl$689e4d44077f392781f1ef2d32459cd913eef51082c9cfb3b43d"
                    + "fae7190c9fd86cd4ee80652871a57527eb322365f96d4c60eb82753d500f24be91acce446378"
            ),
            (
                "pbkdf2_sha1",
                "pbkdf2_sha1$20000$AbCdEfGhIjKl$2c977ea12c418eca55f3cdac5d1884fe0d168fbc"
            ),
            (
                "pbkdf2_sha1",
                "pbkdf2_sha1$20000$AbCdEfGhIjKl$2c977ea12c418eca55f3cdac5d1884fe0d168fbc$20"
            ),
            (
                "scrypt_werkzeug",
                "scrypt:32768:8:1$AbCdEfGhIjKlMnOp$94ed13ee984236c68c6ccceee15135408fb37bae18e516f8ce"
                    + "2307e805453d66d935170b168da914eb65d5eaf01d75f702a3c8252b9aefaac363fb60c7987f5c"
            ),
        ] { try await expectMatch(.clerk(digest: digest, hasher: hasher)) }
        let firebase =
            "\(Self.firebaseHash)$\(Self.firebaseSalt)$\(Self.signerKey)$Bw==$8$14"
        try await expectMatch(
            .clerk(digest: firebase, hasher: "scrypt_firebase"), "user1password")
        for (hasher, digest, expected): (String, String, Refusal) in [
            ("md5", "5f4dcc3b5aa765d61d8327deb882cf99", .unknown), ("bcrypt", texts[3], .malformed),
            ("argon2i", texts[3], .malformed), ("scrypt_firebase", "a$b$c$d$e$f", .malformed),
            ("pbkdf2_sha1", "", .malformed), ("bcrypt_peppered", texts[1], .unknown),
        ] {
            #expect(
                refusal { () throws(Refusal) in try .clerk(digest: digest, hasher: hasher) }
                    == expected)
        }
    }

    @Test func `Keycloak's credentials are read`() async throws {
        try await expectMatch(
            .keycloak(
                KeycloakPasswordHash(
                    value:
                        "cXKbBoKn0efR3ptaFr70rJDchzKupBo5VV8x6AtN3iloAfy6iDfLB+AkeFIOY9wikkt2w3E9"
                        + "uhAJzP0P/ZcuKg==",
                    salt: Self.salt, hashIterations: 21000, algorithm: "pbkdf2-sha512")))
        try await expectMatch(
            .keycloak(
                KeycloakPasswordHash(
                    value:
                        "G7XFFRBBZqPA/nyGXnMg4gm73X0/gGZxeWTkGgg+EUO3gRdu3cm++6Iw5yk6l3Z8Ffqx5Rgm"
                        + "33Ldxp1HEMmTPA==",
                    salt: Self.salt, hashIterations: 2750, algorithm: "pbkdf2-sha256")))
        var argon2 = KeycloakPasswordHash(
            value: "W1f4nUJIYGiXZHg1yIvNb8VdNDeEH8nZG1TwRhNSCgg=", salt: Self.salt,
            hashIterations: 5, algorithm: "argon2",
            additionalParameters: [
                "hashLength": ["32"], "memory": ["7168"], "type": ["id"], "version": ["1.3"],
                "parallelism": ["1"],
            ])
        try await expectMatch(.keycloak(argon2))
        argon2.additionalParameters["memory"] = ["262145"]
        #expect(refusal { () throws(Refusal) in try .keycloak(argon2) } == .tooCostly)
        argon2.additionalParameters["memory"] = nil
        #expect(refusal { () throws(Refusal) in try .keycloak(argon2) } == .malformed)
        argon2.additionalParameters["type"] = ["d"]
        #expect(refusal { () throws(Refusal) in try .keycloak(argon2) } == .unknown)
        argon2.algorithm = "md5"
        #expect(refusal { () throws(Refusal) in try .keycloak(argon2) } == .unknown)
    }

    @Test func `Auth0's custom hashes are read`() async throws {
        let texts = ForeignPasswordHashTests.texts
        for (algorithm, text) in [
            ("bcrypt", texts[1]), ("argon2", texts[3]), ("argon2", texts[4]), ("pbkdf2", texts[8]),
        ] {
            try await expectMatch(
                .auth0(
                    Auth0PasswordHash(
                        algorithm: algorithm, hash: .init(text, encoding: "utf8"), salt: nil)))
        }
        var scrypt = Auth0PasswordHash(
            algorithm: "scrypt",
            hash: .init(
                "iVVijm+fudOvtzdC9sCHX2tvgDm75mya9Ykl9gIDJh3bd2L6BesdLQYdOI1QhorAdp4Ywvrp0i7F4yoa6awx"
                    + "Ew==", encoding: "base64"),
            salt: .init(Self.salt, encoding: "base64"))
        try await expectMatch(.auth0(scrypt))
        scrypt.keyLength = 32
        #expect(refusal { () throws(Refusal) in try .auth0(scrypt) } == .malformed)
        scrypt.keyLength = 64
        scrypt.cost = 1 << 20
        #expect(refusal { () throws(Refusal) in try .auth0(scrypt) } == .tooCostly)
        scrypt.salt = nil
        #expect(refusal { () throws(Refusal) in try .auth0(scrypt) } == .malformed)
        for (algorithm, salt, expected): (String, Auth0PasswordHash.Text?, Refusal) in [
            ("md5", nil, .unknown), ("argon2", nil, .malformed),
            ("bcrypt", .init("x", encoding: nil), .unknown),
        ] {
            let hash = Auth0PasswordHash(
                algorithm: algorithm, hash: .init(texts[1], encoding: nil), salt: salt)
            #expect(refusal { () throws(Refusal) in try .auth0(hash) } == expected)
        }
    }
}
