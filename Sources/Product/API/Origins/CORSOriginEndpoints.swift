import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/cors-origins` and `/v1/cors-origins`: the allow lists of origins.
enum CORSOriginEndpoints {
    static let all: [Endpoint] = [
        list, create, replace, delete, platformList, platformCreate, platformDelete,
        RefusedOriginEndpoint.endpoint, CORSEvaluation.endpoint, ProxyDecision.endpoint,
    ]

    private static let path = "/v1/tenants/{tenant}/cors-origins"
    private static let platformPath = "/v1/cors-origins"
    private static let query = QueryParameter.list(
        sorts: ["-created_at", "created_at"], search: true)
    private static let creation = CORSOriginRow.shape.creating(
        "CorsOriginCreation", required: ["origin"])

    private static let list = Endpoint(
        .get, path, id: "listCorsOrigins", tag: "CORS origins",
        summary: "The tenant's origins, newest first; the ETag is that of the whole list.",
        access: .right(.readOrigins), query: query, answers: [.list(CORSOriginRow.shape)]
    ) { call in
        try await page(call, try call.scope)
    }

    private static let platformList = Endpoint(
        .get, platformPath, id: "listPlatformCorsOrigins", tag: "CORS origins",
        summary: "The origins that count for every tenant.", access: .platform(.readOrigins),
        query: query, answers: [.list(CORSOriginRow.shape)]
    ) { call in
        try await page(call, try call.services.database.platformScope)
    }

    private static let create = Endpoint(
        .post, path, id: "createCorsOrigin", tag: "CORS origins",
        summary: "Allows an origin; `normalised` tells what was changed in its spelling.",
        access: .right(.writeOrigins), body: .json(creation),
        answers: [.created(CORSOriginRow.created)], problems: [.conflict], idempotent: true
    ) { call in
        try await add(call, try call.scope, at: "/v1/tenants/\(call.tenant.id)/cors-origins")
    }

    private static let platformCreate = Endpoint(
        .post, platformPath, id: "createPlatformCorsOrigin", tag: "CORS origins",
        summary: "Allows an origin for every tenant.", access: .platform(.writePlatformOrigins),
        body: .json(creation), answers: [.created(CORSOriginRow.created)], problems: [.conflict]
    ) { call in
        try await add(call, try call.services.database.platformScope, at: platformPath)
    }

    private static let replace = Endpoint(
        .put, path, id: "replaceCorsOrigins", tag: "CORS origins",
        summary: "Puts a whole list in the place of the tenant's list.",
        access: .right(.writeOrigins), query: [CORSLockOut.parameter],
        body: .json(CORSOriginRow.wholeList), answers: [.list(CORSOriginRow.shape)],
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

    private static let delete = Endpoint(
        .delete, path + "/{id}", id: "deleteCorsOrigin", tag: "CORS origins",
        summary: "Removes an origin; the next request from it is refused.",
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
        try await remove(call, try call.services.database.platformScope)
    }

    private static func page(_ call: Call, _ scope: TenantScope) async throws -> Response {
        let list = try call.listQuery()
        let text = call.query.optionalString("q")
        // The version first: a concurrent change then fails If-Match instead of being lost.
        let version = try await scope.originListVersion()
        var answer = call.list(try await scope.origins(list, matching: text))
        answer.fields.append(Field("etag", listTag(version)))
        return answer
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
