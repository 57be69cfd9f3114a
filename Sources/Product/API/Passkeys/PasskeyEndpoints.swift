import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/me/passkeys`: an operator's own passkeys, and the options for a sign-in with one.
package enum PasskeyEndpoints {
    package static let all: [Endpoint] = [list, options, create, rename, remove, signInOptions]

    private static let path = "/v1/me/passkeys"
    /// The maximum number of requests for options from one client address per minute. A sign-in
    /// page sends one.
    private static let optionsLimit = 120

    private static let list = Endpoint(
        .get, path, id: "listPasskeys", tag: "Session",
        summary: "Lists the operator's passkeys, oldest first; at most \(Passkey.most).",
        access: .console, answers: [.list(PasskeyRow.shape)]
    ) { call in
        let (person, _) = try await call.passkeyHolder()
        return call.list(ListPage(whole: try await call.database.passkeys(of: person.id)))
    }

    private static let options = Endpoint(
        .post, path + "/options", id: "makePasskeyOptions", tag: "Session",
        summary: "Creates the options for the browser: for a new passkey, or for a step-up (a new "
            + "proof of presence) with a passkey.",
        access: .console,
        body: .json(
            ObjectShape(
                "PasskeyPurpose",
                [
                    .optional(
                        "purpose", .enumeration(["registration", "step_up"]),
                        "The purpose of the options; `registration` if absent.")
                ])),
        answers: [.ok(PasskeyOptions.shape)], problems: [.conflict, .stepUpRequired]
    ) { call in
        let (person, binding) = try await call.passkeyHolder()
        let site = try call.passkeySite()
        let known = try await call.database.passkeys(of: person.id)
        let party = try await call.database.relyingParty(of: site)
        let purpose = call.input.optionalCase("purpose") ?? Passkey.Purpose.registration
        if purpose == .stepUp {
            let challenge = try await call.database.makeChallenge(for: purpose, boundTo: binding)
            let allowed = known.filter { sameBytes($0.relyingParty, party) }
            return answer(
                PasskeyOptions.assertion(challenge, relyingParty: party, allowed: allowed))
        }
        guard known.count < Passkey.most else { throw tooMany }
        let handle = try await call.database.passkeyHandle(of: person.id)
        let challenge = try await call.database.makeChallenge(for: purpose, boundTo: binding)
        return answer(
            PasskeyOptions.registration(
                challenge, relyingParty: party, handle: handle, of: person, without: known))
    }

    private static let create = Endpoint(
        .post, path, id: "addPasskey", tag: "Session",
        summary: "Stores a new passkey that the browser created.", access: .console,
        body: .json(
            ObjectShape(
                "PasskeyCreation",
                [
                    .required(
                        "name", PasskeyRow.nameKind,
                        "A name by which the operator recognises the passkey."),
                    .required("passkey", .object(PasskeyInput.registration), PasskeyInput.about),
                ])),
        answers: [.created(PasskeyRow.shape)], problems: [.conflict, .stepUpRequired],
        maxBody: 1 << 15
    ) { call in
        let (person, binding) = try await call.passkeyHolder()
        let site = try call.passkeySite()
        let new = try await registered(call, site, binding)
        let row = try await changing(person, call) { change in
            let row = try await change.addPasskey(new, to: person)
            try await change.provePresence(in: call.principal.session, by: .passkey)
            try await change.tellOfChange(
                "the passkey \(row.name) was added", added: .passkey(row.id), to: person, call)
            return row
        }
        let location = "\(path)/\(row.id)"
        return .created(row, at: location, etag: nil)
    }

    /// Verifies the new passkey in the body and returns it. Its challenge is used up even if the
    /// verification fails.
    private static func registered(
        _ call: Call, _ site: PasskeySite, _ binding: [UInt8]
    ) async throws -> NewPasskey {
        let input = try call.input.object("passkey")
        let registration = try PasskeyInput.registration(input)
        do {
            let challenge = try ClientData(registration.clientData).challenge
            guard
                try await call.database.useChallenge(
                    challenge, for: .registration, boundTo: binding)
            else { throw WebAuthnFault.challengeMismatch }
            let ceremony = Ceremony(
                challenge: challenge, origin: site.origin,
                relyingParty: try await call.database.relyingParty(of: site))
            return NewPasskey(
                credential: try ceremony.check(registration),
                relyingParty: ceremony.relyingParty, name: try call.input.string("name"),
                transports: try PasskeyInput.transports(input))
        } catch let fault as WebAuthnFault {
            throw Problem.invalid([
                FieldError(
                    "/passkey", .invalid,
                    "is not a valid new passkey (\(fault.code)); start again, from a page of this "
                        + "server")
            ])
        }
    }

    private static let rename = Endpoint(
        .patch, path + "/{id}", id: "renamePasskey", tag: "Session", summary: "Renames a passkey.",
        access: .console,
        body: .json(
            ObjectShape(
                "PasskeyChange",
                [
                    .optional(
                        "name", PasskeyRow.nameKind,
                        "The new name by which the operator recognises the passkey.")
                ])),
        answers: [.ok(PasskeyRow.shape)], problems: [.notFound]
    ) { call in
        let (person, _) = try await call.passkeyHolder()
        let (id, name) = (try call.id(), call.input.optionalString("name"))
        let row = try await changing(person, call) { change in
            try await change.renamePasskey(id, to: name, of: person)
        }
        guard let row else { throw Problem.notFound("passkey") }
        return .ok(row)
    }

    private static let remove = Endpoint(
        .delete, path + "/{id}", id: "removePasskey", tag: "Session",
        summary:
            "Removes a passkey. It can then no longer be used to sign in. A passkey that is the "
            + "operator's only way to sign in cannot be removed.",
        access: .console, answers: [.noContent],
        problems: [.notFound, .conflict, .stepUpRequired]
    ) { call in
        let (person, _) = try await call.passkeyHolder()
        let id = try call.id()
        let row = try await changing(person, call) { change in
            let row = try await change.removePasskey(id, of: person)
            if let row {
                try await change.tellOfChange(
                    "the passkey \(row.name) was removed", to: person, call)
            }
            return row
        }
        guard row != nil else { throw Problem.notFound("passkey") }
        return .noContent
    }

    private static let signInOptions = Endpoint(
        .post, "/v1/session/passkey-options", id: "makeSignInOptions", tag: "Session",
        summary:
            "Creates the browser's options for a sign-in with a passkey. The options do not depend "
            + "on an account.",
        access: .open, answers: [.ok(PasskeyOptions.shape)], problems: [.conflict, .rateLimited]
    ) { call in
        let site = try call.passkeySite()
        let asked = try await call.database.count("passkey options \(call.request.network)")
        guard asked <= optionsLimit else {
            throw Problem.rateLimited(
                "Too many sign-ins from this address; try again in a minute.", limit: optionsLimit,
                retryAfter: call.database.secondsOfMinuteLeft)
        }
        let token = TokenCookie.challenge.token(in: call.request) ?? TokenSecret.make()
        guard let binding = TokenSecret.hash(token) else { throw Problem.internalError }
        let party = try await call.database.relyingParty(of: site)
        let challenge = call.database.makeOpenChallenge(boundTo: binding)
        var response = answer(PasskeyOptions.assertion(challenge, relyingParty: party))
        response.fields.append(TokenCookie.challenge.set(token, isTLS: call.request.isTLS))
        return response
    }

    private static func answer(_ options: JSONValue) -> Response {
        var response = Response.ok(options)
        response.fields.append(Field("cache-control", "no-store"))
        return response
    }

    private static func changing<Result: Sendable>(
        _ person: OperatorRow, _ call: Call, _ body: (Change) async throws -> Result
    ) async throws -> Result {
        do {
            return try await call.database.scope(person.tenant ?? .platform)
                .change(by: call.actor, body)
        } catch let refusal as PasskeyRefusal {
            switch refusal {
            case .tooMany: throw tooMany
            case .known: throw Problem(.conflict, "This passkey is already stored.")
            case .onlyWay:
                throw Problem(
                    .conflict,
                    "This is your only way to sign in: set a password or add another passkey "
                        + "first.")
            }
        }
    }

    private static let tooMany = Problem(
        .conflict, "An operator has at most \(Passkey.most) passkeys; remove one first.")
}

extension Change {
    fileprivate func tellOfChange(
        _ what: String, added factor: AddedFactor? = nil, to person: OperatorRow, _ call: Call
    ) async throws {
        try await tellOfChange(
            what, added: factor, to: person, publicURL: call.application.publicURL)
    }
}

/// The shapes of passkeys in bodies: the JSON that browsers produce (WebAuthn Level 3, section 5.1:
/// `PublicKeyCredential.toJSON`). Further members are accepted and ignored.
enum PasskeyInput {
    /// A base64url text that encodes at most this many bytes.
    private static func encoded(_ bytes: Int) -> Kind {
        .string(min: 1, max: (bytes * 4 + 2) / 3, rule: base64URL)
    }

    private static let base64URL = TextRule(
        pattern: "^[A-Za-z0-9_-]+$", detail: "must be base64url without padding", example: "AQID"
    ) { Base64URL.decode($0) != nil }

    private static func credential(_ name: String, _ response: [FieldShape]) -> ObjectShape {
        ObjectShape(
            name, open: true,
            [
                .required("id", encoded(1023), "The credential's id, in base64url."),
                .required("type", .enumeration(["public-key"]), "Always `public-key`."),
                .required(
                    "response", .object(ObjectShape(response, open: true)),
                    "The authenticator's response, as the browser returned it."),
            ])
    }

    /// The shape of `RegistrationResponseJSON`.
    static let registration = credential(
        "PasskeyRegistration",
        [
            .required(
                "clientDataJSON", encoded(4096), "The client data of the browser, in base64url."),
            .required(
                "attestationObject", encoded(16_384),
                "The new key and the data about its authenticator, in base64url."),
            .optional(
                "transports", .array(of: .string(max: 64), max: 16),
                "How the browser can reach the authenticator, for example `usb` or `internal`."),
        ])

    /// The shape of `AuthenticationResponseJSON`.
    static let assertion = credential(
        "PasskeyAssertion",
        [
            .required(
                "clientDataJSON", encoded(4096), "The client data of the browser, in base64url."),
            .required(
                "authenticatorData", encoded(2048),
                "The authenticator's data about this use, in base64url."),
            .required(
                "signature", encoded(1024),
                "The signature over `authenticatorData` and the hash of `clientDataJSON`, in "
                    + "base64url."),
            .nullable(
                "userHandle", .string(max: 128),
                "The user handle that the authenticator stored for the account, in base64url; "
                    + "`null` if the authenticator returned none."),
        ])

    /// The description in the OpenAPI document.
    static let about =
        "The credential that the browser's `navigator.credentials` returned, as "
        + "JSON (`toJSON()`)."

    static func registration(_ input: Input) throws -> Registration {
        let response = try input.object("response")
        return Registration(
            credentialID: try bytes(input, "id"), clientData: try bytes(response, "clientDataJSON"),
            attestation: try bytes(response, "attestationObject"))
    }

    /// Reads an assertion from a body. A user handle that cannot be decoded becomes empty, so that
    /// the later check refuses it as the handle of another user.
    static func assertion(_ input: Input) throws -> Assertion {
        let response = try input.object("response")
        return Assertion(
            credentialID: try bytes(input, "id"), clientData: try bytes(response, "clientDataJSON"),
            authenticatorData: try bytes(response, "authenticatorData"),
            signature: try bytes(response, "signature"),
            userHandle: response.optionalString("userHandle").map { Base64URL.decode($0) ?? [] })
    }

    /// The transports that the body names, such as `usb` or `hybrid`. Unknown transports are kept,
    /// since new transports are added over time.
    static func transports(_ input: Input) throws -> [String] {
        let given = try input.object("response").optionalStrings("transports") ?? []
        let words = given.filter { word in
            (1...32).contains(word.utf8.count)
                && word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
        }
        return Set(words).sorted()
    }

    private static func bytes(_ input: Input, _ name: String) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(try input.string(name)) else {
            throw Problem.internalError
        }
        return bytes
    }
}

extension PasskeyRow: JSONView {
    static let shape = ObjectShape(
        "Passkey",
        [
            .readOnly("id", .uuid, "The passkey's id."),
            FieldShape("name", nameKind, "The name by which the operator recognises the passkey."),
            .readOnly(
                "transports", .array(of: .string()),
                "How the browser can reach the authenticator, for example `usb` or `internal`."),
            .readOnly(
                "backed_up", .bool,
                "Whether the passkey is backed up outside the device."),
            .readOnly("relying_party", .string(), "The domain that the passkey was made for."),
            .readOnly(
                "usable", .bool,
                "Whether the passkey can be used; false if the passkey was made for another domain "
                    + "than this server's, or if the operator reported that someone else added "
                    + "the passkey."),
            .readOnly("created_at", .timestamp, "When the passkey was added."),
            .readOnly(
                "last_used_at", .timestamp, nullable: true,
                "When the operator last signed in or stepped up with the passkey; `null` if "
                    + "never."),
        ])

    static let nameKind = Kind.string(min: 1, max: 100, rule: .displayName)

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("name", name)
            $0.member("transports", transports)
            $0.member("backed_up", isBackedUp)
            $0.member("relying_party", relyingParty)
            $0.member("usable", isUsable)
            $0.member("created_at", createdAt)
            $0.member("last_used_at", lastUsedAt)
        }
    }
}

/// The options of `navigator.credentials`, in the JSON forms of WebAuthn Level 3, section 5.4.
enum PasskeyOptions {
    static let shape = ObjectShape(
        "PasskeyOptions", open: true,
        [
            .readOnly(
                "challenge", .string(),
                "The challenge, in base64url. It can be used once, within 5 minutes."),
            .readOnly("timeout", .integer(0...600_000), "The timeout in milliseconds."),
        ])

    private static let timeout = JSONValue.int(Int(Passkey.challengeSeconds) * 1000)

    static func registration(
        _ challenge: [UInt8], relyingParty: String, handle: [UInt8], of person: OperatorRow,
        without known: [PasskeyRow]
    ) -> JSONValue {
        .object([
            .init("challenge", .string(Base64URL.encode(challenge))), .init("timeout", timeout),
            .init(
                "rp",
                .object([.init("id", .string(relyingParty)), .init("name", .string("Gatehouse"))])),
            .init(
                "user",
                .object([
                    .init("id", .string(Base64URL.encode(handle))),
                    .init("name", .string(person.email)),
                    .init("displayName", .string(person.name ?? person.email)),
                ])),
            .init(
                "pubKeyCredParams",
                .array(
                    COSEKey.Algorithm.allCases.map {
                        .object([
                            .init("type", .string("public-key")), .init("alg", .int($0.rawValue)),
                        ])
                    })),
            .init("excludeCredentials", .array(known.map(\.descriptor))),
            .init(
                "authenticatorSelection",
                .object([
                    .init("residentKey", .string("required")),
                    .init("requireResidentKey", .bool(true)),
                    .init("userVerification", .string("required")),
                ])),
            .init("attestation", .string("none")),
        ])
    }

    /// The options for a sign-in or step-up. `allowed` is empty before a sign-in, since a list of
    /// passkeys would reveal whether an account exists.
    static func assertion(
        _ challenge: [UInt8], relyingParty: String, allowed: [PasskeyRow] = []
    ) -> JSONValue {
        .object([
            .init("challenge", .string(Base64URL.encode(challenge))), .init("timeout", timeout),
            .init("rpId", .string(relyingParty)),
            .init("allowCredentials", .array(allowed.map(\.descriptor))),
            .init("userVerification", .string("required")),
        ])
    }
}

extension PasskeyRow {
    fileprivate var descriptor: JSONValue {
        .object([
            .init("type", .string("public-key")),
            .init("id", .string(Base64URL.encode(credentialID))),
            .init("transports", .strings(transports)),
        ])
    }
}
