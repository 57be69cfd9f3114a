import Domain
import JSON
import Storage
import Text

extension ProvisioningResult {
    /// The response of the generic hook; with the trace, that of the dry run.
    func json(trace: JSONValue? = nil) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("outcome", .string(verdict.outcome.rawValue)),
            .init("reason", verdict.reason.map { .string($0.rawValue) } ?? .null),
            .init("user", user?.json ?? .null),
            .init("tenant", tenant?.json ?? .null),
            .init("identity_id", text(identityID)),
            .init("invite_id", text(verdict.inviteID)),
            .init("decision_id", text(decisionID)),
        ]
        if !reference.isEmpty { members.append(.init("reference", .string(reference))) }
        if !choices.isEmpty || verdict.outcome == .deferred {
            members.append(.init("choices", .array(choices.map(Self.choice))))
        }
        if let trace { members.append(.init("trace", trace)) }
        if let wouldAdmit { members.append(.init("would_admit", wouldAdmit.document)) }
        return .object(members)
    }

    private static func choice(_ tenant: TenantRow) -> JSONValue {
        .object([
            .init(
                "tenant",
                .object([
                    .init("id", .string(tenant.id.description)),
                    .init("slug", .string(tenant.slug)), .init("name", .string(tenant.name)),
                ]))
        ])
    }

    static let shape = ObjectShape(
        "ProvisioningOutcome",
        [
            .readOnly("outcome", .enumeration(Outcome.allCases.map(\.rawValue))),
            .readOnly("reason", .enumeration(Reason.allCases.map(\.rawValue)), nullable: true),
            .readOnly("user", .any, nullable: true),
            .readOnly("tenant", .object(TenantRow.shape), nullable: true),
            .readOnly("identity_id", .uuid, nullable: true),
            .readOnly("invite_id", .uuid, nullable: true),
            .readOnly("decision_id", .uuid, nullable: true, "null in a dry run."),
            .readOnly("reference", .string(), always: false, "What the person is told to name."),
            .readOnly("choices", .array(of: .any), always: false, "Where the tenant is open."),
            .readOnly("trace", .array(of: .any), always: false, "Each rule that was looked at."),
            NearestYes.field,
        ])
}

private func text(_ id: UUID?) -> JSONValue { id.map { .string($0.description) } ?? .null }
private func text(_ time: Timestamp?) -> JSONValue {
    time.map { .string($0.description) } ?? .null
}
private func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }

private func linkedBy(_ identity: ProvisionedUser.Identity) -> JSONValue {
    guard let type = identity.linkedByType, let id = identity.linkedByID else { return .null }
    return .object([.init("type", .string(type)), .init("id", .string(id))])
}

extension ProvisionedUser {
    /// The user as `/v1` shows it.
    var json: JSONValue {
        .object([
            .init("id", text(id)), .init("tenant_id", text(tenantID)),
            .init("email", text(email)), .init("email_verified_at", text(emailVerifiedAt)),
            .init("name", text(name)), .init("role", text(role)), .init("status", text(status)),
            .init("source", text(source)),
            .init(
                "identities",
                .array(
                    identities.map {
                        .object([
                            .init("id", text($0.id)), .init("provider", text($0.provider)),
                            .init("issuer", text($0.issuer)), .init("subject", text($0.subject)),
                            .init("email", text($0.email)),
                            .init("email_vouched", .bool($0.isEmailTrusted)),
                            .init("alias_count", .int($0.aliasCount)),
                            .init("created_at", text($0.createdAt)),
                            .init("last_used_at", text($0.lastUsedAt)),
                            .init("linked_by", linkedBy($0)),
                        ])
                    })),
            .init("created_at", text(createdAt)), .init("updated_at", text(updatedAt)),
            .init("last_sign_in_at", text(lastSignInAt)),
        ])
    }
}
