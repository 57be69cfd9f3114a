import Cryptography
import Testing

@Suite struct PasswordHasherTests {
    private static let cheap = PasswordHasher.Cost(kibibytes: 64, passes: 1, lanes: 1)

    @Test func `the standard hash is a PHC string that verifies`() async throws {
        let hasher = PasswordHasher(secrets: SecretKeys([1]), threads: 1)
        let phc = try await hasher.hash(Array("correct horse".utf8))
        #expect(phc.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1,keyid="))
        let good = try await hasher.verify(Array("correct horse".utf8), against: phc)
        #expect(good == PasswordHasher.Verdict(matches: true, needsRehash: false))
        let bad = try await hasher.verify(Array("correct horsf".utf8), against: phc)
        #expect(bad == PasswordHasher.Verdict(matches: false, needsRehash: false))
    }

    @Test func `another pepper does not match`() async throws {
        let phc = try await PasswordHasher(secrets: SecretKeys([1]), threads: 1, cost: Self.cheap)
            .hash([5])
        let other = PasswordHasher(secrets: SecretKeys([2]), threads: 1, cost: Self.cheap)
        #expect(try await other.verify([5], against: phc).matches == false)
    }

    @Test func `a password beyond any block is not cut`() async throws {
        let hasher = PasswordHasher(secrets: SecretKeys([1]), threads: 1, cost: Self.cheap)
        let long = [UInt8](repeating: 0x61, count: 1024)
        let phc = try await hasher.hash(long)
        #expect(try await hasher.verify(long, against: phc).matches)
        #expect(try await hasher.verify(long.dropLast() + [0x62], against: phc).matches == false)
    }

    @Test func `weaker parameters ask for a new hash`() async throws {
        let phc = try await PasswordHasher(secrets: SecretKeys([]), threads: 1, cost: Self.cheap)
            .hash([5])
        let hasher = PasswordHasher(secrets: SecretKeys([]), threads: 1)
        let verdict = try await hasher.verify([5], against: phc)
        #expect(verdict == PasswordHasher.Verdict(matches: true, needsRehash: true))
        #expect(hasher.needsRehash("junk"))
    }

    @Test(
        arguments: [
            "", "x", "$argon2i$v=19$m=64,t=1,p=1,keyid=AAAAAA$AAAAAAAAAAAAAAAA$AAAA",
            "$argon2id$v=16$m=64,t=1,p=1,keyid=AAAAAA$AAAAAAAAAAAAAAAA$AAAA",
            "$argon2id$v=19$m=4000000,t=1,p=1,keyid=AAAAAA$AAAAAAAAAAAAAAAA$AAAA",
            "$argon2id$v=19$m=64,t=1$AAAAAAAAAAAAAAAA$AAAA",
            "$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAA$AAAA",
            "$argon2id$v=19$m=64,t=1,p=1,keyid=AAAA$AAAAAAAAAAAAAAAA$AAAA",
        ])
    func `a stored text outside the bounds is refused before any work`(phc: String) async {
        let hasher = PasswordHasher(secrets: SecretKeys([]), threads: 1, cost: Self.cheap)
        await #expect(throws: PasswordFault.badHash) { try await hasher.verify([5], against: phc) }
    }

    @Test func `an unknown user costs a check that ends without fault`() async throws {
        try await PasswordHasher(secrets: SecretKeys([]), threads: 1, cost: Self.cheap)
            .verifyUnknown([5])
    }

    @Test func `callers beyond the queue get the error busy`() async throws {
        let hasher = PasswordHasher(
            secrets: SecretKeys([]), threads: 1, queueLimit: 0, cost: Self.cheap)
        await #expect(throws: PasswordFault.busy) { try await hasher.hash([5]) }
    }

    @Test func `many callers on two threads are all answered`() async throws {
        let hasher = PasswordHasher(secrets: SecretKeys([]), threads: 2, cost: Self.cheap)
        try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<40 { group.addTask { try await hasher.hash([UInt8(index)]) } }
            var seen: Set<String> = []
            for try await phc in group { seen.insert(phc) }
            #expect(seen.count == 40)
        }
    }
}
