import API
import Cryptography
import Domain
import Storage
import Text

/// PINs: with the right PIN, a session is elevated for a quarter of an hour. A PIN has 4 to 8
/// digits and is hashed like a password.
extension ClientCall {
    private static let liftedFor: Int64 = 900

    static func isPin(_ text: String) -> Bool {
        (4...8).contains(text.utf8.count) && text.utf8.allSatisfy { $0 &- 0x30 <= 9 }
    }

    /// Sets the user's first PIN; throws `.pinExists` if there is one.
    func setPin(_ pin: String, of person: SignedIn) async throws {
        if person.secrets.pinHash != nil { throw SignInRefusal.pinExists }
        try await store(try await hashed(Array(pin.utf8)), of: person)
    }

    /// Sets or changes the PIN; `nil` removes it.
    func replacePin(with pin: String?, of person: SignedIn) async throws {
        var hash: String?
        if let pin { hash = try await hashed(Array(pin.utf8)) }
        try await store(hash, of: person)
    }

    /// Checks the PIN. Throws `.pinMissing`, `.wrongPin`, or, after too many wrong PINs, `.locked`.
    func checkPin(_ pin: String, of person: SignedIn) async throws {
        guard let hash = person.secrets.pinHash else { throw SignInRefusal.pinMissing }
        let isRight = try await attemptOwn(Self.pin, of: person) {
            let bytes = Array(pin.utf8)
            let verdict = try await bounded { try await $0.verify(bytes, against: hash) }
            if verdict.needsRehash {
                let renewed = try await hashed(bytes)
                try await scope.change(by: actor(person.user)) {
                    try await $0.rehashPin(renewed, of: person.user.id, from: hash)
                }
            }
            return verdict.matches
        }
        guard isRight else { throw SignInRefusal.wrongPin }
    }

    /// Elevates the session for a quarter of an hour.
    func lift(_ person: SignedIn) async throws {
        let until = now.adding(seconds: Self.liftedFor)
        try await elevate(person, until: until)
    }

    /// Ends the session's elevation.
    func lower(_ person: SignedIn) async throws { try await elevate(person, until: nil) }

    private func elevate(_ person: SignedIn, until: Timestamp?) async throws {
        try await scope.change(by: actor(person.user)) {
            try await $0.elevate(person.session.id, until: until)
        }
    }

    private func store(_ hash: String?, of person: SignedIn) async throws {
        let isSet = try await scope.change(by: actor(person.user)) {
            try await $0.setPin(hash, of: person.user, was: person.secrets.pinHash)
        }
        // The PIN is not stored if a concurrent request has changed it in the meantime.
        if !isSet { throw SignInRefusal.pinExists }
    }
}
