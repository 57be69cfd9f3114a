import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/cors-origins` and `/v1/cors-origins`: the allow lists of origins.
package enum CORSOriginEndpoints {
    package static let all: [Endpoint] = [
        list, create, replace, read, delete, platformList, platformCreate, platformRead,
        platformDelete,
        RefusedOriginEndpoint.endpoint, CORSEvaluation.endpoint, ProxyDecision.endpoint,
    ]

    private static let path = "/v1/tenants/{tenant}/cors-origins"
    private static let platformPath = "/v1/cors-origins"
    private static let query = QueryParameter.list(
        sorts: ["-created_at", "created_at"],
        search: "Only entries whose origin and label together contain each of these words, in any "
            + "case and order; only the first 8 words count.")
    private static let creation = CORSOriginRow.shape.creating(
        "CorsOriginCreation", required: ["origin"])

    private static let list = Endpoint(
        .get, path, id: "listCorsOrigins", tag: "CORS origins",
        summary:
            "Lists the origins that are allowed for the tenant, newest first. The ETag is for the "
            + "whole list.",
        access: .right(.readOrigins), query: query,
        answers: [.list(CORSOriginRow.shape).with(.etag)]
    ) { call in
        try await page(call, try call.scope)
    }

    private static let platformList = Endpoint(
        .get, platformPath, id: "listPlatformCorsOrigins", tag: "CORS origins",
        summary: "Lists the origins that are allowed for every tenant.",
        access: .platform(.readOrigins),
        query: query, answers: [.list(CORSOriginRow.shape).with(.etag)]
    ) { call in
        try await page(call, call.database.platformScope)
    }

    private static let create = Endpoint(
        .post, path, id: "createCorsOrigin", tag: "CORS origins",
        summary: "Allows an origin. In the response, `normalised` lists how the server changed its "
            + "spelling.",
        access: .right(.writeOrigins), body: .json(creation),
        answers: [.created(CORSOriginRow.created).showing(["normalised": .array([])])],
        problems: [.conflict], idempotent: true
    ) { call in
        try await add(call, try call.scope, at: "/v1/tenants/\(call.tenant.id)/cors-origins")
    }

    private static let platformCreate = Endpoint(
        .post, platformPath, id: "createPlatformCorsOrigin", tag: "CORS origins",
        summary: "Allows an origin for every tenant.", access: .platform(.writePlatformOrigins),
        body: .json(creation),
        answers: [.created(CORSOriginRow.created).showing(["normalised": .array([])])],
        problems: [.conflict],
        idempotent: true
    ) { call in
        try await add(call, call.database.platformScope, at: platformPath)
    }

    private static let replace = Endpoint(
        .put, path, id: "replaceCorsOrigins", tag: "CORS origins",
        summary: "Replaces the whole list of origins that are allowed for the tenant.",
        access: .right(.writeOrigins), query: [CORSLockOut.parameter],
        body: .json(CORSOriginRow.wholeList), answers: [.list(CORSOriginRow.shape).with(.etag)],
        problems: [.confirmRequired], ifMatch: .required
    ) { call in
        var reader = CORSOriginInput()
        let entries = reader.entries(try call.input.objects("items"))
        guard reader.errors.isEmpty else { throw Problem.invalid(reader.errors) }
        let (rows, etag) = try await call.scope.change(by: call.actor) { change in
            try await change.lockOrigins()
            try await requireProof(entries, change)
            try call.requireMatch(listTag(try await change.originListVersion()))
            try await replaceAll(entries, change, call)
            return (try await change.allOrigins(), listTag(try await change.originListVersion()))
        }
        var answer = call.list(ListPage(whole: rows))
        answer.fields.append(Field("etag", etag))
        return answer
    }

    private static let read = Endpoint(
        .get, path + "/{id}", id: "getCorsOrigin", tag: "CORS origins",
        summary: "Returns an origin of the tenant's list.", access: .right(.readOrigins),
        answers: [.ok(CORSOriginRow.shape)]
    ) { call in
        try await entry(call, try call.scope)
    }

    private static let platformRead = Endpoint(
        .get, platformPath + "/{id}", id: "getPlatformCorsOrigin", tag: "CORS origins",
        summary: "Returns an origin of the platform's list.", access: .platform(.readOrigins),
        answers: [.ok(CORSOriginRow.shape)]
    ) { call in
        try await entry(call, call.database.platformScope)
    }

    private static let delete = Endpoint(
        .delete, path + "/{id}", id: "deleteCorsOrigin", tag: "CORS origins",
        summary: "Removes an origin. Its next request is refused, unless another entry allows it.",
        access: .right(.writeOrigins), query: [CORSLockOut.parameter],
        answers: [.noContent], problems: [.confirmRequired], ifMatch: .honoured
    ) { call in
        try await remove(call, try call.scope)
    }

    private static let platformDelete = Endpoint(
        .delete, platformPath + "/{id}", id: "deletePlatformCorsOrigin", tag: "CORS origins",
        summary: "Removes an origin of the platform.", access: .platform(.writePlatformOrigins),
        query: [CORSLockOut.parameter], answers: [.noContent], problems: [.confirmRequired],
        ifMatch: .honoured
    ) { call in
        try await remove(call, call.database.platformScope)
    }

    private static func page(_ call: Call, _ scope: TenantScope) async throws -> Response {
        let list = try call.listQuery()
        let text = call.query.optionalString("q")
        // The version is read before the list. If the list changes in between, a later write with
        // this version fails its `If-Match` check, so that it cannot overwrite the change.
        let version = try await scope.originListVersion()
        var answer = call.list(try await scope.origins(list, matching: text))
        answer.fields.append(Field("etag", listTag(version)))
        return answer
    }

    private static func entry(_ call: Call, _ scope: TenantScope) async throws -> Response {
        guard let row = try await scope.origin(call.id()) else { throw Problem.notFound("origin") }
        return .ok(row, etag: row.etag)
    }

    private static func add(
        _ call: Call, _ scope: TenantScope, at path: String
    ) async throws -> Response {
        var reader = CORSOriginInput()
        guard let entry = reader.entry(call.input, at: "", expiresAfter: call.now) else {
            throw Problem.invalid(reader.errors)
        }
        let row = try await scope.change(by: call.actor) { change in
            try await change.lockOrigins()
            guard try await stands(entry, change) else { throw CORSOriginInput.unproved("/origin") }
            return try await change.addOrigin(entry)
        }
        var members = row.json.members ?? []
        members.append(.init("normalised", .strings(entry.origin.changes.map(\.rawValue))))
        return .created(.object(members), at: "\(path)/\(row.id)", etag: row.etag)
    }

    private static func remove(_ call: Call, _ scope: TenantScope) async throws -> Response {
        let id = try call.id()
        try await scope.change(by: call.actor) { change in
            try await change.lockOrigins()
            guard let row = try await change.origin(id) else { throw Problem.notFound("origin") }
            try call.requireMatch(row.etag)
            try CORSLockOut(call: call).check(removing: [row])
            try await change.removeOrigin(row)
        }
        return .noContent
    }

    private static func replaceAll(
        _ entries: [CORSOriginEntry], _ change: Change, _ call: Call
    ) async throws {
        change.alreadyApplied()
        let old = try await change.allOrigins()
        var wanted: [String: CORSOriginEntry] = [:]
        for entry in entries { wanted[entry.origin.canonical] = entry }
        let gone = old.filter { wanted[$0.origin] == nil }
        try CORSLockOut(call: call).check(removing: gone)
        for row in gone { try await change.removeOrigin(row) }
        for row in old {
            guard let entry = wanted.removeValue(forKey: row.origin) else { continue }
            try await change.updateOrigin(row, to: entry)
        }
        for entry in entries where wanted[entry.origin.canonical] != nil {
            _ = try await change.addOrigin(entry)
        }
    }

    private static func requireProof(_ entries: [CORSOriginEntry], _ change: Change) async throws {
        for (index, entry) in entries.enumerated() where try await !stands(entry, change) {
            throw CORSOriginInput.unproved("/items/\(index)/origin")
        }
    }

    private static func stands(_ entry: CORSOriginEntry, _ change: Change) async throws -> Bool {
        guard entry.origin.kind == .wildcard else { return true }
        return try await change.wildcardStands(entry.origin.host)
    }

    private static func listTag(_ version: String) -> String { "\"l\(version)\"" }
}

/// Reads an entry of an allow list from a body.
struct CORSOriginInput {
    private(set) var errors: [FieldError] = []

    /// Returns the entry in `input`. If it is invalid, adds the errors to `errors` and returns
    /// `nil`. `path` is the JSON pointer to the object. If `now` is given, the expiry must be
    /// later.
    mutating func entry(_ input: Input, at path: String, expiresAfter now: Timestamp?)
        -> CORSOriginEntry?
    {
        let before = errors.count
        var origin: Origin?
        do throws(OriginFault) {
            origin = try Origin(
                configuring: DisplayText.stripped(input.optionalString("origin") ?? ""))
        } catch {
            let hidden = DisplayText.hidden(in: input.optionalString("origin") ?? "")
            let name = hidden.map { " (it has \(DisplayText.name(of: $0)))" } ?? ""
            errors.append(FieldError(path + "/origin", .invalid, error.reason + name))
        }
        let credentials = input.flag("credentials")
        if credentials, let origin, !origin.mayCarryCredentials {
            errors.append(
                FieldError(
                    path + "/credentials", .notAllowed,
                    "can be true only for an exact origin with https, or with http on localhost, "
                        + "127.0.0.1 or [::1]"))
        }
        let expiresAt = input.optionalTimestamp("expires_at")
        if let now, let expiresAt, expiresAt <= now {
            errors.append(FieldError(path + "/expires_at", .outOfRange, "must be in the future"))
        }
        guard let origin, errors.count == before else { return nil }
        return CORSOriginEntry(
            origin, credentials: credentials, label: input.optionalString("label"),
            expiresAt: expiresAt)
    }

    /// The entries of a whole list. Adds an error for an origin that occurs twice.
    mutating func entries(_ inputs: [Input]) -> [CORSOriginEntry] {
        var seen: Set<String> = []
        var entries: [CORSOriginEntry] = []
        for (index, input) in inputs.enumerated() {
            let path = "/items/\(index)"
            guard let entry = entry(input, at: path, expiresAfter: nil) else { continue }
            if seen.insert(entry.origin.canonical).inserted {
                entries.append(entry)
            } else {
                errors.append(
                    FieldError(
                        path + "/origin", .duplicate,
                        "is in the list more than once"))
            }
        }
        return entries
    }

    static func unproved(_ path: String) -> Problem {
        .invalid([
            FieldError(
                path, .notAllowed,
                "is a wildcard: it needs a verified domain of the tenant, at or above the "
                    + "wildcard's domain")
        ])
    }
}

extension CORSOriginRow: JSONView {
    /// Writes the entry as `/v1` shows it. The tenant is null for an entry of the platform.
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", tenant == .platform ? nil : tenant)
            $0.member("origin", origin)
            $0.member("credentials", credentials)
            $0.member("label", label)
            $0.member("expires_at", expiresAt)
            $0.member("created_at", createdAt)
            $0.object("created_by") {
                $0.member("type", createdByType)
                $0.member("id", createdByID)
            }
        }
    }

    /// The entity tag. It consists of the values that can change when the entry is replaced.
    var etag: String {
        "\"o\(id)-\(credentials)-\(expiresAt?.microseconds ?? 0)-\(label?.utf8.count ?? 0)\""
    }

    static let shape = ObjectShape(
        "CorsOrigin", versioned: true,
        [
            .readOnly("id", .uuid, "The id of the entry in the allow list."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant whose allow list has the entry; `null` for the platform's "
                    + "list."),
            FieldShape(
                "origin", .string(min: 1, max: 512),
                "The origin as browsers send it, or a wildcard such as `https://*.example.com`. "
                    + "Other spellings are converted to this form.",
                example: .string("https://app.example.com")),
            FieldShape(
                "credentials", .bool,
                "Whether requests from the origin may carry cookies. This applies only to the "
                    + "paths of clients, the apps whose API this server implements."),
            .nullable(
                "label", .string(min: 1, max: 200, rule: .displayName),
                "Your own label for the origin; `null` if there is none. It has no effect."),
            .nullable(
                "expires_at", .timestamp,
                "From when on the origin is no longer allowed; `null` if the entry does not "
                    + "expire."),
            .readOnly("created_at", .timestamp, "When the origin was added to the list."),
            .readOnly(
                "created_by",
                .object(
                    ObjectShape([
                        .required(
                            "type", .string(),
                            "The kind of caller: `operator`, `user` or `key` (an API key)."),
                        .required(
                            "id", .string(), "The id of the operator, the user or the API key."),
                    ])), "Who added the origin to the list."),
        ])

    static let created = shape.adding(
        "CorsOriginCreated",
        [
            .readOnly(
                "normalised", .array(of: .string()),
                "The changes that were made to the spelling of the origin.")
        ])

    /// The shape of an entry in a whole list. It accepts entries as GET returns them.
    private static let line: ObjectShape = {
        var shape = Self.shape.patching("CorsOriginLine")
        for index in shape.fields.indices where shape.fields[index].name == "origin" {
            shape.fields[index].isRequired = true
        }
        return shape
    }()

    static let wholeList = ObjectShape(
        "CorsOriginWholeList",
        [
            .required(
                "items", .array(of: .object(line), max: 1000),
                "All entries of the new list. An origin that is missing here is removed."),
            .readOnly(
                "next_cursor", .string(max: 1024), nullable: true,
                "Without effect here; it is accepted because the list that GET returns has it."),
            .readOnly(
                "total", .any,
                "Without effect here; it is accepted because the list that GET returns has it."),
        ])
}

