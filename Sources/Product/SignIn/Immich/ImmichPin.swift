import API
import HTTP
import JSON
import Storage
import Text

/// The PIN of the locked folder. A wrong one is 400, never 401, which would sign the app out.
enum ImmichPin {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/pin-code") { call in
            let person = try await call.personForbiddingKeys()
            try await call.setPin(pin("pinCode", try call.object()), of: person)
            return .noContent
        },
        ContractRoute(.put, "/api/auth/pin-code") { try await change($0) },
        ContractRoute(.delete, "/api/auth/pin-code") { call in
            let person = try await call.personForbiddingKeys()
            try await prove(call, person, try call.object())
            try await call.replacePin(with: nil, of: person)
            return .noContent
        },
        ContractRoute(.post, "/api/auth/pin-code/verify") { try await unlock($0) },
        ContractRoute(.post, "/api/auth/session/unlock") { try await unlock($0) },
        ContractRoute(.post, "/api/auth/session/lock") { call in
            try await call.lower(call.personForbiddingKeys())
            return .noContent
        },
        ContractRoute(.get, "/api/auth/status") { status($0, try await $0.personForbiddingKeys()) },
    ]

    /// `{pinCode}` alone sets the first one; with `newPinCode` the old one, or the password,
    /// changes it.
    private static func change(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let person = try await call.personForbiddingKeys()
        guard input.has("newPinCode") else {
            try await call.setPin(pin("pinCode", input), of: person)
            return .noContent
        }
        let new = try pin("newPinCode", input)
        try await prove(call, person, input)
        try await call.replacePin(with: new, of: person)
        return .noContent
    }

    private static func unlock(_ call: ClientCall) async throws -> Response {
        let person = try await call.personForbiddingKeys()
        try await call.checkPin(pin("pinCode", try call.object()), of: person)
        try await call.lift(person)
        return .noContent
    }

    private static func prove(_ call: ClientCall, _ person: SignedIn, _ input: Input) async throws {
        if person.secrets.pinHash == nil { throw SignInRefusal.pinMissing }
        if let password = input.optionalString("password") {
            guard try await call.isPassword(password, of: person) else {
                throw SignInRefusal.wrongOldPassword
            }
        } else if let pin = input.optionalString("pinCode") {
            try await call.checkPin(pin, of: person)
        } else {
            throw Immich.bad("Either password or pinCode is required")
        }
    }

    private static func pin(_ name: String, _ input: Input) throws -> String {
        guard let text = input.optionalString(name), ClientCall.isPin(text) else {
            throw Immich.invalid(name, "must be 4 to 8 digits")
        }
        return text
    }

    private static func status(_ call: ClientCall, _ person: SignedIn) -> Response {
        var members: [JSONValue.Member] = [
            .init("pinCode", .bool(person.secrets.pinHash != nil)),
            .init("password", .bool(person.secrets.passwordHash != nil)),
            .init("isElevated", .bool(person.session.isElevated(at: call.now))),
            .init("expiresAt", .string(person.session.expiresAt.description)),
        ]
        if let until = person.session.elevatedUntil, call.now < until {
            members.append(.init("pinExpiresAt", .string(until.description)))
        }
        return .ok(.object(members))
    }
}
