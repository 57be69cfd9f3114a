import Domain

/// Every `code` that a response may carry. Clients branch on them, so a test pins them.
package enum Code: String, Sendable, CaseIterable {
    case invalidRequest = "invalid_request"
    case validationFailed = "validation_failed"
    case unauthorized, forbidden
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case conflict
    case preconditionFailed = "precondition_failed"
    case preconditionRequired = "precondition_required"
    case unsupportedMediaType = "unsupported_media_type"
    case payloadTooLarge = "payload_too_large"
    case originNotAllowed = "origin_not_allowed"
    case confirmRequired = "confirm_required"
    case domainUnproved = "domain_unproved"
    case undoConflict = "undo_conflict"
    case jobState = "job_state"
    case idempotencyMismatch = "idempotency_mismatch"
    case commitUnknown = "commit_unknown"
    case signUpClosed = "sign_up_closed"
    case emailTaken = "email_taken"
    case requestInProgress = "request_in_progress"
    case idempotencyQuota = "idempotency_quota"
    case stepUpRequired = "step_up_required"
    case secondFactorRequired = "second_factor_required"
    case internalError = "internal_error"

    case emailMissing = "email_missing"
    case emailInvalid = "email_invalid"
    case emailUnverified = "email_unverified"
    case userSuspended = "user_suspended"
    case userDeleted = "user_deleted"
    case tenantSuspended = "tenant_suspended"
    case tenantDeleted = "tenant_deleted"
    case approvalPending = "approval_pending"
    case inviteUnknown = "invite_unknown"
    case inviteExpired = "invite_expired"
    case inviteRevoked = "invite_revoked"
    case inviteUsed = "invite_used"
    case inviteEmailMismatch = "invite_email_mismatch"
    case joinUnknown = "join_unknown"
    case joinExpired = "join_expired"
    case joinRevoked = "join_revoked"
    case joinUsedUp = "join_used_up"
    case identityLinkRequired = "identity_link_required"
    case identityConflict = "identity_conflict"
    case notInvited = "not_invited"
    case noTenant = "no_tenant"
    case providerUnknown = "provider_unknown"
    case tenantChoiceRequired = "tenant_choice_required"
    case emailBlocked = "email_blocked"
    case rateLimited = "rate_limited"
    case unavailable

    /// The default status of the code; a problem may have another.
    package var status: Int {
        switch self {
        case .invalidRequest: 400
        case .unauthorized: 401
        case .notFound, .inviteUnknown, .joinUnknown: 404
        case .methodNotAllowed: 405
        case .conflict, .requestInProgress, .confirmRequired, .signUpClosed, .emailTaken,
            .identityConflict, .undoConflict, .jobState,
            .identityLinkRequired, .inviteUsed, .inviteExpired, .inviteRevoked, .joinExpired,
            .joinRevoked, .joinUsedUp:
            409
        case .preconditionFailed: 412
        case .payloadTooLarge: 413
        case .unsupportedMediaType: 415
        case .validationFailed, .domainUnproved, .idempotencyMismatch, .emailMissing, .emailInvalid:
            422
        case .preconditionRequired: 428
        case .rateLimited, .idempotencyQuota: 429
        case .internalError: 500
        case .commitUnknown, .unavailable: 503
        case .forbidden, .originNotAllowed, .emailUnverified, .userSuspended,
            .userDeleted, .tenantSuspended, .tenantDeleted, .approvalPending,
            .inviteEmailMismatch, .notInvited, .noTenant, .providerUnknown,
            .tenantChoiceRequired, .emailBlocked, .stepUpRequired,
            .secondFactorRequired:
            403
        }
    }

    /// A title that is the same for every occurrence (RFC 9457 section 3.1.3).
    package var title: String {
        let words = rawValue.split(separator: "_").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }
}

extension Code {
    /// Each reason of a refusal is a code with the same name; a test checks it.
    init(_ reason: Reason) { self = Code(rawValue: reason.rawValue) ?? .forbidden }
}

/// The kinds of errors in one member of a body or one query parameter.
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
