import Domain
import JSON
import Storage
import Text

extension PolicyRow {
    /// The policy as `/v1` shows it.
    var json: JSONValue {
        .object((policy.document.members ?? []) + [.init("version", .int(version))])
    }

    /// One of the published versions.
    var versionJSON: JSONValue {
        .object([
            .init("version", .int(version)), .init("policy", json),
            .init("created_by", .string(createdBy)),
            .init("created_at", .string(createdAt.description)),
        ])
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "Policy",
        [
            .optional(
                "sign_up", .enumeration(["closed", "invite_only", "domain", "approval", "open"]),
                "Who may come in without an operator's help."),
            .optional(
                "default_role", .enumeration(["member", "manager"]),
                "The role of who comes in by a rule."),
            .optional(
                "scope_catalogue", .array(of: .string(min: 1, max: 64, rule: .scope), max: 200),
                "The tenant's own scopes for API keys."),
            .optional(
                "dev_origins", .bool,
                "Whether every loopback origin (`http://localhost:3000`, any port) is allowed without an entry of its own."
            ),
            .optional("private_network", .bool, "Whether private network access is answered."),
            .optional(
                "allowed_domains", .array(of: .string(min: 1, max: 255, rule: .domain), max: 200),
                "A filter on email domains; empty lets every domain in."),
            .optional(
                "external_invites", .bool, "Whether invites may go beyond `allowed_domains`."),
            .optional(
                "invite_email_must_match", .bool,
                "Whether an invite serves its own address alone."),
            .optional("auto_link", .enumeration(["off", "authoritative"])),
            .optional(
                "password_min", .integer(TenantPolicy.passwordFloor...128), "Characters."),
            .optional("password_blocklist", .bool),
            .optional(
                "block_disposable", .bool,
                "Whether well-known disposable mail domains are kept out."),
            .optional(
                "blocked_domains",
                .array(of: .string(min: 1, max: 255, rule: .domain), max: blockedMax),
                "Domains whose people, and those below them, are kept out."),
            .optional(
                "blocked_emails", .array(of: .email, max: blockedMax),
                "Addresses that are kept out; a purge of the person takes the address off."),
            .optional(
                "invites_pending_max", .integer(1...100_000),
                "How many invites may be pending at once."),
            .optional(
                "invites_per_inviter_hour", .integer(1...100_000),
                "How many invites one inviter may make within an hour."),
            .optional(
                "invites_per_recipient_day", .integer(1...1000),
                "How many mails with an invite one address may get within a day."),
            FieldShape(
                "inactivity", .object(inactivityShape),
                "What happens to accounts that are not used. Another rule needs a dry run first.",
                example: InactivityRule(warnDays: 335, suspendDays: 365, deleteDays: 455).document),
            .readOnly("version", .integer(1...Int(Int32.max))),
            .readOnly(
                "inactivity_preview", .object(InactivityPreview.shape), always: false,
                "Of a dry run with another rule: whom it would be about."),
        ])

    private static let inactivityShape = ObjectShape(
        InactivityRule.Step.allCases.map { step in
            .nullable(
                "\(step.rawValue)_days",
                .integer(InactivityRule.days.lowerBound...InactivityRule.days.upperBound),
                "Days without use before this step; `null`: it is not taken.")
        })

    /// Entries of each block list.
    static let blockedMax = 500

    static let versionShape = ObjectShape(
        "PolicyVersion",
        [
            .readOnly("version", .integer(1...Int(Int32.max))),
            .readOnly("policy", .object(shape)), .readOnly("created_by", .string()),
            .readOnly("created_at", .timestamp),
        ])
}

extension TextRule {
    /// A name of a scope: without white space, which separates scopes (RFC 6749 §3.3).
    static let scope = TextRule(
        pattern: "^[a-z0-9][a-z0-9._:-]{0,63}$",
        detail: "must be lower-case letters, digits, `.`, `_`, `:` and `-`", example: "api:read"
    ) { text in
        let inner = Set("abcdefghijklmnopqrstuvwxyz0123456789._:-".utf8)
        guard let first = text.utf8.first, !Set("._:-".utf8).contains(first) else { return false }
        return text.utf8.allSatisfy(inner.contains)
    }

    /// The name of a domain, in either form of IDNA.
    static let domain = TextRule(
        format: "idn-hostname", detail: "must be a domain name", example: "example.com"
    ) { text in
        (try? DomainName(text)) != nil
    }
}

extension Input {
    /// The days beside each other: 422 with every fault.
    func checkInactivity() throws {
        let faults = InactivityRule(document: self["inactivity"]).faults
        guard faults.isEmpty else {
            throw Problem.invalid(
                faults.map {
                    FieldError("/inactivity/\($0.step.rawValue)_days", .invalid, $0.detail)
                })
        }
    }

    /// The policy of a PUT: missing members have the defaults of a new tenant.
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

extension [String] {
    /// Each once, in the order of first occurrence; compared on bytes, since all are ASCII here.
    fileprivate var withoutRepeats: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
