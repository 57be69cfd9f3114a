import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/policy`: the admission policy and its published versions.
package enum PolicyEndpoints {
    package static let all: [Endpoint] = [get, put, versions]

    private static let get = Endpoint(
        .get, "/v1/tenants/{tenant}/policy", id: "getPolicy", tag: "Policy",
        summary: "Returns the current policy.", access: .right(.readPolicy),
        answers: [.ok(PolicyRow.shape)]
    ) { call in
        let row = try await call.scope.policy()
        return .ok(row.json, etag: row.etag)
    }

    private static let put = Endpoint(
        .put, "/v1/tenants/{tenant}/policy", id: "putPolicy", tag: "Policy",
        summary: "Publishes a policy as the next version. Settings that are absent get their "
            + "default, not their present value. A changed inactivity rule, unless it has no "
            + "steps, needs a dry run of the same policy within the previous hour.",
        access: .right(.writePolicy), query: [.dryRun], body: .json(PolicyRow.shape),
        answers: [.ok(PolicyRow.shape)], problems: [.confirmRequired], ifMatch: .required,
        time: .seconds(30)
    ) { call in
        try call.input.checkInactivity()
        let wanted = call.input.policy()
        if call.isDryRun { return try await dryRun(call, wanted) }
        let row = try await call.scope.change(by: call.actor) { change in
            let current = try await change.lockPolicy()
            try check(call, current)
            try await requireTrial(of: wanted, after: current, change)
            return try await change.publish(wanted, after: current)
        }
        return .ok(row.json, etag: row.etag)
    }

    /// The response to a dry run: the policy as it would be published. If the inactivity rule
    /// changes, the response also contains the users to whom the rule applies, and the server
    /// records that it has shown this preview.
    private static func dryRun(_ call: Call, _ wanted: TenantPolicy) async throws -> Response {
        let current = try await call.scope.policy()
        try check(call, current)
        var members = current.dryRun(wanted)
        if current.needsTrial(wanted) {
            try await call.takeDryRuns(10)
            let preview = try await InactivityPreview.of(wanted.inactivity, in: call.scope)
            try await call.scope.noteTrial(of: wanted, against: current.version)
            members.append(.init("inactivity_preview", preview.json))
        }
        return .ok(.object(members), etag: current.etag)
    }

    private static func requireTrial(
        of wanted: TenantPolicy, after current: PolicyRow, _ change: Change
    ) async throws {
        guard current.needsTrial(wanted) else { return }
        guard try await change.wasTried(wanted, against: current.version) else {
            throw Problem(
                .confirmRequired,
                "A changed inactivity rule is published only after a preview of the users it "
                    + "applies to: send the same policy with `dry_run=true`, then repeat this "
                    + "request within an hour.")
        }
    }

    /// Checks `If-Match` and then the body. For a change that is based on an older policy, the
    /// error is a 412 with the current version, its author and its time. If the body's read-only
    /// `version` were checked first, the error would be a 422.
    private static func check(_ call: Call, _ current: PolicyRow) throws {
        do {
            try call.requireMatch(current.etag)
        } catch var problem as Problem {
            problem.detail =
                "Version \(current.version) is in force: read it, then publish your change on top "
                + "of it. An ETag that is weak (`W/`) or lacks its quotation marks never matches."
            problem.fields.append(Field("etag", current.etag))
            problem.members.append(JSONValue.Member("current", current.publication))
            throw problem
        }
        try call.input.checkRepeated(against: current.json)
    }

    private static let versions = Endpoint(
        .get, "/v1/tenants/{tenant}/policy/versions", id: "listPolicyVersions", tag: "Policy",
        summary: "Lists all published versions of the policy, newest first.",
        access: .right(.readPolicy),
        query: [.limit, .cursor], answers: [.list(PolicyRow.versionShape)]
    ) { call in
        let page = try call.page()
        let rows = try await call.scope.policyVersions(
            limit: page.limit, before: page.after.flatMap { Int($0.key) })
        let count = try await call.scope.policyVersionCount()
        let shown = rows.prefix(page.limit)
        let next =
            rows.count > page.limit
            ? shown.last.map { Cursor(key: "\($0.version)", id: .platform) } : nil
        return call.list(shown.map(\.versionJSON), next: next, total: Total(count))
    }
}

extension PolicyRow {
    /// The version, its author and the time of its publication.
    fileprivate var publication: JSONValue {
        .object([
            .init("version", .int(version)), .init("created_by", .string(createdBy)),
            .init("created_at", .time(createdAt)),
        ])
    }

    /// The members of the response to a dry run. The version is the one that would be published, or
    /// the current one if nothing differs.
    fileprivate func dryRun(_ wanted: TenantPolicy) -> [JSONValue.Member] {
        let isSame = wanted.document == policy.document
        return (wanted.document.members ?? [])
            + [.init("version", .int(isSame ? version : version + 1))]
    }
}

extension PolicyRow {
    /// The policy as `/v1` shows it.
    var json: JSONValue {
        .object((policy.document.members ?? []) + [.init("version", .int(version))])
    }

    /// A published version as `/v1` shows it.
    var versionJSON: JSONValue {
        .object([
            .init("version", .int(version)), .init("policy", json),
            .init("created_by", .string(createdBy)),
            .init("created_at", .string(createdAt.description)),
        ])
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "Policy", versioned: true,
        [
            .optional(
                "sign_up", .enumeration(["closed", "invite_only", "domain", "approval", "open"]),
                "Who may join without an operator's help. `closed`: no one. `invite_only`: people "
                    + "with an invite or a join link. `domain`: also people with an address in a "
                    + "domain that the tenant has verified. For this, the provider must be "
                    + "authoritative for the domain (see `email_trust` of the provider), as Google "
                    + "is for accounts with this domain as `hd`, or a Cognito pool must have "
                    + "verified the address of its own user; otherwise `email_verified` is not "
                    + "enough. `approval`: also everyone whose request to join is approved. `open`: "
                    + "everyone with a verified address. A mode that is set for a verified domain takes "
                    + "precedence over all of these except `closed`. "
                    + "\(standard.signUp.rawValue.asDefault)"),
            .optional(
                "default_role", .enumeration(["member", "manager"]),
                "The default role of users who join. \(standard.defaultRole.rawValue.asDefault)"),
            .optional(
                "scope_catalogue", .array(of: .string(min: 1, max: 64, rule: .scope), max: 200),
                "The tenant's own scopes, which API keys may have besides the management scopes. If "
                    + "absent: "
                    + standard.scopeCatalogue.map { "`\($0)`" }.joined(separator: ", ") + "."),
            .optional(
                "dev_origins", .bool,
                "Whether `http://localhost`, `http://127.0.0.1` and `http://[::1]` are allowed "
                    + "with every explicit port, such as `http://localhost:3000`, even if the list "
                    + "of origins does not contain them; "
                    + "\(standard.devOrigins) if absent."),
            .optional(
                "private_network", .bool,
                "Whether the server answers preflight requests for private network access; "
                    + "\(standard.privateNetwork) if absent."),
            .optional(
                "allowed_domains", .array(of: .string(min: 1, max: 255, rule: .domain), max: 200),
                "The email domains that may join; any domain if empty or absent."),
            .optional(
                "external_invites", .bool,
                "Whether invites and join links may admit addresses outside `allowed_domains`; "
                    + "\(standard.externalInvites) if absent."),
            .optional(
                "invite_email_must_match", .bool,
                "Whether an invite can be accepted only with the address that was invited; "
                    + "\(standard.inviteEmailMustMatch) if absent."),
            .optional(
                "auto_link", .enumeration(["off", "authoritative"]),
                "Whether a sign-in at another provider is added, without a link grant, to the "
                    + "active user who has the same address. `off`: never. `authoritative`: if the "
                    + "provider is authoritative for the address, and the user's address is "
                    + "verified. \(standard.autoLink.rawValue.asDefault)"),
            .optional(
                "password_min", .integer(TenantPolicy.passwordFloor...128),
                "The minimum length of passwords, in characters; \(standard.passwordMin) if "
                    + "absent."),
            .optional(
                "password_blocklist", .bool,
                "Whether passwords that are easy to guess are refused, for example common ones, "
                    + "sequences and repetitions; \(standard.passwordBlocklist) if absent."),
            .optional(
                "block_disposable", .bool,
                "Whether the domains of well-known services for disposable (temporary) email "
                    + "addresses are refused; \(standard.blockDisposable) if absent."),
            .optional(
                "blocked_domains",
                .array(of: .string(min: 1, max: 255, rule: .domain), max: blockedMax),
                "Email domains that are refused, including their subdomains; none if absent."),
            .optional(
                "blocked_emails", .array(of: .email, max: blockedMax),
                "Email addresses that are refused; none if absent. When a user is purged, the "
                    + "user's address is removed from this list."),
            .optional(
                "invites_pending_max", .integer(1...100_000),
                "How many invites may be pending at the same time; "
                    + "\(standard.invitesPendingMax) if absent."),
            .optional(
                "invites_per_inviter_hour", .integer(1...100_000),
                "How many invites one inviter may create within an hour; "
                    + "\(standard.invitesPerInviterHour) if absent."),
            .optional(
                "invites_per_recipient_day", .integer(1...1000),
                "How many invite mails one address may get within a day; "
                    + "\(standard.invitesPerRecipientDay) if absent."),
            FieldShape(
                "inactivity", .object(inactivityShape),
                "What happens to accounts that are not used; nothing if absent. A change of this "
                    + "rule, except to nothing, needs a dry run first.",
                example: InactivityRule().document),
            .readOnly(
                "version", .integer(1...Int(Int32.max)),
                "The version of the policy, which grows by 1 with each change."),
            .readOnly(
                "inactivity_preview", .object(InactivityPreview.shape), always: false,
                "In a dry run with a changed inactivity rule: the users that the rule applies to; "
                    + "absent if the new rule does nothing."),
        ])

    private static let inactivityShape = ObjectShape(
        InactivityRule.Step.allCases.map { step in
            .nullable(
                "\(step.rawValue)_days",
                .integer(InactivityRule.days.lowerBound...InactivityRule.days.upperBound),
                "Days without use before this step, counted from the last change of the rule at "
                    + "the earliest; `null` or absent to skip the step.")
        })

    /// The policy whose settings those that are absent in a body get.
    private static let standard = TenantPolicy()

    /// The maximum number of entries in each block list.
    static let blockedMax = 500

    static let versionShape = ObjectShape(
        "PolicyVersion",
        [
            .readOnly("version", .integer(1...Int(Int32.max)), "The number of the version."),
            .readOnly("policy", .object(shape), "The policy as it was published."),
            .readOnly(
                "created_by", .string(),
                "The name or email address of the person, or the name of the API key, that "
                    + "published the version."),
            .readOnly("created_at", .timestamp, "When the version was published."),
        ])
}

