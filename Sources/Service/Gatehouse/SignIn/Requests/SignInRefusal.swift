import API
import Domain
import HTTP
import JSON

/// Why the core refuses a sign-in; each app shows its own text for it.
enum SignInRefusal: Error, Sendable, Equatable {
    /// The address is unknown, the password is wrong, no password is set, or the user is not
    /// active. They are one case, so that no response distinguishes them.
    case wrongPassword
    /// There were too many attempts; the value is how many seconds to wait.
    case locked(Int)
    /// The request has no credential.
    case noCredential
    /// The token of a session is unknown, expired, or of another client.
    case invalidToken
    /// The API key is not valid; the value is the reason.
    case invalidKey(String)
    /// All sessions of the user were ended after the provider issued its token.
    case signedOut(isStale: Bool)
    case userSuspended, tenantSuspended
    /// The tenant has no provider for this client.
    case noProvider
    /// The redirect URI is not one of the client's.
    case redirectNotRegistered
    /// The state is unknown, expired, used, or belongs to another redirect URI.
    case stateUnknown
    /// The app's own state or PKCE challenge has the wrong length, so that it would not protect the
    /// sign-in.
    case stateUnfit, challengeUnfit
    /// The PKCE verifier is missing, or does not match the challenge with which the sign-in began.
    case wrongVerifier, verifierMissing
    /// The provider refused the code, or its token is invalid; the value is the reason, for the
    /// log.
    case notProved(String)
    /// The provider returned an error instead of a code; the value is the reason, for the log.
    case endedByProvider(String)
    /// The provider was changed after the client's own secret was set.
    case secretOutdated
    /// The sign-in needs the client's secret at the provider, and none is set.
    case secretMissing
    /// The provider is unavailable; the value is the cause, for the log.
    case providerAway(String)
    /// The rules refuse the person; `reference` is the decision's short reference.
    case refused(Reason, reference: String)
    case pinMissing, pinExists, wrongPin
    /// The given current password is wrong.
    case wrongOldPassword
    /// The password is too short; the value is the tenant's minimum number of characters.
    case passwordTooShort(Int)
    case passwordTooLong
    /// The password is one that attackers would guess first.
    case passwordGuessable
    /// The session is too old to set a new password without the old one.
    case oldPasswordNeeded
}

extension SignInRefusal {
    /// The refusal with the core's own text. If an app has another text, its contract replaces this
    /// one.
    var problem: Problem {
        switch self {
        case .wrongPassword: Problem(.unauthorized, "The address or the password is wrong.")
        case .locked(let seconds):
            Problem(
                .rateLimited, "Too many attempts; wait \(seconds) seconds.",
                fields: [Field("retry-after", "\(seconds)")])
        case .noCredential: Problem(.unauthorized, "Authentication required")
        case .invalidToken, .signedOut:
            Problem(.unauthorized, "The session has ended; sign in again.")
        case .invalidKey(let reason): Problem(.unauthorized, reason)
        case .userSuspended: Problem(.reason(.userSuspended), "The account is suspended.")
        case .tenantSuspended: Problem(.reason(.tenantSuspended), "The tenant is suspended.")
        case .noProvider: Problem(.invalidRequest, "No provider is set up for this client.")
        case .redirectNotRegistered:
            Problem(.invalidRequest, "The redirect address is not registered for this client.")
        case .stateUnknown:
            Problem(.invalidRequest, "The sign-in has expired or is not known; start again.")
        case .stateUnfit:
            Problem(.invalidRequest, "The state must have from 8 to 512 bytes.")
        case .challengeUnfit:
            Problem(
                .invalidRequest,
                "The code challenge must be the S256 of the verifier, in base64url (RFC 7636).")
        case .wrongVerifier, .verifierMissing:
            Problem(
                .invalidRequest,
                "The code verifier is missing or does not match the code challenge.")
        case .notProved:
            Problem(.invalidRequest, "The provider's answer could not be verified.")
        case .endedByProvider:
            Problem(.invalidRequest, "The provider ended the sign-in; start again.")
        case .secretOutdated:
            Problem(
                .invalidRequest,
                "The client's secret at the provider must be set again; ask an operator.")
        case .secretMissing:
            Problem(
                .invalidRequest,
                "The provider has no client secret for this client; ask an operator to set it.")
        case .providerAway:
            Problem(
                .unavailable, "The provider cannot be reached; try again.",
                fields: [Field("retry-after", "5")])
        case .refused(_, let reference):
            Problem(.forbidden, PublicRefusal.text(reference: reference) + ".")
        case .pinMissing: Problem(.invalidRequest, "No PIN is set.")
        case .pinExists: Problem(.invalidRequest, "A PIN is set already.")
        case .wrongPin: Problem(.invalidRequest, "The PIN is wrong.")
        case .wrongOldPassword: Problem(.invalidRequest, "The password is wrong.")
        case .passwordTooShort(let least):
            Problem(.invalidRequest, "The password must have at least \(least) characters.")
        case .passwordTooLong:
            Problem(.invalidRequest, "The password must have at most 1024 bytes.")
        case .passwordGuessable:
            Problem(
                .invalidRequest,
                "The password is too easy to guess; choose another.")
        case .oldPasswordNeeded:
            Problem(.invalidRequest, "The current password is required.")
        }
    }

