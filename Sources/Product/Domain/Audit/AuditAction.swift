/// The kind of change that an audit row records. The raw value is the changed thing and a past
/// participle, such as `api_key.created`.
package enum AuditAction: String, Sendable, CaseIterable {
    case apiKeyCreated = "api_key.created"
    case apiKeyCut = "api_key.cut"
    case apiKeyLeaked = "api_key.leaked"
    case apiKeyRevoked = "api_key.revoked"
    case apiKeyRolledBack = "api_key.rolled_back"
    case apiKeyRotated = "api_key.rotated"
    case apiKeyUpdated = "api_key.updated"

    case attributeSchemaUpdated = "attribute_schema.updated"

    case clientSecretChanged = "client.secret_changed"
    case clientUpdated = "client.updated"

    case corsOriginCreated = "cors_origin.created"
    case corsOriginDeleted = "cors_origin.deleted"
    case corsOriginUpdated = "cors_origin.updated"

    case decisionsExpired = "decisions.expired"

    case domainCreated = "domain.created"
    case domainDeleted = "domain.deleted"
    case domainFound = "domain.found"
    case domainLapsed = "domain.lapsed"
    case domainLost = "domain.lost"
    case domainUpdated = "domain.updated"
    case domainVerified = "domain.verified"

    case hookCredentialCreated = "hook_credential.created"
    case hookCredentialDeleted = "hook_credential.deleted"

    case identityBound = "identity.bound"
    case identityLinked = "identity.linked"
    case identityNameGivenAnew = "identity.name_given_anew"
    case identityRemoved = "identity.removed"
    case identityUnlinked = "identity.unlinked"

    case inviteAccepted = "invite.accepted"
    case inviteCreated = "invite.created"
    case inviteMailBounced = "invite.mail_bounced"
    case inviteMailRefused = "invite.mail_refused"
    case inviteOtherAddress = "invite.other_address"
    case inviteResent = "invite.resent"
    case inviteRevoked = "invite.revoked"
    case inviteUpdated = "invite.updated"

    case jobCancelled = "job.cancelled"
    case jobCreated = "job.created"
    case jobFailed = "job.failed"
    case jobFinished = "job.finished"
    case jobPaused = "job.paused"
    case jobResumed = "job.resumed"
    case jobUndoBegun = "job.undo_begun"
    case jobUndone = "job.undone"

    case joinLinkCreated = "join_link.created"
    case joinLinkRevoked = "join_link.revoked"
    case joinLinkUsed = "join_link.used"

    case linkGrantCreated = "link_grant.created"
    case linkGrantRefused = "link_grant.refused"
    case linkGrantUsed = "link_grant.used"

    case operatorConfirmed = "operator.confirmed"
    case operatorCreated = "operator.created"
    case operatorDeleted = "operator.deleted"
    case operatorDisowned = "operator.disowned"
    case operatorFactorRefused = "operator.factor_refused"
    case operatorFactorsReset = "operator.factors_reset"
    case operatorLinkMade = "operator.link_made"
    case operatorPasskeyAdded = "operator.passkey_added"
    case operatorPasskeyRefused = "operator.passkey_refused"
    case operatorPasskeyRemoved = "operator.passkey_removed"
    case operatorPasskeyRenamed = "operator.passkey_renamed"
    case operatorPasswordChanged = "operator.password_changed"
    case operatorPasswordReset = "operator.password_reset"
    case operatorRecoveryCodeUsed = "operator.recovery_code_used"
    case operatorRecoveryCodesMade = "operator.recovery_codes_made"
    case operatorResetOffered = "operator.reset_offered"
    case operatorSessionEnded = "operator.session_ended"
    case operatorSignInBound = "operator.sign_in_bound"
    case operatorSignInChanged = "operator_sign_in.changed"
    case operatorSignInRemoved = "operator_sign_in.removed"
    case operatorSignInUnbound = "operator.sign_in_unbound"
    case operatorSignedIn = "operator.signed_in"
    case operatorSignedOut = "operator.signed_out"
    case operatorSteppedUp = "operator.stepped_up"
    case operatorTotpAdded = "operator.totp_added"
    case operatorTotpRemoved = "operator.totp_removed"
    case operatorUpdated = "operator.updated"

    case policyUpdated = "policy.updated"

    case providerCreated = "provider.created"
    case providerDeleted = "provider.deleted"
    case providerSecretChanged = "provider.secret_changed"
    case providerUpdated = "provider.updated"

    case sessionEnded = "session.ended"
    case sessionStarted = "session.started"

    case signUpBound = "sign_up.bound"
    case signUpChosen = "sign_up.chosen"
    case signUpCompleted = "sign_up.completed"
    case signUpDeclined = "sign_up.declined"
    case signUpDeferred = "sign_up.deferred"
    case signUpReserved = "sign_up.reserved"

    case tenantCreated = "tenant.created"
    case tenantDeleted = "tenant.deleted"
    case tenantPurgeBegun = "tenant.purge_begun"
    case tenantPurged = "tenant.purged"
    case tenantRestored = "tenant.restored"
    case tenantResumed = "tenant.resumed"
    case tenantSuspended = "tenant.suspended"
    case tenantUpdated = "tenant.updated"

    case userAccountGiven = "user.account_given"
    case userActivated = "user.activated"
    case userApprovalRequested = "user.approval_requested"
    case userApproved = "user.approved"
    case userCreated = "user.created"
    case userCredentialsWiped = "user.credentials_wiped"
    case userDeclined = "user.declined"
    case userDeleted = "user.deleted"
    case userEmailChangeAsked = "user.email_change_asked"
    case userEmailChangeEnded = "user.email_change_ended"
    case userEmailChanged = "user.email_changed"
    case userExported = "user.exported"
    case userInactivityWarned = "user.inactivity_warned"
    case userMergeUndone = "user.merge_undone"
    case userMerged = "user.merged"
    case userPasswordChanged = "user.password_changed"
    case userPasswordLinkMade = "user.password_link_made"
    case userPasswordReset = "user.password_reset"
    case userPinRemoved = "user.pin_removed"
    case userPinSet = "user.pin_set"
    case userPurged = "user.purged"
    case userRemoved = "user.removed"
    case userRestored = "user.restored"
    case userResumed = "user.resumed"
    case userSuspended = "user.suspended"
    case userUpdated = "user.updated"

    /// The cached answers that a change makes stale. They are discarded before the request that
    /// makes the change is answered.
    package enum Invalidation: Sendable {
        /// No cached answer becomes stale. This includes the creation of a key or a user: no answer
        /// is cached about a key or a user that does not exist.
        case nothing
        /// All cached answers that depend on the changed object become stale.
        case target
        /// All cached answers that depend on the tenant become stale.
        case tenant
    }

    package var invalidates: Invalidation {
        switch self {
        case .apiKeyCreated, .attributeSchemaUpdated, .decisionsExpired, .identityBound,
            .identityLinked,
            .identityRemoved, .identityUnlinked, .inviteAccepted, .inviteCreated,
            .inviteMailBounced, .inviteMailRefused, .inviteOtherAddress, .inviteResent,
            .inviteRevoked, .inviteUpdated,
            .jobCancelled, .jobCreated, .jobFailed, .jobFinished, .jobPaused, .jobResumed,
            .jobUndoBegun, .jobUndone,
            .joinLinkCreated, .joinLinkRevoked, .joinLinkUsed,
            .linkGrantCreated, .linkGrantRefused, .linkGrantUsed,
            .operatorConfirmed, .operatorCreated, .operatorDeleted, .operatorDisowned,
            .operatorFactorRefused,
            .operatorFactorsReset, .operatorLinkMade, .operatorPasskeyAdded,
            .operatorPasskeyRefused, .operatorPasskeyRemoved, .operatorPasskeyRenamed,
            .operatorPasswordChanged, .operatorPasswordReset, .operatorRecoveryCodeUsed,
            .operatorRecoveryCodesMade, .operatorResetOffered, .operatorSessionEnded,
            .operatorSignInBound, .operatorSignInChanged, .operatorSignInRemoved,
            .operatorSignInUnbound,
            .operatorSignedIn, .operatorSignedOut, .operatorSteppedUp, .operatorTotpAdded,
            .operatorTotpRemoved, .operatorUpdated,
            .providerCreated, .providerDeleted, .providerSecretChanged, .providerUpdated,
            .sessionStarted, .signUpBound, .signUpChosen, .signUpCompleted, .signUpDeclined,
            .signUpDeferred, .signUpReserved, .userActivated, .userCreated,
            .userExported, .userInactivityWarned:
            .nothing
        case .apiKeyCut, .apiKeyLeaked, .apiKeyRevoked, .apiKeyRolledBack, .apiKeyRotated,
            .apiKeyUpdated, .sessionEnded, .userAccountGiven, .userApprovalRequested,
            .userApproved, .userCredentialsWiped, .userDeclined, .userDeleted,
            .userEmailChangeAsked,
            .userEmailChangeEnded, .userEmailChanged, .userMergeUndone, .userMerged,
            .userPasswordChanged,
            .userPasswordLinkMade, .userPasswordReset, .userPinRemoved, .userPinSet,
            .userPurged, .userRemoved, .userRestored, .userResumed, .userSuspended,
            .userUpdated:
            .target
        case .clientSecretChanged, .clientUpdated, .corsOriginCreated, .corsOriginDeleted,
            .corsOriginUpdated, .domainCreated, .domainDeleted, .domainFound, .domainLapsed,
            .domainLost, .domainUpdated, .domainVerified, .hookCredentialCreated,
            .hookCredentialDeleted,
            .identityNameGivenAnew, .policyUpdated, .tenantCreated, .tenantDeleted,
            .tenantPurgeBegun, .tenantPurged, .tenantRestored, .tenantResumed,
            .tenantSuspended, .tenantUpdated:
            .tenant
        }
    }
}