extension TextRule {
    /// The name of a scope. It contains no white space, since that separates scopes (RFC 6749
    /// section 3.3).
    static let scope = TextRule(
        pattern: "^[a-z0-9][a-z0-9._:-]{0,63}$",
        detail:
            "must be lower-case letters, digits, `.`, `_`, `:` and `-`, and begin with a to z or "
            + "0 to 9",
        example: "api:read"
    ) { text in
        let inner = Set("abcdefghijklmnopqrstuvwxyz0123456789._:-".utf8)
        guard let first = text.utf8.first, !Set("._:-".utf8).contains(first) else { return false }
        return text.utf8.allSatisfy(inner.contains)
    }

    /// A domain name, as Unicode or in A-label form.
    static let domain = TextRule(
        format: "idn-hostname", detail: "must be a domain name", example: "example.com"
    ) { text in
        (try? DomainName(text)) != nil
    }
}

extension Input {
    /// Checks that the numbers of days are consistent with each other. Throws 422 with every error.
    func checkInactivity() throws {
        let faults = InactivityRule(document: self["inactivity"]).faults
        guard faults.isEmpty else {
            throw Problem.invalid(
                faults.map {
                    FieldError("/inactivity/\($0.step.rawValue)_days", .invalid, $0.detail)
                })
        }
    }

    /// The policy in the body of a PUT. A missing member gets the default of a new tenant.
    func policy() -> TenantPolicy {
        var members = members
        for index in members.indices {
            let name = members[index].name
            switch name {
            case "allowed_domains", "blocked_domains":
                let names = optionalStrings(name) ?? []
                members[index].value = .strings(
                    names.compactMap { try? DomainName($0).ascii }.withoutRepeats)
            case "blocked_emails":
                let emails = optionalStrings(name) ?? []
                members[index].value = .strings(
                    emails.compactMap { try? EmailAddress($0).key }.withoutRepeats)
            default: break
            }
        }
        return TenantPolicy(document: .object(members), version: 0)
    }
}

extension String {
    /// The sentence that says that this text is a setting's value if it is absent.
    fileprivate var asDefault: String { "If absent: `\(self)`." }
}

extension [String] {
    /// The texts without repetitions, in the order of their first occurrence. All of them are
    /// ASCII, so comparing them as strings is the same as comparing their bytes.
    fileprivate var withoutRepeats: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
