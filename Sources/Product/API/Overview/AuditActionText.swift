import Domain

extension AuditAction {
    /// One sentence on when the action is recorded, for the API's documentation.
    package var summary: String { Self.texts[self] ?? "" }

    /// The sentence of each action.
    private static let texts: [AuditAction: String] = [
        .apiKeyCreated: "An API key was created.",
        .apiKeyCut:
            "The old secret of a rotated API key was ended before its grace period was over.",
        .apiKeyLeaked: "An API key was sent in a URL, so it may be in logs now.",
        .apiKeyRevoked: "An API key was revoked.",
        .apiKeyRolledBack:
            "The old secret of a rotated API key became its only valid secret again.",
        .apiKeyRotated:
            "An API key got a new secret; the old one may stay valid for a grace period.",
        .apiKeyUpdated: "An API key was changed, for example its name, scopes or limits.",

        .attributeSchemaUpdated: "The rules for the attributes of the tenant's users were changed.",

        .clientSecretChanged:
            "The secret that a client uses at its provider was set, replaced or removed.",
        .clientUpdated:
            "A client was changed, for example its hosts, redirect addresses or settings.",

        .corsOriginCreated:
            "An origin was added to the CORS origins of a tenant or of the platform.",
        .corsOriginDeleted:
            "An origin was removed from the CORS origins of a tenant or of the platform.",
        .corsOriginUpdated:
            "A CORS origin's label, expiry or permission to send credentials was changed.",

        .decisionsExpired: "Decisions were removed, because their retention time was over.",

        .domainCreated: "The tenant claimed a domain.",
        .domainDeleted: "The tenant's claim to a domain was deleted.",
        .domainFound: "The missing DNS record of a verified domain was found again at a check.",
        .domainLapsed:
            "A domain lost its verification, because its DNS record was missing for a week.",
        .domainLost: "The DNS record of a verified domain was missing at a check.",
        .domainUpdated:
            "The way in which a domain admits users, or the role that they get, was changed.",
        .domainVerified:
            "A domain was verified, by its DNS record or by an operator of the platform.",

        .hookCredentialCreated: "A hook credential was created for a provider.",
        .hookCredentialDeleted: "A hook credential was deleted.",

        .identityBound: "The `sub` of a Cognito user was stored with the user's identity.",
        .identityLinked: "An identity was linked to a user.",
        .identityNameGivenAnew:
            "A person was refused, because their Cognito user name was another person's before.",
        .identityRemoved:
            """
        A sign-in replaced an old identity, of a deleted user or of the user name's earlier \
        holder.
        """,
        .identityUnlinked:
            "An identity was unlinked from a user, and the user's sessions were ended.",

        .inviteAccepted:
            "A person accepted an invite, with its link, by a sign-in or by a sign-up.",
        .inviteCreated: "An invite was created.",
        .inviteMailBounced: "The mail of an invite came back as undeliverable.",
        .inviteMailRefused:
            "The mail of an invite was not sent, for example because a server refused it.",
        .inviteOtherAddress:
            "A person with another address than the invited one accepted an invite.",
        .inviteResent: "An invite was sent again or got a new link; the old link no longer works.",
        .inviteRevoked: "An invite was revoked.",
        .inviteUpdated: "An invite was changed, for example its role, expiry or message.",

        .jobCancelled: "A job was cancelled; the rows that were done kept their effects.",
        .jobCreated: "A job was created, for example for an import or a bulk action.",
        .jobFailed: "A job ended early, because of repeated internal errors.",
        .jobFinished: "A job finished its work.",
        .jobPaused:
            """
        A job was paused, on request, because the tenant was suspended, or because rights were \
        lost.
        """,
        .jobResumed: "A paused job was resumed.",
        .jobUndoBegun: "The undo of an ended job was started.",
        .jobUndone: "The undo of a job was finished.",

        .joinLinkCreated: "A join link was created.",
        .joinLinkRevoked: "A join link was revoked.",
        .joinLinkUsed: "A person joined the tenant with a join link.",

        .linkGrantCreated:
            "A link grant was created, with which one identity can be added to a user.",
        .linkGrantRefused:
            "A link grant was refused, because the operator who created it tried to use it.",
        .linkGrantUsed: "A person used a link grant to add an identity to a user.",

        .operatorConfirmed: "An operator proved their email address with a mailed link.",
        .operatorCreated: "An operator was created.",
        .operatorDeleted: "An operator was deleted.",
        .operatorDisowned:
            "An operator reported, with a mailed link, a change or sign-in by another person.",
        .operatorFactorRefused:
            "Someone entered a wrong second-factor code or recovery code for an operator.",
        .operatorFactorsReset:
            """
        An operator used a link from the server's administrator, which removed their second \
        factors.
        """,
        .operatorLinkMade:
            "A link was created with which an operator can sign in or set a new password.",
        .operatorPasskeyAdded: "An operator added a passkey.",
        .operatorPasskeyRefused:
            "A passkey of an operator was refused, because it may have been copied or changed.",
        .operatorPasskeyRemoved: "An operator removed a passkey.",
        .operatorPasskeyRenamed: "An operator renamed a passkey.",
        .operatorPasswordChanged: "An operator who was signed in set a new password.",
        .operatorPasswordReset: "An operator set a new password with a reset link.",
        .operatorRecoveryCodeUsed:
            "An operator used a recovery code in place of the second factor.",
        .operatorRecoveryCodesMade:
            "An operator created new recovery codes; the earlier ones no longer work.",
        .operatorResetOffered:
            "The server's administrator created a link with which an operator can set a password.",
        .operatorSessionEnded: "An operator ended one or more of their own sessions.",
        .operatorSignInBound:
            """
        An operator signed in at a provider for the first time and was bound to the account \
        there.
        """,
        .operatorSignInChanged:
            "The settings by which operators sign in at a provider were set or changed.",
        .operatorSignInRemoved:
            "The settings by which operators sign in at a provider were removed.",
        .operatorSignInUnbound: "An operator was unbound from the account at the provider.",
        .operatorSignedIn: "An operator signed in.",
        .operatorSignedOut: "An operator signed out.",
        .operatorSteppedUp: "An operator proved again within a session who they are (a step-up).",
        .operatorTotpAdded: "An operator added an authenticator app as a second factor.",
        .operatorTotpRemoved: "An operator removed the authenticator app.",
        .operatorUpdated: "An operator's name, role or status was changed.",

        .policyUpdated: "A new version of the tenant's policy was published.",

        .providerCreated: "A provider was created.",
        .providerDeleted: "A provider was deleted.",
        .providerSecretChanged: "The client secret of a provider was set, replaced or removed.",
        .providerUpdated: "A provider was changed, for example its name or settings.",

        .sessionEnded: "One, several or all sessions of a user were ended.",
        .sessionStarted: "A user signed in, and a session started.",

        .signUpBound: "The `sub` of a Cognito user was stored with the reserved sign-up.",
        .signUpChosen: "A person who could join several tenants chose this tenant.",
        .signUpCompleted: "A person completed a reserved sign-up.",
        .signUpDeclined: "A person declined to join the tenant.",
        .signUpDeferred: "A sign-up was deferred until the person chooses one of several tenants.",
        .signUpReserved: "A sign-up was reserved until the person confirms the email address.",

        .tenantCreated: "A tenant was created.",
        .tenantDeleted: "A tenant was deleted, but can be restored for 30 days.",
        .tenantPurgeBegun: "The permanent removal of a deleted tenant began.",
        .tenantPurged: "The permanent removal of a tenant ended; only its audit events remain.",
        .tenantRestored: "A deleted tenant was restored.",
        .tenantResumed: "The suspension of a tenant was ended.",
        .tenantSuspended: "A tenant was suspended, by the platform or by the tenant itself.",
        .tenantUpdated: "A tenant was changed, for example its name, logo or attributes.",

        .userAccountGiven:
            """
        A decision was resolved: a user's account was given to the person who proved its \
        address.
        """,
        .userActivated: "A pending user became active, by a sign-in, a sign-up or an invite.",
        .userApprovalRequested:
            "A pending user asked to join and now waits for an operator's approval.",
        .userApproved: "A user who waited for approval was approved, or was admitted by an invite.",
        .userCreated: "A user was created, for example by a sign-in, an invite or an import.",
        .userCredentialsWiped:
            """
        A pending user's credentials were removed, because they came without a proved \
        address.
        """,
        .userDeclined: "A user who waited for approval was declined.",
        .userDeleted: "A user was deleted, but can be restored for 30 days.",
        .userEmailChangeAsked:
            "A link to confirm a user's new email address was mailed to that address.",
        .userEmailChangeEnded: "A pending change of a user's email address was cancelled.",
        .userEmailChanged:
            "A user's email address was changed, by confirming it or by resolving a decision.",
        .userExported: "The stored data about a user was exported.",
        .userInactivityWarned:
            "An inactive user was warned; `by_mail` in `changes` says whether by mail.",
        .userMergeUndone: "A merge of two users was undone; each of the two users has an event.",
        .userMerged: "Two users who are one person were merged; each of the two has an event.",
        .userPasswordChanged: "A user who was signed in set a new password.",
        .userPasswordLinkMade: "A link was created with which a user can set a new password.",
        .userPasswordReset:
            "A user set a password with a link, and the user's sessions were ended.",
        .userPinRemoved: "A user's PIN was removed, by the user or because a merge was undone.",
        .userPinSet: "A user set or changed their PIN.",
        .userPurged: "A user was removed permanently, on request or 30 days after the deletion.",
        .userRemoved: "A user who never signed in was removed, for example after a revoked invite.",
        .userRestored: "A deleted user was restored.",
        .userResumed: "The suspension of a user was ended.",
        .userSuspended: "A user was suspended, on request or by the tenant's rule for inactivity.",
        .userUpdated: "A user was changed, for example the name, the role or the attributes.",
    ]
}
