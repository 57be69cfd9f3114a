import Domain
import JSON
import Postgres
import Text

/// The reasons for which storage refuses well-formed input or cannot answer. Callers see no
/// SQLSTATE.
package enum StorageFailure: Error, Sendable {
    /// The object does not exist, or the caller may not see it.
    case notFound(String)
    /// Another object has the requested value; `id` is that object's id, if the caller may know it.
    case conflict(code: String, detail: String, id: UUID?)
    /// The object's version differs from the one in `If-Match`.
    case versionMismatch
    /// Values of the input break rules that depend on stored data.
    case invalid([MemberFault])
    /// The caller lacks the rights to give what it requests; the text says why.
    case forbidden(String)
    /// A limit is reached; the caller may try again after `seconds`.
    case limited(String, limit: Int, seconds: Int64)
    /// The database is unavailable; nothing was written.
    case unavailable
    /// The response to COMMIT was lost, so it is unknown whether the change was stored.
    case commitUnknown
}

/// A member of the input that a store refuses.
package struct MemberFault: Sendable {
    /// A JSON pointer into the input (RFC 6901).
    package var pointer: String
    /// A code for a field error in `/v1`, such as `not_allowed`.
    package var code: String
    /// What is wrong, as the end of a sentence that begins with "the member …".
    package var detail: String

    /// Returns one sentence for a list of faults: the first fault, and how many more there are.
    /// Most programs print only this sentence.
    package static func sentence(_ first: (pointer: String, detail: String)?, of count: Int)
        -> String
    {
        let sentence =
            first.map {
                "\($0.pointer.isEmpty ? "The body" : String($0.pointer.prefix(200))) \($0.detail)"
            }
            ?? "The input is not valid"
        switch count {
        case ...1: return sentence + "."
        case 2: return sentence + "; `errors` has one more error."
        default: return sentence + "; `errors` has \(count - 1) more errors."
        }
    }
}

/// Translates errors of storage and of the database into what they mean for a caller.
extension StorageFailure {
    /// Translates an error; `nil` if it is an internal fault.
    package init?(_ error: any Error) {
        switch error {
        case let failure as StorageFailure: self = failure
        case let refused as AttributeFaults:
            self = .invalid(
                refused.faults.map { fault in
                    let object = "/" + fault.object
                    return MemberFault(
                        pointer: fault.name.map { pointer(object, $0) } ?? object,
                        code: fault.kind.rawValue, detail: fault.detail)
                })
        case let refusal as InviteRefusal: self.init(refusal)
        case TooManyJobs.live:
            self = .limited(
                "The tenant has \(JobLimits.live) unfinished jobs; wait for one to end.",
                limit: JobLimits.live, seconds: 60)
        case TooManyJobs.rows:
            self = .limited(
                "With these rows, the tenant's jobs would have more than \(JobLimits.kept). A job "
                    + "and its report are removed 30 days after it ended.",
                limit: JobLimits.kept, seconds: 86_400)
        case let wrong as WrongJobState:
            self = .conflict(code: "job_state", detail: wrong.detail, id: nil)
        case let locked as AttemptsLocked:
            self = .limited(
                "Too many attempts; wait \(locked.seconds) seconds.", limit: locked.limit,
                seconds: locked.seconds)
        case let reached as MailLimitReached:
            self = .limited(reached.detail, limit: reached.limit, seconds: reached.seconds)
        case let error as PostgresError:
            switch error.kind {
            case .unavailable, .timeout, .cancelled: self = .unavailable
            case .commitUnknown: self = .commitUnknown
            default: return nil
            }
        default: return nil
        }
    }

    private init(_ refusal: InviteRefusal) {
        func address(_ detail: String) -> StorageFailure {
            .invalid([MemberFault(pointer: "/email", code: "not_allowed", detail: detail)])
        }
        switch refusal {
        case .outsideDomains: self = address("is outside the tenant's allowed domains")
        case .blocked(let member): self = address("is blocked by the policy's \(member)")
        case .quota(let member, let limit, let seconds):
            self = .limited(
                "The policy's limit \(member), \(limit), is used up.", limit: limit,
                seconds: seconds)
        case .roleTooWide(let role, let lacks):
            self = .forbidden(
                "The credential may not give the role \(role.rawValue). It lacks: "
                    + "\(lacks.joined(separator: ", ")).")
        }
    }

    /// The error code in the responses of `/v1`.
    package var code: String {
        switch self {
        case .notFound: "not_found"
        case .conflict(let code, _, _): code
        case .versionMismatch: "precondition_failed"
        case .invalid: "validation_failed"
        case .forbidden: "forbidden"
        case .limited: "rate_limited"
        case .unavailable: "unavailable"
        case .commitUnknown: "commit_unknown"
        }
    }

    /// One or two sentences for people. They do not repeat values of the input.
    package var detail: String {
        switch self {
        case .notFound(let what): "There is no such \(what)."
        case .conflict(_, let detail, _), .forbidden(let detail), .limited(let detail, _, _): detail
        case .versionMismatch: "The object has changed since it was read."
        case .invalid(let faults):
            MemberFault.sentence(faults.first.map { ($0.pointer, $0.detail) }, of: faults.count)
        case .unavailable: "The service cannot answer now; try again."
        case .commitUnknown:
            "It is not known whether the change was written; read the object before you try again."
        }
    }
}

/// An error that can fail one row of an action on many rows, so that the other rows go on.
package protocol RowRefusal: Error {
    /// The code and the text of the failed row's result, and the id of the object in conflict, if
    /// any. `nil` if the error must fail the whole action.
    var row: (code: String, detail: String, conflictingID: UUID?)? { get }
}

extension StorageFailure: RowRefusal {
    package var row: (code: String, detail: String, conflictingID: UUID?)? {
        switch self {
        case .unavailable, .commitUnknown: nil
        case .conflict(let code, let detail, let id): (code, detail, id)
        default: (code, detail, nil)
        }
    }
}

extension Change {
    /// Returns the result of one row. If `body` throws a refusal, its writes are rolled back and a
    /// failed result is returned. Other errors are rethrown.
    package func result(
        ofRow number: Int, _ body: () async throws -> JobResult
    ) async throws -> JobResult {
        do {
            return try await savepoint(body)
        } catch {
            let refusal = error as? any RowRefusal ?? StorageFailure(error)
            guard let (code, detail, other) = refusal?.row else { throw error }
            var result = JobResult(row: number, .failed, code: code, detail: detail)
            result.conflictingID = other
            return result
        }
    }
}