    /// The refusal with the core's own text, and with the cause for the log.
    var recorded: Problem {
        var problem = problem
        problem.cause = cause
        return problem
    }

    /// The cause with the log's prefix, for the log and the tenant's operators; the response says
    /// less.
    var cause: String? { reason.map { Self.causeStart + $0 } }

    /// The cause without the log's prefix; `nil` if the refusal has no further cause.
    var reason: String? {
        switch self {
        case .notProved(let reason), .endedByProvider(let reason): reason
        case .secretOutdated:
            "the provider has changed since the client's secret was set: set it again"
        case .secretMissing: "the provider has no client secret for this client: set it"
        case .refused(let reason, let reference):
            reason.rawValue + Self.referenceStart + reference
        case .tenantSuspended: "tenant_suspended"
        case .stateUnknown: "state_unknown"
        case .stateUnfit: "state_unfit"
        case .challengeUnfit: "challenge_unfit"
        case .wrongVerifier: "wrong_verifier"
        case .verifierMissing: "verifier_missing"
        case .noProvider: "no_provider"
        case .signedOut(let isStale): isStale ? "signed_out, asked again" : "signed_out"
        case .redirectNotRegistered: "redirect_not_registered"
        case .providerAway(let reason): "provider_away: " + reason
        default: nil
        }
    }

    var isProviderAway: Bool { if case .providerAway = self { true } else { false } }

    static let causeStart = "sign-in: "
    static let referenceStart = ", ref "
}

extension Contract {
    /// Runs `work`. If it fails because of a fault of this server or because the provider is
    /// unavailable, throws a problem with the app's own text for this call. The text is `away` if
    /// the provider is unavailable and `away` is not nil; otherwise it is `text`.
    static func mappingServerErrors(
        _ text: String, away: String? = nil, _ work: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await work()
        } catch let refusal as SignInRefusal
            where refusal == .noProvider || refusal == .secretMissing
        {
            var problem = ours(Problem(.internalError, text), refusal.cause)
            problem.isForeseen = true
            throw problem
        } catch let refusal as SignInRefusal where refusal.isProviderAway {
            let later = [Field("retry-after", "5")]
            throw ours(Problem(.unavailable, away ?? text, fields: later), refusal.cause)
        } catch let refusal as SignInRefusal {
            throw refusal
        } catch {
            var problem = Problem(error) ?? .internalError
            guard problem.status >= 500 else { throw problem }
            problem.detail = text
            throw ours(problem, problem.cause ?? "\(error)")
        }
    }

    private static func ours(_ problem: Problem, _ cause: String?) -> Problem {
        var problem = problem
        problem.cause = cause
        return problem
    }
}

extension Problem {
    /// The refusal in the form that most apps expect: only `{"error": text}`.
    var plainError: Response {
        var answer = Response.json(
            status, bytes: JSONValue.object([.init("error", .string(detail))]).encoded())
        answer.fields += fields
        return answer
    }
}
