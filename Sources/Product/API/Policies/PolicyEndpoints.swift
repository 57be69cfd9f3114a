import Domain
import HTTP
import JSON
import Storage

/// `/v1/tenants/{tenant}/policy`: the admission policy, and its published versions.
enum PolicyEndpoints {
    static let all: [Endpoint] = [get, put, versions]

    private static let get = Endpoint(
        .get, "/v1/tenants/{tenant}/policy", id: "getPolicy", tag: "Policy",
        summary: "The policy in force.", access: .right(.readPolicy),
        answers: [.ok(PolicyRow.shape)]
    ) { call in
        let row = try await call.scope.policy()
        return .ok(row.json, etag: row.etag)
    }

    private static let put = Endpoint(
        .put, "/v1/tenants/{tenant}/policy", id: "putPolicy", tag: "Policy",
        summary: "Publishes a policy as the next version; what is left out has its default.",
        access: .right(.writePolicy), query: [.dryRun], body: .json(PolicyRow.shape),
        answers: [.ok(PolicyRow.shape)], ifMatch: .required
    ) { call in
        let wanted = call.input.policy()
        if call.isDryRun {
            let current = try await call.scope.policy()
            try check(call, current)
            return .ok(current.dryRun(wanted), etag: current.etag)
        }
        let row = try await call.scope.change(by: call.actor) { change in
            let current = try await change.lockPolicy()
            try check(call, current)
            return try await change.publish(wanted, after: current)
        }
        return .ok(row.json, etag: row.etag)
    }

    /// If-Match comes first: a body that repeats the read-only `version` of an older policy is a
    /// 412 that names the version in force, its author and its time, not a 422.
    private static func check(_ call: Call, _ current: PolicyRow) throws {
        do {
            try call.requireMatch(current.etag)
        } catch var problem as Problem {
            problem.detail = "Version \(current.version) is in force: read it, then publish on it."
            problem.fields.append(Field("etag", current.etag))
            problem.members.append(JSONValue.Member("current", current.publication))
            throw problem
        }
        try call.input.checkRepeated(against: current.json)
    }

    private static let versions = Endpoint(
        .get, "/v1/tenants/{tenant}/policy/versions", id: "listPolicyVersions", tag: "Policy",
        summary: "Every published policy, the newest first.", access: .right(.readPolicy),
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
    /// This version, its author and its time.
    fileprivate var publication: JSONValue {
        .object([
            .init("version", .int(version)), .init("created_by", .string(createdBy)),
            .init("created_at", .time(createdAt)),
        ])
    }

    /// The version to be published: the same if nothing differs.
    fileprivate func dryRun(_ wanted: TenantPolicy) -> JSONValue {
        let isSame = wanted.document == policy.document
        return .object(
            (wanted.document.members ?? []) + [
                .init("version", .int(isSame ? version : version + 1))
            ])
    }
}
