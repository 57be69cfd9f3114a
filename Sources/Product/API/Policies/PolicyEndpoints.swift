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
        summary: "Publishes a policy as the next version; what is left out has its default. "
            + "Another rule for inactivity needs a dry run of the same policy within the hour before.",
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

    /// The policy as it would be; of another rule for inactivity also whom it would be about, and
    /// that this was asked.
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
                "Another rule for inactivity is published only after a look at whom it is about: "
                    + "send the same policy with `dry_run=true`, then repeat this within an hour.")
        }
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
    fileprivate func dryRun(_ wanted: TenantPolicy) -> [JSONValue.Member] {
        let isSame = wanted.document == policy.document
        return (wanted.document.members ?? [])
            + [.init("version", .int(isSame ? version : version + 1))]
    }
}
