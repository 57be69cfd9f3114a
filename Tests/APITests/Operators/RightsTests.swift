import API
import Domain
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// "Who may do what" over the whole route table, each request sent for real.
@Suite(.serialized, .cleansUp) struct RightsTests {
    private static func name(_ endpoint: Endpoint) -> String {
        "\(endpoint.method.rawValue) \(endpoint.path)"
    }

    @Test func `each route has a row in the table of rights, and each row a route`() {
        let routes = Set(Routes.all.map(Self.name))
        let rows = Set(RouteRight.all.map(\.route))
        #expect(rows.count == RouteRight.all.count, "a row stands twice")
        #expect(routes.subtracting(rows).sorted() == [])
        #expect(rows.subtracting(routes).sorted() == [])
    }

    @Test func `every kind of credential gets at every route what the table says`() async throws {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        let callers = try await Caller.all(fixture)
        var keys: [String: [Caller]] = [:]
        for scope in Set(RouteRight.all.map(\.scope)) where !scope.isEmpty {
            keys[scope] = try await Caller.keys(fixture, scope)
        }
        var wrong: [String] = []
        // A thing that is not there would hide whether the right is.
        let unknown = Routes.all.filter { !fixture.target($0).isKnown }.map(Self.name)
        #expect(unknown == [], "the fixture has nothing for these")
        for endpoint in Routes.all {
            guard let row = RouteRight.all.first(where: { $0.route == Self.name(endpoint) })
            else { continue }
            for caller in callers + (keys[row.scope] ?? []) {
                let due = caller.due(row)
                let status = try await Self.probe(endpoint, fixture, caller)
                if !Self.fits(status, due, endpoint) {
                    wrong.append("\(row.route) by \(caller.name): \(status), due \(due)")
                }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count):\n\(wrong.joined(separator: "\n"))")
    }

    /// A write carries a body of a media type that no endpoint takes: who may, gets 415, which is
    /// looked at after the rights and before anything is done.
    private static func probe(
        _ endpoint: Endpoint, _ fixture: RightsFixture, _ caller: Caller
    ) async throws -> Int {
        let path = fixture.target(endpoint).path
        if endpoint.method == .get {
            return try await fixture.base.service.send(.get, path, as: caller.credential).status
        }
        return try await fixture.base.service.send(
            endpoint.method, path, json: "x", as: caller.credential,
            fields: [Field("content-type", "text/x-probe")]
        ).status
    }

    private static func fits(
        _ status: Int, _ due: Caller.Due, _ endpoint: Endpoint
    ) -> Bool {
        switch due {
        case .unauthorized: return status == 401
        case .missing: return status == 404
        case .forbidden: return status == 403
        case .allowed:
            // The body is no JSON; elsewhere its media type is looked at before.
            if takesAnything(endpoint) { return status == 400 }
            // A redirect leads on, or says why there is no such way.
            if endpoint.answers.contains(where: { $0.status == 303 }) {
                return [303, 409].contains(status)
            }
            return endpoint.method == .get ? status == 200 : status == 415
        }
    }

    private static func takesAnything(_ endpoint: Endpoint) -> Bool {
        if case .raw(let media) = endpoint.body {
            media.contains { $0.type == "*/*" }
        } else {
            false
        }
    }
}

/// A credential, and what it is due at a row of the table.
struct Caller: Sendable {
    enum Due { case allowed, forbidden, missing, unauthorized }
    enum Kind: Sendable {
        case anonymous
        /// The column of the table; `isPlatform`: at the platform, else at the tenant.
        case person(column: Int, isPlatform: Bool, isKey: Bool)
        case key(hasScope: Bool, isPlatform: Bool)
        /// Of another tenant, with every right there.
        case stranger
    }

    var name: String
    var credential: TestService.Credential
    var kind: Kind

