import Cryptography
import Domain
import HTTP
import Storage
import Text

/// One attempt to sign in or step up with a passkey. Failed attempts are counted apart from those
/// with passwords, in counters that all replicas share. The caller gets the same text for every
/// failure; only the log has the reason.
struct PasskeyProof {
    private let call: Call
    private let assertion: Assertion
    private let database: Database
    private let site: PasskeySite

    /// Reads the member `passkey` of the body.
    init(_ call: Call) throws {
        self.call = call
        assertion = try PasskeyInput.assertion(call.input.object("passkey"))
        database = call.database
        site = try call.passkeySite()
    }

    /// The operator whose passkey signed this browser's challenge. Throws if there is none.
    func signIn() async throws -> OperatorRow {
        let binding = TokenCookie.challenge.hash(in: call.request)
        // Attempts from others at the same address do not slow down a browser in which an operator
        // has signed in before.
        let device = TokenCookie.device.hash(in: call.request)
        var counter = ("address", call.request.network, AttemptPolicy.address)
        if let device, try await database.isKnownDevice(device, of: nil) {
            counter = ("device", Base64URL.encode(device), AttemptPolicy.passkey)
        }
        return try await counted(counter.0, counter.1, counter.2) {
            guard let binding else { throw refusal(.challengeMismatch) }
            return try await prove(nil) {
                try await database.useOpenChallenge($0, boundTo: binding)
            }
        }
    }

    /// Throws unless one of this operator's passkeys signed this session's challenge.
    func stepUp() async throws {
        let (person, binding) = try await call.passkeyHolder()
        _ = try await counted("operator", person.id.description, .passkey) {
            try await prove(person.id) {
                try await database.useChallenge($0, for: .stepUp, boundTo: binding)
            }
        }
    }

    /// Verifies the passkey's signature over a challenge, and returns the operator who has the
    /// passkey. `use` marks the challenge as used. It is called before the signature is checked, so
    /// that each attempt needs a new challenge.
    private func prove(
        _ asked: UUID?, _ use: (_ challenge: [UInt8]) async throws -> Bool
    ) async throws -> OperatorRow {
        let challenge: [UInt8]
        do {
            challenge = try ClientData(assertion.clientData).challenge
        } catch {
            throw refusal(error)
        }
        guard
            try await use(challenge),
            let (passkey, person, handle) = try await database.passkey(
                credential: assertion.credentialID)
        else { throw refusal(.challengeMismatch) }
        guard person.status != .suspended, asked == nil || asked == person.id,
            passkey.isUsable
        else { throw refusal(.credentialMismatch) }
        try await check(passkey, handle, of: person, challenge, namesUser: asked == nil)
        return person
    }

    private func check(
        _ passkey: PasskeyRow, _ handle: [UInt8], of person: OperatorRow, _ challenge: [UInt8],
        namesUser: Bool
    ) async throws {
        let ceremony = Ceremony(
            challenge: challenge, origin: site.origin, relyingParty: passkey.relyingParty)
        let credential = StoredCredential(
            id: passkey.credentialID, key: passkey.key, counter: UInt32(passkey.counter),
            userHandle: handle, isBackupEligible: passkey.isBackupEligible)
        do {
            let checked = try ceremony.check(assertion, by: credential, namesUser: namesUser)
            let isUsed = try await database.usePasskey(
                passkey.id, counter: checked.counter, isBackedUp: checked.isBackedUp)
            guard isUsed else { throw WebAuthnFault.counterFellBack }
        } catch let fault as WebAuthnFault {
            if fault == .counterFellBack || fault == .backupEligibilityChanged {
                try await database.passkeyRefused(
                    passkey, of: person, because: fault.code, by: person.actor(call))
            }
            throw fault == .backupEligibilityChanged ? changed(passkey) : refusal(fault)
        }
    }

    /// Counts an attempt before it is made. If the attempt succeeds, it no longer counts as a
    /// failure.
    private func counted(
        _ kind: String, _ name: String, _ policy: AttemptPolicy,
        _ attempt: () async throws -> OperatorRow
    ) async throws -> OperatorRow {
        let counter = SHA256.authenticate(
            Array("passkey \(kind) \(name)".utf8), key: database.directoryKey)
        try await database.claimAttempt(counter, policy)
        let person = try await attempt()
        try await database.endAttempt(counter, policy)
        return person
    }

    /// The error if the authenticator contradicts its earlier statement about whether the passkey
    /// can be backed up. The error says what the holder can do. Only the holder can cause it, since
    /// the signature was verified.
    private func changed(_ passkey: PasskeyRow) -> Problem {
        var problem = Problem.unauthorized(
            "The passkey “\(passkey.name)” has changed: its authenticator now reports differently "
                + "whether it can be backed up. Sign in another way, remove the passkey in your "
                + "account, and add it again.")
        problem.cause = "passkey: \(WebAuthnFault.backupEligibilityChanged.code)"
        return problem
    }

    private func refusal(_ fault: WebAuthnFault) -> Problem {
        var problem = Problem.unauthorized("The passkey is not valid.")
        problem.cause = "passkey: \(fault.code)"
        return problem
    }
}

extension Call {
    /// The site that passkeys belong to. Throws 409 with the reason if passkeys cannot be used on
    /// this server.
    func passkeySite() throws -> PasskeySite {
        do {
            return try database.options.passkeySite.get()
        } catch {
            throw Problem(.conflict, Self.words(error))
        }
    }

    /// Why passkeys cannot be used on this server; `nil` if they can.
    var passkeyFault: String? {
        switch database.options.passkeySite {
        case .success: nil
        case .failure(let fault): Self.words(fault)
        }
    }

    private static func words(_ fault: PasskeySite.Fault) -> String {
        switch fault {
        case .address:
            "Passkeys belong to a domain, and this server's public URL has an IP address instead."
        case .insecure:
            "Browsers offer passkeys only over https or at localhost, and this server's public URL "
                + "is neither."
        }
    }

    /// The operator of the console's session, and the hash of the session. The challenges of the
    /// session are bound to this hash.
    func passkeyHolder() async throws -> (person: OperatorRow, binding: [UInt8]) {
        guard let session = principal.session else { throw Problem.internalError }
        let person = try await `operator`
        return (person, SHA256.hash(Array("session \(session)".utf8)))
    }
}
