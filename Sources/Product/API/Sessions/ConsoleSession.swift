import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// A session of the console, as its operator sees it.
package struct ConsoleSession {
    var `operator`: OperatorRow
    /// The time until which the operator counts as present, after a sign-in or step-up; `nil` if
    /// presence was not proved in this session.
    var until: Timestamp?

    func json(_ call: Call) throws -> JSONValue {
        let open = until.flatMap { call.now < $0 ? $0 : nil }
        let (factors, sendsMail) = (`operator`.factors, call.application.sendsMail)
        let remedies =
            factors.stepUpMethods.isEmpty
            ? StepUpRemedy.all(
                isUnusable: factors.areUnusable, canReturn: factors.canReturn, isOpen: open != nil,
                sendsMail: sendsMail) : []
        return .object([
            .init("operator", `operator`.json),
            .init("step_up_until", open.map(JSONValue.time) ?? .null),
            .init("methods", .strings(factors.stepUpMethods.map(\.rawValue))),
            .init("remedies", .strings(remedies.map(\.rawValue))),
        ])
    }

    static let shape = ObjectShape(
        "ConsoleSession",
        [
            .readOnly(
                "operator", .object(OperatorRow.shape), "The operator who is signed in."),
            .readOnly(
                "step_up_until", .timestamp, nullable: true,
                "Until when the session may make changes that are hard to undo; `null` if the "
                    + "operator must first confirm the sign-in again (step-up)."),
            .readOnly(
                "methods", .array(of: .enumeration(of: StepUpMethod.self)),
                "The methods for a step-up, any one of which is enough. If empty, see `remedies`."),
            .readOnly(
                "remedies", .array(of: .enumeration(of: StepUpRemedy.self)),
                "If `methods` is empty: what the operator can do, the easiest first. `set_up`: set "
                    + "up a password or a passkey now, while the sign-in by link is recent. "
                    + "`mail_link`: get a new link by `POST /v1/session/link`. `sign_in_again`: "
                    + "sign out, and sign in at the provider. `operator_reset`: have the server's "
                    + "administrator run `gatehouse operator reset`."),
        ])

    /// Signs the operator in and returns the response with the session's cookie.
    static func begin(
        _ person: OperatorRow, by method: SignInMethod, _ call: Call
    ) async throws -> Response {
        let until = call.now.adding(seconds: OperatorSession.recentSeconds)
        let session = ConsoleSession(
            operator: person, until: person.factors.isStepUp(method) ? until : nil)
        return try await begin(
            person, by: method, call,
            answering: .created(session.json(call), at: "/v1/session", etag: nil))
    }

    /// Signs the operator in and adds the session's cookie to the response `answer`. `provider` and
    /// `isFresh` describe a sign-in at a provider; see `startOperatorSession`.
    package static func begin(
        _ person: OperatorRow, by method: SignInMethod, at provider: UUID? = nil,
        isFresh: Bool = true, _ call: Call, in known: String? = nil, answering answer: Response
    ) async throws -> Response {
        let (token, hash) = try newToken()
        let device = known ?? TokenCookie.device.token(in: call.request) ?? TokenSecret.make()
        try await call.database.startOperatorSession(
            person, tokenHash: hash, userAgent: call.request.first("user-agent"), method: method,
            at: provider, isFresh: isFresh, by: person.actor(call),
            in: TokenSecret.hash(device),
            mailing: NewDeviceMail(words: call.place, publicURL: call.application.publicURL))
        var answer = withCookie(answer, token, call)
        answer.fields.append(TokenCookie.device.set(device, isTLS: call.request.isTLS))
        return answer
    }

    /// Records the proof of presence in the calling session, and gives the session a new id and
    /// cookie. `person` is the operator's row from before the proof. Throws 401 if the session has
    /// ended.
    static func stepUp(
        _ person: OperatorRow, by method: StepUpMethod, _ call: Call
    ) async throws -> Response {
        let until = call.now.adding(seconds: OperatorSession.recentSeconds)
        guard let session = call.principal.session,
            let answer = try await stepUp(
                person, in: session, by: SignInMethod(method), call,
                answering: .ok(ConsoleSession(operator: person, until: until).json(call)))
        else { throw Problem.unauthorized("The session has ended; sign in again.") }
        return answer
    }

    /// Records the proof of presence in the given session of the operator, and gives the session a
    /// new id and cookie. Returns `nil` if the session has ended.
    package static func stepUp(
        _ person: OperatorRow, in session: UUID, by method: SignInMethod, at provider: UUID? = nil,
        _ call: Call, answering answer: Response
    ) async throws -> Response? {
        let (token, hash) = try newToken()
        let stamped = try await call.database.stepUp(
            session, of: person, tokenHash: hash, method: method, at: provider,
            by: person.actor(call))
        return stamped == nil ? nil : withCookie(answer, token, call)
    }

    /// Completes the sign-in of the calling session by a method that does not prove presence, and
    /// gives the session a new id and cookie.
    static func open(by method: SignInMethod, _ call: Call) async throws -> Response {
        let person = try await call.operator
        guard let session = call.principal.session,
            let answer = try await stepUp(
                person, in: session, by: method, call,
                answering: .ok(ConsoleSession(operator: person, until: nil).json(call)))
        else { throw Problem.unauthorized("The session has ended; sign in again.") }
        return answer
    }

    private static func newToken() throws -> (token: String, hash: [UInt8]) {
        let token = TokenSecret.make()
        guard let hash = TokenSecret.hash(token) else { throw Problem.internalError }
        return (token, hash)
    }

    private static func withCookie(
        _ answer: Response, _ token: String, _ call: Call
    ) -> Response {
        var answer = answer
        answer.fields.append(SessionCookie.set(token, isTLS: call.request.isTLS))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }
}

extension OperatorRow {
    /// The operator as an actor in the audit log, for acts before there is a session.
    package func actor(_ call: Call) -> Actor {
        Actor(
            type: "operator", id: id.description, name: name ?? email, requestID: call.request.id,
            ip: call.request.remoteAddress)
    }
}

extension Call {
    /// The time, address and browser of the request, as text for a mail.
    var place: String {
        let minute = now.description.prefix(16).split(separator: "T").joined(separator: " ")
        let device = request.first("user-agent").map { "with \(DeviceName.of($0))" }
        return ["\(minute) UTC", "from \(request.remoteAddress)", device].compactMap { $0 }
            .joined(separator: ", ")
    }

    /// The operator who calls. Throws 403 for any other caller.
    package var `operator`: OperatorRow {
        get async throws {
            guard principal.kind == .operator, let id = principal.id,
                let person = try await database.operatorRow(id)
            else {
                throw Problem.forbidden(
                    "This is only for operators with a session of the console.")
            }
            return person
        }
    }
}

/// The name of a browser and its system, from the `User-Agent` field.
enum DeviceName {
    /// The names to look for, in order. The order matters, since most browsers also name other
    /// browsers.
    private static let browsers = [
        ("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"), ("curl/", "curl"),
    ]
    private static let systems = [
        ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
        ("Mac OS X", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux"),
    ]

    static func of(_ userAgent: String) -> String {
        func first(_ names: [(part: String, name: String)]) -> String? {
            names.first { userAgent.contains($0.part) }?.name
        }
        switch (first(browsers), first(systems)) {
        case (let browser?, let system?): return "\(browser) on \(system)"
        case (let name?, nil), (nil, let name?): return name
        case (nil, nil): return "an unknown program"
        }
    }
}