    /// Those who are the same for every row.
    static func all(_ fixture: RightsFixture) async throws -> [Caller] {
        let service = fixture.base.service
        let other = try await service.makeTenant("other")
        var all = [
            Caller(name: "nobody", credential: .anonymous, kind: .anonymous),
            Caller(
                name: "another tenant's owner", credential: .tenantAdmin(other), kind: .stranger),
            Caller(
                name: "another tenant's key",
                credential: .bearer(
                    try await fixture.key(RightsFixture.every, at: "/v1/tenants/other/api-keys")),
                kind: .stranger),
        ]
        for (column, role) in Operator.Role.allCases.enumerated() {
            for tenant in [nil, fixture.base.tenant.id] {
                let token = try await service.session(role: role, tenant: tenant)
                all.append(
                    Caller(
                        name: "\(role) \(tenant == nil ? "of the platform" : "of the tenant")",
                        credential: .session(token),
                        kind: .person(column: column, isPlatform: tenant == nil, isKey: false)))
            }
        }
        for (index, role) in [UserRole.admin, .manager, .member].enumerated() {
            let key = try await fixture.key(RightsFixture.every, owner: fixture.people[role])
            all.append(
                Caller(
                    name: "user \(role)", credential: .bearer(key),
                    kind: .person(column: 5 + index, isPlatform: false, isKey: true)))
            all.append(
                Caller(
                    name: "user \(role) by the app's token",
                    credential: .bearer(try await fixture.accessToken(of: fixture.people[role])),
                    kind: .person(column: 5 + index, isPlatform: false, isKey: true)))
        }
        return all
    }

    /// Keys with exactly this scope, and with all but it.
    static func keys(_ fixture: RightsFixture, _ scope: String) async throws -> [Caller] {
        var all: [Caller] = []
        for hasScope in [true, false] {
            let scopes = hasScope ? [scope] : RightsFixture.every.filter { $0 != scope }
            for path in ["/v1/tenants/acme/api-keys", "/v1/api-keys"] {
                let isPlatform = path == "/v1/api-keys"
                all.append(
                    Caller(
                        name: "\(isPlatform ? "platform" : "tenant") key "
                            + (hasScope ? "with \(scope)" : "with all but \(scope)"),
                        credential: .bearer(try await fixture.key(scopes, at: path)),
                        kind: .key(hasScope: hasScope, isPlatform: isPlatform)))
            }
        }
        return all
    }

    func due(_ row: RouteRight) -> Due {
        switch row.place {
        case .open: return .allowed
        case _ where name == "nobody": return .unauthorized
        case .signedIn: return .allowed
        case .operators: return isOperator ? .allowed : .forbidden
        case .tenant, .home, .platform: break
        }
        switch kind {
        case .anonymous: return .unauthorized
        case .stranger:
            if row.place == .platform { return .forbidden }
            let isForeign = row.place == .tenant || row.route.contains("{id}")
            return isForeign ? .missing : .allowed
        case .key(let hasScope, let isPlatform):
            if isPlatform { return hasScope ? .allowed : .forbidden }
            return hasScope && row.place != .platform && row.isForTenantKeys
                ? .allowed : .forbidden
        case .person(let column, let isPlatform, let isKey):
            if row.place == .platform, !isPlatform { return .forbidden }
            let cell = Array(isPlatform ? row.platformCells : row.cells)[column]
            if isKey, cell != "-", !row.isForTenantKeys { return .forbidden }
            switch cell {
            case "-": return isHidden(row, column) ? .missing : .forbidden
            // The path's thing is another person's.
            case "o" where row.route.contains("{id}"): return .missing
            case "p" where row.route.contains("{id}"): return .forbidden
            default: return .allowed
            }
        }
    }

    /// A caller who sees own things alone does not find another person's thing.
    private func isHidden(_ row: RouteRight, _ column: Int) -> Bool {
        let parts = row.route.split(separator: " ")[1].split(separator: "/")
        guard let end = parts.firstIndex(of: "{id}") else { return false }
        let read = "GET /" + parts[...end].joined(separator: "/")
        return RouteRight.all.contains { $0.route == read && Array($0.cells)[column] == "o" }
    }

    /// Whether it is a session of the console.
    var isOperator: Bool {
        switch kind {
        case .person(_, _, let isKey): !isKey
        case .stranger: name.hasSuffix("owner")
        default: false
        }
    }
}
