import Domain
import Testing
import Text

@Suite struct APIKeyTests {
    let now = RuleFixture.now

    func key() -> APIKey {
        APIKey(
            id: UUID(high: 1, low: 1), tenantID: RuleFixture.acme, owner: .user(RuleFixture.ann),
            name: "k",
            environment: .live, current: secret(1), scopes: ["api:read"], createdAt: now)
    }

    func secret(_ byte: UInt8) -> APIKey.Secret {
        APIKey.Secret(hash: [byte], prefix: "gate_live_00", last4: "abcd")
    }

    @Test func `a made key reads back and a typo does not`() throws {
        let made = try #require(APIKeySecret.make(environment: .live, locator: "a1B2c3"))
        #expect(made.text.utf8.count == 52)
        #expect(made.locator == "a1B2c3")
        #expect(made.prefix == "gate_live_a1")
        #expect(APIKeySecret(made.text) == made)
        for at in 0..<52 {
            var bytes = Array(made.text.utf8)
            bytes[at] = bytes[at] == 0x41 ? 0x42 : 0x41
            #expect(APIKeySecret(String(decoding: bytes, as: UTF8.self)) == nil)
        }
        #expect(APIKeySecret(made.text + "0") == nil)
        #expect(APIKeySecret.make(environment: .live, locator: "short") == nil)
    }

    @Test func `the checksum is that of zlib`() {
        #expect(Base62.crc32(Array("123456789".utf8)[...]) == 0xCBF4_3926)
    }

    @Test func `rotation leaves the old secret its grace and no longer`() throws {
        let rotated = try APIKeyRotation.rotate(key(), to: secret(2), grace: 60, now: now)
        func verdict(_ seconds: Int64) -> APIKeyVerdict {
            var facts = APIKeyVerdict.Facts()
            facts.secret = .previous(until: rotated.previous?.until)
            return .of(facts, now: now.adding(seconds: seconds))
        }
        #expect(rotated.status(at: now) == .grace)
        #expect(verdict(59) == .valid)
        #expect(verdict(60) == .unknown)
        #expect(rotated.current == secret(2))
        #expect(try APIKeyRotation.cut(rotated, now: now).status(at: now) == .active)
        #expect(try APIKeyRotation.rollBack(rotated, now: now).current == secret(1))
        #expect(throws: APIKeyRotation.Failure.nothingInGrace) {
            try APIKeyRotation.rollBack(rotated, now: now.adding(seconds: 60))
        }
    }

    @Test func `a rotation without grace ends the old secret and revoked keys do not rotate`() {
        #expect(throws: APIKeyRotation.Failure.graceOutOfRange) {
            try APIKeyRotation.rotate(key(), to: secret(2), grace: 604_801, now: now)
        }
        var revoked = key()
        revoked.revokedAt = now
        #expect(throws: APIKeyRotation.Failure.notLive) {
            try APIKeyRotation.rotate(revoked, to: secret(2), grace: 0, now: now)
        }
        let cut = try? APIKeyRotation.rotate(key(), to: secret(2), grace: 0, now: now)
        #expect(cut?.previous == nil)
    }

    @Test func `each code of the verdict has its fact`() {
        func verdict(_ change: (inout APIKeyVerdict.Facts) -> Void) -> APIKeyVerdict {
            var facts = APIKeyVerdict.Facts()
            facts.isOfUser = true
            facts.userStatus = .active
            change(&facts)
            return .of(facts, now: now)
        }
        #expect(verdict { _ in } == .valid)
        #expect(APIKeyVerdict.of(nil, now: now) == .unknown)
        #expect(verdict { $0.secret = .previous(until: nil) } == .unknown)
        #expect(verdict { $0.revokedAt = now } == .revoked)
        #expect(verdict { $0.expiresAt = now } == .expired)
        #expect(verdict { $0.tenantStatus = .suspended } == .tenantSuspended)
        #expect(verdict { $0.tenantStatus = .deleted } == .unknown)
        #expect(verdict { $0.userStatus = .suspended } == .userSuspended)
        #expect(verdict { $0.userStatus = nil } == .unknown)
        #expect(verdict { $0.isIPAllowed = false } == .ipNotAllowed)
        #expect(verdict { $0.isOriginAllowed = false } == .originNotAllowed)
        #expect(verdict { $0.holdsScopes = false } == .scopeMissing)
        #expect(verdict { $0.isRateLimited = true } == .rateLimited)
    }
}
