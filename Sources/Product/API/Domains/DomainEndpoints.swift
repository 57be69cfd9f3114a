import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/domains`: the email domains that a tenant claims and verifies.
package enum DomainEndpoints {
    package static let all: [Endpoint] = [list, create, get, update, delete, verify]

    private static let list = Endpoint(
        .get, "/v1/tenants/{tenant}/domains", id: "listDomains", tag: "Domains",
        summary: "Lists the tenant's domains, newest first.", access: .right(.readPolicy),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"])
            + [
                QueryParameter(
                    "q", .string(min: 1, max: 253),
                    "Only domains whose name, in ASCII or in Unicode, contains this text, in any "
                        + "case."),
                QueryParameter(
                    "status", .enumeration(of: TenantDomain.Status.self),
                    "Only domains with this status."),
                QueryParameter(
                    "unproved", .bool,
                    "If true: only domains that are not verified yet, or whose DNS record is "
                        + "missing."),
            ],
        answers: [.list(DomainRow.shape)], mayLag: true
    ) { call in
        let list = try call.listQuery()
        let status = call.query.optionalString("status")
        return call.list(
            try await call.scope.domains(
                list, status: status, unproved: call.query.flag("unproved"),
                matching: call.query.optionalString("q")))
    }

    private static let create = Endpoint(
        .post, "/v1/tenants/{tenant}/domains", id: "createDomain", tag: "Domains",
        summary:
            "Claims a domain for the tenant. The claim takes effect when the domain is verified. A "
            + "tenant has at most \(TenantDomain.most) domains.",
        access: .right(.writePolicy),
        body: .json(DomainRow.shape.creating("DomainCreation", required: ["domain"])),
        answers: [.created(DomainRow.shape)], problems: [.conflict], idempotent: true
    ) { call in
        let name = try claimable(call.input.string("domain"))
        let includes = call.input.optionalBool("include_subdomains") ?? false
        let row = try await call.scope.change(by: call.actor) {
            try await $0.claimDomain(
                name, includeSubdomains: includes, mode: call.input.optionalCase("mode"),
                role: call.input.optionalCase("role"))
        }
        return .created(
            row, at: "/v1/tenants/\(try call.tenant.id)/domains/\(row.id)", etag: row.etag)
    }

    /// Parses the domain. Throws 422 if it is malformed or cannot belong to one tenant, such as a
    /// public suffix.
    private static func claimable(_ text: String) throws -> DomainName {
        func refuse(_ code: FieldCode, _ detail: String) -> Problem {
            .invalid([FieldError("/domain", code, detail)])
        }
        guard let name = try? DomainName(text) else {
            throw refuse(.invalid, "must be a domain name")
        }
        if name.isPublicSuffix {
            throw refuse(.notAllowed, "is a public suffix, below which anyone may register")
        }
        if name.isPublicMail {
            throw refuse(.notAllowed, "is a public mail domain, where anyone gets a mailbox")
        }
        return name
    }

    private static let get = Endpoint(
        .get, "/v1/tenants/{tenant}/domains/{id}", id: "getDomain", tag: "Domains",
        summary: "Returns one domain.", access: .right(.readPolicy), answers: [.ok(DomainRow.shape)]
    ) { call in
        guard let row = try await call.scope.domain(call.id()) else {
            throw Problem.notFound("domain")
        }
        return .ok(row, etag: row.etag)
    }

    private static let update = Endpoint(
        .patch, "/v1/tenants/{tenant}/domains/{id}", id: "updateDomain", tag: "Domains",
        summary: "Changes who may join with an address of the domain, and with which role.",
        access: .right(.writePolicy),
        body: .json(DomainRow.change), answers: [.ok(DomainRow.shape)], ifMatch: .honoured,
        exists: exists
    ) { call in
        let id = try call.id()
        let row = try await call.scope.change(by: call.actor) { change in
            let row = try await change.lockDomain(id)
            try call.requireMatch(row.etag)
            try call.input.checkRepeated(against: row.json)
            return try await change.editDomain(
                row,
                mode: call.input.has("mode") ? call.input.optionalCase("mode") : row.mode,
                role: call.input.has("role") ? call.input.optionalCase("role") : row.role)
        }
        return .ok(row, etag: row.etag)
    }

    private static let delete = Endpoint(
        .delete, "/v1/tenants/{tenant}/domains/{id}", id: "deleteDomain", tag: "Domains",
        summary: "Removes a domain. Another tenant can then verify the domain.",
        access: .right(.writePolicy), answers: [.noContent], ifMatch: .honoured, exists: exists
    ) { call in
        let id = try call.id()
        try await call.scope.change(by: call.actor) { change in
            let row = try await change.lockDomain(id)
            try call.requireMatch(row.etag)
            try await change.removeDomain(row)
        }
        return .noContent
    }

    private static let verify = Endpoint(
        .post, "/v1/tenants/{tenant}/domains/{id}/verify", id: "verifyDomain", tag: "Domains",
        summary: "Verifies a domain by its DNS TXT record. An operator of the platform can also "
            + "verify it without the record.",
        access: .right(.writePolicy),
        body: .json(
            ObjectShape(
                "DomainProof",
                [
                    .required(
                        "method", .enumeration(of: TenantDomain.Method.self),
                        "How to verify the domain. `dns`: by its DNS record. `operator`: by the "
                            + "decision of a platform operator."
                    )
                ])),
        answers: [
            .ok(DomainRow.shape).showing([
                "status": .string("verified"), "verified_at": .string("2026-11-20T09:30:00.000Z"),
            ])
        ], problems: [.conflict, .domainUnproved],
        idempotent: true, exists: exists
    ) { call in
        let id = try call.id()
        let method = try call.input.string("method")
        guard let claim = try await call.scope.domain(id) else { throw Problem.notFound("domain") }
        if claim.status == .verified, claim.lostAt == nil { return .ok(claim, etag: claim.etag) }
        // The DNS look-up precedes the transaction, so that no lock is held while it waits for a
        // name server.
        try await prove(claim, method, call)
        let row = try await call.scope.change(by: call.actor) { change in
            try await change.verifyDomain(change.lockDomain(id), method: method)
        }
        return .ok(row, etag: row.etag)
    }

    private static func prove(_ claim: DomainRow, _ method: String, _ call: Call) async throws {
        if method == "operator" {
            // Only the platform may declare a domain verified without a proof; no tenant has this
            // right.
            guard
                Permissions.permits(call.principal.subject, .verifyDomainByAssertion, in: nil)
                    == .allowed
            else {
                throw Problem.forbidden(
                    "Only the platform may verify a domain without a DNS record.")
            }
            return
        }
        guard
            let records = await call.application.txtRecords(
                of: claim.recordName, for: try call.tenant.id)
        else {
            var problem = Problem.unavailable
            problem.detail = "The name servers do not answer now; try again."
            throw problem
        }
        guard records.contains(where: { sameBytes($0, claim.recordValue) }) else {
            throw Problem(
                .domainUnproved,
                "There is no TXT record \(claim.recordName) with the value \(claim.recordValue) "
                    + "yet.", status: 422)
        }
    }

    private static let exists: @Sendable (Call) async throws -> Bool = { call in
        try await call.scope.domain(call.id()) != nil
    }
}

extension DomainRow: JSONView {
    /// Writes the claim as `/v1` shows it.
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("domain", domain)
            $0.member("display", display)
            $0.member("include_subdomains", includeSubdomains)
            $0.member("mode", mode?.rawValue)
            $0.member("role", role?.rawValue)
            $0.member("status", status)
            $0.object("verification") {
                $0.member("method", method ?? "dns")
                $0.member("record_name", recordName)
                $0.member("record_value", recordValue)
                $0.member("lost_at", lostAt)
            }
            $0.member("created_at", createdAt)
            $0.member("verified_at", verifiedAt)
        }
    }

    var etag: String { ETag.updated(changedAt ?? verifiedAt ?? createdAt) }

    static let shape = ObjectShape(
        "Domain", versioned: true,
        [
            .readOnly("id", .uuid, "The id of the tenant's claim on the domain."),
            FieldShape(
                "domain", .string(min: 1, max: 255, rule: .domain),
                "The email domain; returned in its ASCII form (A-label), for example "
                    + "`xn--bcher-kva.example`.", example: .string("example.com")),
            .readOnly(
                "display", .string(),
                "The domain in Unicode, for people to read, for example `bücher.example`."),
            .optional(
                "include_subdomains", .bool,
                "Whether addresses at subdomains count as addresses of the domain; false if "
                    + "absent."),
            .nullable(
                "mode", .enumeration(of: TenantDomain.Mode.self),
                "Whether people with an address of the domain join, ask to join, or need an "
                    + "invite; `null` for the policy's default."
            ),
            .nullable(
                "role", .enumeration(["member", "manager"]),
                "The role of users who join with an address of the domain; `null` for the policy's "
                    + "default."),
            .readOnly(
                "status", .enumeration(of: TenantDomain.Status.self),
                "`pending`: the domain has no effect until it is verified. `verified`: the domain "
                    + "applies to sign-ups, and no other tenant can verify it."),
            .readOnly(
                "verification",
                .object(
                    ObjectShape(
                        "DomainVerification",
                        [
                            .readOnly(
                                "method", .enumeration(of: TenantDomain.Method.self),
                                "How the domain is verified. `dns`: by its DNS record. "
                                    + "`operator`: by the decision of a platform operator."
                            ),
                            .readOnly(
                                "record_name", .string(),
                                "The name of the DNS TXT record that verifies the domain."),
                            .readOnly(
                                "record_value", .string(),
                                "The value that the DNS TXT record must have."),
                            .readOnly(
                                "lost_at", .timestamp, nullable: true,
                                "When a check first found that the DNS record is missing; `null` "
                                    + "again once the record is found. After a week without the "
                                    + "record, the domain is `pending` again, and this time stays "
                                    + "until the domain is verified again."),
                        ])),
                "How the domain is verified, and the DNS record for it."),
            .readOnly("created_at", .timestamp, "When the tenant claimed the domain."),
            .readOnly(
                "verified_at", .timestamp, nullable: true,
                "When the domain was last verified, apart from the weekly checks; `null` while it "
                    + "is `pending`."),
        ])

    /// The shape of a change. `domain` and `include_subdomains` are read-only, since the claim was
    /// verified with their values.
    static let change: ObjectShape = {
        var shape = DomainRow.shape
        for index in shape.fields.indices
        where ["domain", "include_subdomains"].contains(shape.fields[index].name) {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("DomainChange")
    }()
}

/// Checks verified domains again when they are due.
package struct DomainChecks: Sendable {
    private let application: Application

    package init(application: Application) { self.application = application }

    /// Checks one batch of the domains that are due, the longest overdue first, and returns the
    /// results in this order. If a check fails with an error, the next round checks the domain
    /// again. The last error is thrown after all other domains of the batch were checked.
    @discardableResult
    package func round() async throws -> [DomainCheck] {
        var results: [DomainCheck] = []
        var failure: (any Error)?
        for due in try await application.database.dueDomains() {
            switch await attempt(due) {
            case .success(let result): if let result { results.append(result) }
            case .failure(let error): failure = error
            }
        }
        if let failure { throw failure }
        return results
    }

    private func attempt(_ due: DueDomain) async -> Result<DomainCheck?, any Error> {
        do { return .success(try await look(at: due)) } catch { return .failure(error) }
    }

    private func look(at due: DueDomain) async throws -> DomainCheck? {
        // The DNS look-up precedes the transaction, so that no lock is held while it waits for a
        // name server.
        let isThere = await application.txtRecords(of: due.row.recordName, for: nil).map {
            records in
            records.contains { sameBytes($0, due.row.recordValue) }
        }
        return try await application.database.scope(due.tenant).change(by: .system) { change in
            let result = try await change.check(due.row, isThere: isThere)
            if result == .lost, application.sendsMail {
                try await change.warnOfLoss(due.row, publicURL: application.publicURL)
            }
            return result
        }
    }
}
