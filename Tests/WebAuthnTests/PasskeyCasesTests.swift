import Cryptography
import JSON
import TestSupport
import Testing

@Suite struct PasskeyCasesTests {
    private static func ceremony(_ file: PasskeyCases) -> Ceremony {
        Ceremony(
            challenge: file.challenge, origin: file.origin, relyingParty: file.relyingParty)
    }

    private static func registration(_ one: PasskeyCases.Case) throws -> Registration {
        Registration(
            credentialID: try #require(try one.bytes("rawId")),
            clientData: try #require(try one.bytes("response", "clientDataJSON")),
            attestation: try #require(try one.bytes("response", "attestationObject")))
    }

    private static func assertion(_ one: PasskeyCases.Case) throws -> Assertion {
        Assertion(
            credentialID: try #require(try one.bytes("rawId")),
            clientData: try #require(try one.bytes("response", "clientDataJSON")),
            authenticatorData: try #require(try one.bytes("response", "authenticatorData")),
            signature: try #require(try one.bytes("response", "signature")),
            userHandle: try one.bytes("response", "userHandle"))
    }

    private static func stored(_ one: PasskeyCases.Case) throws -> StoredCredential {
        let stored = try #require(one.stored)
        return StoredCredential(
            id: try #require(try PasskeyCases.Case.bytes(stored["id"])),
            key: try #require(try PasskeyCases.Case.bytes(stored["key"])),
            counter: UInt32(try #require(stored["counter"]?.int)),
            userHandle: try #require(try PasskeyCases.Case.bytes(stored["handle"])),
            isBackupEligible: false)
    }

    /// The reason of the refusal; nil if it is accepted.
    private static func verdict(
        _ one: PasskeyCases.Case, _ ceremony: Ceremony
    ) throws -> String? {
        do {
            if one.isRegistration {
                _ = try ceremony.check(registration(one))
            } else {
                _ = try ceremony.check(assertion(one), by: stored(one), namesUser: true)
            }
            return nil
        } catch let fault as WebAuthnFault {
            return fault.code
        }
    }

    @Test func `every bad answer is refused for its own reason, and every good one accepted`()
        throws
    {
        let file = try PasskeyCases.read()
        #expect(file.cases.count > 140)
        #expect(file.cases.count { $0.reason == nil } > 10)
        #expect(Set(file.cases.compactMap(\.reason)).count > 30)
        for one in file.cases {
            #expect(try Self.verdict(one, Self.ceremony(file)) == one.reason, "\(one)")
        }
    }

    @Test func `a truncated answer is refused`() throws {
        let file = try PasskeyCases.read()
        let ceremony = Self.ceremony(file)
        for one in file.cases where one.reason == nil && one.isRegistration {
            let whole = try Self.registration(one)
            for length in whole.attestation.indices {
                var cut = whole
                cut.attestation = Array(whole.attestation[..<length])
                #expect(throws: WebAuthnFault.self, "\(one) \(length)") {
                    try ceremony.check(cut)
                }
            }
        }
    }

    @Test func `no assertion with an altered bit is accepted`() throws {
        let file = try PasskeyCases.read()
        let ceremony = Self.ceremony(file)
        for one in file.cases where one.reason == nil && !one.isRegistration {
            let whole = try Self.assertion(one)
            let credential = try Self.stored(one)
            for index in whole.authenticatorData.indices {
                var altered = whole
                altered.authenticatorData[index] ^= 1 << UInt8(index % 8)
                #expect(throws: WebAuthnFault.self, "\(one) \(index)") {
                    try ceremony.check(altered, by: credential, namesUser: true)
                }
            }
            for index in whole.signature.indices {
                var altered = whole
                altered.signature[index] ^= 1 << UInt8(index % 8)
                #expect(throws: WebAuthnFault.self, "\(one) \(index)") {
                    try ceremony.check(altered, by: credential, namesUser: true)
                }
            }
        }
    }

    @Test func `the counter may stay at 0, and the handle be left out of a step-up`() throws {
        let file = try PasskeyCases.read()
        let ceremony = Self.ceremony(file)
        let good = try #require(
            file.cases.first { $0.reason == nil && !$0.isRegistration })
        let other = try #require(file.cases.first { $0.name.contains("a counter that ends") })
        var credential = try Self.stored(other)
        credential.counter = 0
        let checked = try ceremony.check(
            Self.assertion(other), by: credential, namesUser: true)
        #expect(checked.counter == 0)
        #expect(!checked.isBackedUp)
        var assertion = try Self.assertion(good)
        assertion.userHandle = nil
        credential = try Self.stored(good)
        #expect(
            try ceremony.check(assertion, by: credential, namesUser: false).counter == 8)
        #expect(throws: WebAuthnFault.userHandleMismatch) {
            try ceremony.check(assertion, by: credential, namesUser: true)
        }
    }
}
