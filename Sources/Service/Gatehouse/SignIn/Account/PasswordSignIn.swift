import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

extension ClientCall {
    /// Returns the user with this address and password. An unknown address, a wrong password, no
    /// password and an inactive user give the same refusal after the same work. Attempts from
    /// unknown devices count together towards a lockout; a device with an earlier success has its
    /// own count.
    func user(
        email: String, password: String, device: ReportedDevice
    ) async throws -> (user: UserRow, secrets: UserSecrets) {
        let key = (try? EmailAddress(email, allowSingleLabel: allowsSingleLabel))?.key ?? email
        let deviceKey = digest("device", device.key(from: request.remoteAddress))
        let found = try await scope.userWithPassword(emailKey: key, device: deviceKey)
        let isKnown = found?.isKnown ?? false
        let account =
            isKnown
            ? digest("account at device", key, device.key(from: request.remoteAddress))
            : digest("account", key)
        let address = digest("address", request.network)
        try await claim(account, .account)
        if !isKnown {
            try await claim(address, .address)
            try await slowStrangersAttempts()
        }
        let verdict = try await check(
            password, against: found?.user.status == .active ? found?.secrets.passwordHash : nil)
        guard let found, verdict.matches, let hash = found.secrets.passwordHash else {
            noteWrong("wrong_password", of: found?.user.id)
            throw SignInRefusal.wrongPassword
        }
        let user = try await admitByPassword(found.user)
        try await database.endAttempt(account, .account)
        if !isKnown { try await database.endAttempt(address, .address) }
        let renewed =
            verdict.needsRehash
            ? try await hashed(Array(password.utf8), isCut: verdict.isCut) : nil
        try await scope.change(by: actor(user)) { change in
            try await change.rememberDevice(deviceKey, of: user.id)
            if let renewed { try await change.rehashPassword(renewed, of: user.id, from: hash) }
        }
        return (user, found.secrets)
    }

    /// Runs the rules for a user who proved a password, as for every sign-in. A refusal by the
    /// rules looks like a wrong password.
    private func admitByPassword(_ user: UserRow) async throws -> UserRow {
        var subject = user.passwordSubject
        if subject == nil {
            subject = try await scope.change(by: actor(user)) {
                try await $0.linkPassword(of: user.id)
            }
        }
        var attempt = ProvisioningCall(
            provider: .attempt(ProviderKind.password.rawValue, issuer: nil, subject: subject ?? ""))
        attempt.email = user.email
        do {
            return try await admit(attempt)
        } catch SignInRefusal.refused {
            throw SignInRefusal.wrongPassword
        }
    }

    /// Sets a new password and ends the user's other sessions, unless `endsOthers` is false. Throws
    /// `.passwordTooShort`, `.passwordTooLong`, `.passwordGuessable`.
    func changePassword(
        of person: SignedIn, to password: String, endsOthers: Bool = true
    ) async throws -> UserRow {
        let hash = try await newPasswordHash(
            password, about: [person.user.email, person.user.name ?? person.user.email])
        return try await scope.change(by: actor(person.user)) { change in
            try await change.setPassword(
                hash, of: person.user.id,
                keeping: endsOthers ? .only(person.session.id) : .all)
        }
    }

    /// Returns whether this is the user's current password; attempts are counted like sign-ins.
    func isPassword(_ password: String, of person: SignedIn) async throws -> Bool {
        try await attemptOwn("password of", of: person) {
            try await check(password, against: person.secrets.passwordHash).matches
        }
    }

    /// Returns the hash of a new password that meets the tenant's policy. An app may lower the
    /// minimum length, but not below `TenantPolicy.passwordFloor`. `about` are texts that an
    /// attacker would try for this user.
    func newPasswordHash(_ password: String, about: [String]) async throws -> String {
        let policy = try await scope.policy().policy
        let lowered = contract.leastPassword?(self)
        let least = min(policy.passwordMin, lowered ?? Int.max)
        let chosen = NewPassword(
            text: password, minimum: max(least, TenantPolicy.passwordFloor),
            usesBlocklist: policy.passwordBlocklist && lowered == nil, about: about)
        switch chosen.fault(at: "")?.code {
        case nil: return try await hashed(Array(password.utf8))
        case .tooShort: throw SignInRefusal.passwordTooShort(least)
        case .tooLong: throw SignInRefusal.passwordTooLong
        default: throw SignInRefusal.passwordGuessable
        }
    }

    /// Whether addresses such as `admin@local` are allowed, by a setting of the client.
    var allowsSingleLabel: Bool { setting("single_label_email")?.bool ?? false }

    private func check(
        _ password: String, against hash: String?
    ) async throws -> PasswordHasher.Verdict {
        let bytes = Array(password.utf8)
        return try await bounded { passwords in
            if let hash {
                return try await passwords.verify(bytes, against: hash, ofUserIn: scope.tenant)
            }
            try await passwords.verifyUnknown(bytes)
            return PasswordHasher.Verdict(matches: false, needsRehash: false)
        }
    }
}

extension ClientCall {
    func hashed(_ secret: [UInt8], isCut: Bool = false) async throws -> String {
        try await bounded { try await $0.hash(secret, isCut: isCut) }
    }

    /// Runs `work` with the password hasher. If the hasher has too much work already, throws an
    /// error that asks the caller to retry.
    func bounded<Result: Sendable>(
        _ work: (PasswordHasher) async throws -> Result
    ) async throws -> Result {
        do {
            return try await work(application.passwords)
        } catch let fault as PasswordFault {
            guard fault == .busy else { throw fault }
            throw SignInRefusal.locked(1)
        }
    }
}
