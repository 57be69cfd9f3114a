import Domain
import Text

/// A `code` in a response. Clients depend on codes, so a test lists them all.
package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String
    /// The default status of a problem with this code. A problem may have another status.
    let status: Int

    private init(_ rawValue: String, _ status: Int) {
        self.rawValue = rawValue
        self.status = status
    }

    /// `nil` if the text is not a known code.
    package init?(rawValue: String) {
        guard let code = Self.allCases.first(where: { sameBytes($0.rawValue, rawValue) }) else {
            return nil
        }
        self = code
    }

    package static let invalidRequest = Code("invalid_request", 400)
    static let validationFailed = Code("validation_failed", 422)
    package static let unauthorized = Code("unauthorized", 401)
    package static let forbidden = Code("forbidden", 403)
    package static let notFound = Code("not_found", 404)
    package static let methodNotAllowed = Code("method_not_allowed", 405)
    package static let conflict = Code("conflict", 409)
    static let preconditionFailed = Code("precondition_failed", 412)
    static let preconditionRequired = Code("precondition_required", 428)
    package static let unsupportedMediaType = Code("unsupported_media_type", 415)
    static let payloadTooLarge = Code("payload_too_large", 413)
    static let originNotAllowed = Code("origin_not_allowed", 403)
    static let confirmRequired = Code("confirm_required", 409)
    static let domainUnproved = Code("domain_unproved", 422)
    static let undoConflict = Code("undo_conflict", 409)
    static let jobState = Code("job_state", 409)
    static let idempotencyMismatch = Code("idempotency_mismatch", 422)
    static let commitUnknown = Code("commit_unknown", 503)
    static let signUpClosed = Code("sign_up_closed", 409)
    package static let emailTaken = Code("email_taken", 409)
    static let requestInProgress = Code("request_in_progress", 409)
    static let idempotencyQuota = Code("idempotency_quota", 429)
    static let stepUpRequired = Code("step_up_required", 403)
    static let secondFactorRequired = Code("second_factor_required", 403)
    package static let internalError = Code("internal_error", 500)
    package static let rateLimited = reason(.rateLimited)
    package static let unavailable = reason(.unavailable)

    /// The code of a refusal by the rules. It has the name of the reason.
    package static func reason(_ reason: Reason) -> Code {
        let status =
            switch reason {
            case .inviteUnknown, .joinUnknown: 404
            case .identityConflict, .identityLinkRequired, .inviteUsed, .inviteExpired,
                .inviteRevoked, .joinExpired, .joinRevoked, .joinUsedUp:
                409
            case .emailMissing, .emailInvalid: 422
            case .rateLimited: 429
            case .unavailable: 503
            case .emailUnverified, .userSuspended, .userDeleted, .tenantSuspended, .tenantDeleted,
                .approvalPending, .inviteEmailMismatch, .notInvited, .noTenant, .providerUnknown,
                .tenantChoiceRequired, .emailBlocked:
                403
            }
        return Code(reason.rawValue, status)
    }

    /// The title of the problem, which is always the same for a code (RFC 9457 section 3.1.3).
    var title: String {
        let words = rawValue.split(separator: "_").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    /// The status that the page of all errors shows. It is empty for a code that is only the
    /// `reason` of a 200 answer.
    var shownStatus: String { self == .reason(.tenantChoiceRequired) ? "" : "\(status)" }
}

extension Code: CaseIterable {
    package static let allCases: [Code] =
        [
            invalidRequest, validationFailed, unauthorized, forbidden, notFound, methodNotAllowed,
            conflict, preconditionFailed, preconditionRequired, unsupportedMediaType,
            payloadTooLarge, originNotAllowed, confirmRequired, domainUnproved, undoConflict,
            jobState, idempotencyMismatch, commitUnknown, signUpClosed, emailTaken,
            requestInProgress, idempotencyQuota, stepUpRequired, secondFactorRequired,
            internalError,
        ] + Reason.allCases.map(reason)
}

/// The kind of an error in a member of the body or in a query parameter.
package enum FieldCode: String, Sendable, CaseIterable {
    case required, unknown, duplicate, changed
    case wrongType = "wrong_type"
    case isNull = "null"
    case tooShort = "too_short"
    case tooLong = "too_long"
    case outOfRange = "out_of_range"
    case invalid
    case notAllowed = "not_allowed"
    case readOnly = "read_only"
}
