import Domain
import JSON

/// A policy as `policies.document` keeps it: the members of `/v1` without `version`. An absent
/// member has the default of a new tenant, so that an old document stays readable.
extension TenantPolicy {
    package init(document: JSONValue, version: Int) {
        self.init()
        self.version = Int64(version)
        if let text = document["sign_up"]?.string, let value = SignUp(rawValue: text) {
            signUp = value
        }
        if let text = document["default_role"]?.string, let value = UserRole(rawValue: text) {
            defaultRole = min(value, .manager)
        }
        if let text = document["auto_link"]?.string, let value = AutoLink(rawValue: text) {
            autoLink = value
        }
        if let items = document["scope_catalogue"]?.array {
            scopeCatalogue = items.compactMap(\.string)
        }
        if let items = document["allowed_domains"]?.array {
            allowedDomains = items.compactMap(\.string)
        }
        devOrigins = document["dev_origins"]?.bool ?? devOrigins
        privateNetwork = document["private_network"]?.bool ?? privateNetwork
        externalInvites = document["external_invites"]?.bool ?? externalInvites
        inviteEmailMustMatch = document["invite_email_must_match"]?.bool ?? inviteEmailMustMatch
        passwordMin = max(document["password_min"]?.int ?? passwordMin, Self.passwordFloor)
        passwordBlocklist = document["password_blocklist"]?.bool ?? passwordBlocklist
        blockDisposable = document["block_disposable"]?.bool ?? blockDisposable
        blockedDomains = (document["blocked_domains"]?.array ?? []).compactMap(\.string)
        blockedEmails = (document["blocked_emails"]?.array ?? []).compactMap(\.string)
        invitesPendingMax = document["invites_pending_max"]?.int ?? invitesPendingMax
        invitesPerInviterHour = document["invites_per_inviter_hour"]?.int ?? invitesPerInviterHour
        invitesPerRecipientDay =
            document["invites_per_recipient_day"]?.int ?? invitesPerRecipientDay
        inactivity = InactivityRule(document: document["inactivity"])
    }

    package var document: JSONValue {
        .object([
            .init("sign_up", .string(signUp.rawValue)),
            .init("default_role", .string(defaultRole.rawValue)),
            .init("scope_catalogue", .array(scopeCatalogue.map { .string($0) })),
            .init("dev_origins", .bool(devOrigins)),
            .init("private_network", .bool(privateNetwork)),
            .init("allowed_domains", .array(allowedDomains.map { .string($0) })),
            .init("external_invites", .bool(externalInvites)),
            .init("invite_email_must_match", .bool(inviteEmailMustMatch)),
            .init("auto_link", .string(autoLink.rawValue)),
            .init("password_min", .int(passwordMin)),
            .init("password_blocklist", .bool(passwordBlocklist)),
            .init("block_disposable", .bool(blockDisposable)),
            .init("blocked_domains", .array(blockedDomains.map { .string($0) })),
            .init("blocked_emails", .array(blockedEmails.map { .string($0) })),
            .init("invites_pending_max", .int(invitesPendingMax)),
            .init("invites_per_inviter_hour", .int(invitesPerInviterHour)),
            .init("invites_per_recipient_day", .int(invitesPerRecipientDay)),
            .init("inactivity", inactivity.document),
        ])
    }
}

extension InactivityRule {
    /// Nil: the step is not taken.
    package init(document: JSONValue?) {
        self.init(
            warnDays: document?["warn_days"]?.int, suspendDays: document?["suspend_days"]?.int,
            deleteDays: document?["delete_days"]?.int)
    }

    /// Of `/v1`, each step with its days or null.
    package var document: JSONValue {
        .object(
            Step.allCases.map { step in
                .init("\(step.rawValue)_days", self[step].map { .int($0) } ?? .null)
            })
    }
}