/// `/v1/tenants/{tenant}/cors-origins/refused`: lists origins from which requests were refused.
enum RefusedOriginEndpoint {
    private static let most = 200
    /// The default length of the listed period, which ends now, in seconds: one day.
    private static let seconds: Int64 = 86_400

    static let endpoint = Endpoint(
        .get, "/v1/tenants/{tenant}/cors-origins/refused", id: "listRefusedOrigins",
        tag: "CORS origins",
        summary:
            "Lists origins from which requests were refused, the most frequent first. Anybody can "
            + "cause an entry. At most 100 entries an hour are stored, for 7 days.",
        access: .right(.readOrigins),
        query: [
            QueryParameter(
                "since", .timestamp,
                "Only requests since the start of the hour that contains this time; 24 hours ago "
                    + "if absent.")
        ],
        answers: [
            .ok(
                ObjectShape(
                    "RefusedOrigins",
                    [
                        .readOnly(
                            "items", .array(of: .object(shape), max: most),
                            "The origins from which requests were refused, the most frequent "
                                + "first; at most 200.")
                    ]))
        ]
    ) { call in
        let since = call.query.optionalTimestamp("since") ?? call.now.adding(seconds: -seconds)
        let rows = try await call.scope.refusedOrigins(since: since, limit: most)
        return .ok(
            .object([
                .init(
                    "items",
                    .array(
                        rows.map { row in
                            .object([
                                .init("origin", .string(row.origin)),
                                .init("count", .int(row.count)),
                                .init("first_seen", .time(row.firstSeen)),
                                .init("last_seen", .time(row.lastSeen)),
                                .init("paths", .strings(row.paths)),
                            ])
                        }))
            ]))
    }

    private static let shape = ObjectShape(
        "RefusedOrigin",
        [
            .readOnly("origin", .string(max: 512), "The origin as the browser sent it."),
            .readOnly(
                "count", .integer(1...Int.max),
                "The number of refused requests from the origin in the requested period."),
            .readOnly(
                "first_seen", .timestamp,
                "When the first request from the origin was refused in the requested period."),
            .readOnly(
                "last_seen", .timestamp,
                "When the last request from the origin was refused in the requested period."),
            .readOnly(
                "paths", .array(of: .string(), max: 3),
                "Up to 3 of the requested paths, as templates, for example "
                    + "`/v1/tenants/{tenant}`."),
        ])
}
