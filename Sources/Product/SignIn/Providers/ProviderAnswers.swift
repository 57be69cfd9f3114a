import API
import Domain
import Federation
import HTTP
import JSON
import Outbound
import Text

/// The responses of a provider's endpoints to this server.
extension RemoteProvider {
    /// What the id token leaves out about the address, from the userinfo endpoint (OpenID Connect
    /// Core section 5.3.2: only for the same subject; plain, or signed by the provider's keys). The
    /// person is proved already: an endpoint that fails leaves the address missing, and the rules
    /// decide; why is kept for the decision.
    func complete(_ person: inout ProvedPerson, _ accessToken: String) async throws {
        guard person.email == nil || person.emailVerified == nil else { return }
        do {
            guard let url = try await metadata().endpoints[.userInfo] else { return }
            let info = try await userInfo(url, bearer: accessToken)
            guard Self.isSubject(info["sub"], person.subject) else {
                throw SignInRefusal.notProved("userinfo: subject_mismatch")
            }
            person.take(info)
        } catch let refusal as SignInRefusal {
            person.addressFault = refusal.reason
        }
    }

    /// Some write a numeric subject in userinfo, which in the id token is a text: a whole number that
    /// every reader reads alike.
    private static func isSubject(_ value: JSONValue?, _ subject: String) -> Bool {
        switch value {
        case .string(let text): return sameBytes(text, subject)
        case .number(let text):
            let isWhole = text.utf8.allSatisfy { ASCII.isDigit($0) }
            guard isWhole, let number = UInt64(text), number <= 1 << 53 else { return false }
            return sameBytes(text, subject)
        default: return false
        }
    }

    private func userInfo(_ url: String, bearer: String) async throws -> JSONValue {
        let answer = try await answered(asking(.get, url, bearer: bearer))
        let type = asciiLowercased(answer.first("content-type") ?? "")
        guard (200..<300).contains(answer.status),
            type.utf8.prefix(while: { $0 != UInt8(ascii: ";") && $0 != 0x20 })
                .elementsEqual(SignedUserInfo.mediaType.utf8)
        else { return try unrefused(json(of: answer), by: url) }
        do {
            // Some end the token with a line break.
            let text = answer.body.reversed().drop { $0 == 0x0A || $0 == 0x0D }.reversed()
            return try await core.documents.claims(of: SignedUserInfo(Array(text)), from: party)
        } catch let fault as IDTokenFault {
            throw SignInRefusal.notProved("userinfo: " + fault.reason)
        } catch let fault as FederationFault {
            throw SignInRefusal(fault, of: "userinfo")
        }
    }

    func ask(_ method: HTTP.Method, _ url: String, bearer: String) async throws -> JSONValue {
        try unrefused(try await send(asking(method, url, bearer: bearer)), by: url)
    }

    /// JSON of a 2xx, or of a 4xx that names its error; a 5xx or no response is `.providerAway`.
    func send(_ request: OutboundRequest) async throws -> JSONValue {
        try json(of: try await answered(request))
    }

    private func asking(
        _ method: HTTP.Method, _ url: String, bearer: String
    ) throws -> OutboundRequest {
        guard bearer.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SignInRefusal.notProved("the token is no token")
        }
        return OutboundRequest(method, url, fields: [Field("authorization", "Bearer \(bearer)")])
    }

    private func unrefused(_ value: JSONValue, by url: String) throws -> JSONValue {
        if let error = value["error"] {
            let name = error.string.map { ": \($0.prefix(64))" } ?? ""
            throw SignInRefusal.notProved("refused by \(url)\(name)")
        }
        return value
    }

    private func answered(_ request: OutboundRequest) async throws -> OutboundResponse {
        var request = request
        request.fields.append(Field("accept", "application/json, application/jwt;q=0.9"))
        request.fields.append(Field("user-agent", "Gatehouse"))
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await core.http.send(request, for: party.owner)
        } catch {
            throw SignInRefusal.providerAway("\(request.url): \(error.rawValue)")
        }
        guard answer.status < 500, answer.status != 429 else {
            throw SignInRefusal.providerAway("\(request.url): status \(answer.status)")
        }
        return answer
    }

    private func json(of answer: OutboundResponse) throws -> JSONValue {
        let value = try? JSONValue(parsing: answer.body, limits: JSONLimits(depth: 32))
        guard (200..<300).contains(answer.status) else {
            let name = value?["error"]?.string ?? "status \(answer.status)"
            return .object([.init("error", .string(name))])
        }
        if answer.body.isEmpty { return .null }
        guard let value else { throw SignInRefusal.notProved("no JSON") }
        return value.withoutNulls
    }
}

extension ProvedPerson {
    /// Takes the address of a userinfo response, or its word about the id token's own address.
    fileprivate mutating func take(_ info: JSONValue) {
        let claims = IDClaims(userInfo: info, subject: subject)
        name = name ?? claims.name
        guard let own = email else {
            email = claims.email
            emailVerified = claims.emailVerified
            return
        }
        let keys = [own, claims.email ?? ""].map { try? EmailAddress($0).key }
        guard let key = keys[0], let other = keys[1], sameBytes(key, other) else { return }
        emailVerified = claims.emailVerified
    }
}

extension SignInRefusal {
    /// Why a provider's token is not accepted. `what`: its name, for the log.
    init(_ fault: FederationFault, of what: String) {
        switch fault {
        case .token(let fault): self = .notProved("\(what): \(fault.reason)")
        case .unavailable(let reason): self = .providerAway(reason)
        }
    }
}
