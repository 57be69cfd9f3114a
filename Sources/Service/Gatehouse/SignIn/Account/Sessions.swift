import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// An access token as it is issued to an app, with its user and expiry.
struct IssuedToken: Sendable {
    var text: String
    var user: UserRow
    var expiresAt: Timestamp
    var seconds: Int64
}

extension ClientCall {
    /// Begins a session and returns its token, which consists of the tenant's locator and 32 random
    /// bytes. The locator shows to which tenant the token belongs. Only the hash of the token is
    /// stored.
    func startSession(
        of user: UUID, _ method: NewSession.Method, _ device: ReportedDevice, seconds: Int64
    ) async throws -> (token: String, user: UserRow) {
        let token = TenantToken.make(locator: tenant.locator)
        let session = newSession(TenantToken.hash(token), method, device, seconds)
        let row = try await begin(session, of: user)
        return (token, row)
    }

    /// Begins a session with an ES256 access token. `more` returns further members of the token's
    /// payload, which the app needs.
    func startTokenSession(
        of user: UUID, _ method: NewSession.Method, _ device: ReportedDevice, seconds: Int64,
        more: (UserRow) -> [JSONValue.Member] = { _ in [] }
    ) async throws -> IssuedToken {
        let tokenID = TokenSecret.make()
        guard let hash = TokenSecret.hash(tokenID) else { throw Problem.internalError }
        let session = newSession(hash, method, device, seconds)
        let row = try await begin(session, of: user)
        let begun = database.clock()
        let end = begun.adding(seconds: seconds)
        let carried = try await attributes(of: row)
        let text = try await application.tokens.sign(
            AccessTokenClaims(
                user: user, tenant: tenant.id, session: session.id, tokenID: tokenID,
                client: client.name, issuedAt: begun, expiresAt: end, more: more(row) + carried))
        return IssuedToken(text: text, user: row, expiresAt: end, seconds: seconds)
    }

    /// Ends the session, with effect on every replica.
    func endSession(_ person: SignedIn) async throws {
        try await scope.change(by: actor(person.user)) {
            try await $0.endSessions(of: person.user, id: person.session.id)
        }
    }

    /// Returns the payload's member `attributes` with the user's attributes that the tenant's
    /// schema marks for tokens. Empty if there are no such attributes.
    private func attributes(of user: UserRow) async throws -> [JSONValue.Member] {
        if user.attributes.public.isEmpty { return [] }
        let carried = try await scope.attributeSchema().schema.inToken(user.attributes.public)
        return carried.isEmpty ? [] : [.init("attributes", .object(carried))]
    }

    private func newSession(
        _ hash: [UInt8], _ method: NewSession.Method, _ device: ReportedDevice, _ seconds: Int64
    ) -> NewSession {
        NewSession(
            tokenHash: hash, client: client.name, method: method, device: device.id,
            deviceType: device.type, deviceOS: device.os,
            userAgent: request.first("user-agent").map { String($0.unicodeScalars.prefix(512)) },
            seconds: seconds)
    }

    private func begin(_ session: NewSession, of user: UUID) async throws -> UserRow {
        let named = try await scope.user(user)
        do {
            return try await scope.change(by: actor(named)) {
                try await $0.startSession(session, of: user)
            }
        } catch StorageFailure.notFound {
            // The user was suspended or deleted between the proof and now.
            throw named?.status == .suspended
                ? SignInRefusal.userSuspended : SignInRefusal.wrongPassword
        }
    }
}

/// The device as the client describes it. Nothing in it is verified. It names the session in lists,
/// and is part of the key by which a known device is recognised.
package struct ReportedDevice: Sendable {
    /// The id that the app gave the device, if any.
    package var id: String?
    var type: String?
    var os: String?

    init(id: String? = nil, type: String? = nil, os: String? = nil) {
        self.id = id.map { Self.plain($0) }
        self.type = type.map { Self.plain($0) }
        self.os = os.map { Self.plain($0) }
    }

    /// Returns at most 128 characters of the text, without control characters, since it is shown in
    /// lists.
    private static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(128)))
    }

    /// Returns a text that identifies where a request comes from: its network and what the app says
    /// about the device. The same device in another network counts as another device.
    func key(from address: String) -> String {
        [IPAddress.network(of: address), id ?? "", type ?? "", os ?? ""].joined(separator: "\0")
    }
}
