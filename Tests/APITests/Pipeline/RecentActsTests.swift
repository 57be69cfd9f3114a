import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Acts that make a credential, move trust or end something wide need a recent proof that the
/// console's operator is present: every route that changes something × every caller × every role of
/// whom it is about, each request sent for real.
@Suite(.serialized, .cleansUp) struct RecentActsTests {
    /// One place with one of everything, and callers whose last proof is long ago.
    private struct Place {
        let fixture: RightsFixture
        let callers: [Caller]
        /// With every scope; it makes what a call is about.
        let key: TestService.Credential
        var service: TestService { fixture.base.service }
        var tenant: UUID { fixture.base.tenant.id }

        static func make() async throws -> Place {
            let clock = TestClock()
            let mail = ExternalServices.Mail(
                url: "smtp://127.0.0.1:9", from: try EmailAddress("gate@mail.example"))
            let service = try await TestService.make(
                externalServices: ExternalServices(mail: mail), clock: { clock.now })
            let tenant = try await service.makeTenant("acme")
            let fixture = try await RightsFixture.make(
                UserFixture(service: service, tenant: tenant))
            let key = try await fixture.key(RightsFixture.every, at: "/v1/api-keys")
            var callers = try await Caller.all(fixture).filter {
                if case .person = $0.kind { true } else { false }
            }
            for (name, secret) in [
                ("a key of the platform", key),
                ("a key of the tenant", try await fixture.key(RightsFixture.every)),
            ] {
                callers.append(
                    Caller(
                        name: name, credential: .bearer(secret),
                        kind: .key(hasScope: true, isPlatform: key == secret)))
            }
            clock.advance(seconds: 700)
            return Place(fixture: fixture, callers: callers, key: .bearer(key))
        }

        /// The id and the address of somebody new of this role.
        func subject(
            _ subject: RecentSignIn.Subject, _ role: UserRole
        ) async throws -> (id: String, email: String) {
            let email = "s\(UUID.random())@a.example"
            if subject == .invite {
                let made = try await service.send(
                    .post, "/v1/tenants/acme/invites",
                    json: #"{"email":"\#(email)","role":"\#(role)","delivery":"link"}"#, as: key)
                return (try #require(made.json["id"]?.string, "\(made.text)"), email)
            }
            let status =
                switch subject {
                case .suspended: "suspended"
                case .deleted: "deleted"
                case .waiting: "pending"
                case .any, .active, .invite: "active"
                }
            let row = try await service.storage.scope(tenant).change(by: .system) { change in
                let row = try await change.createUser(
                    email: EmailAddress(email), name: nil, role: role)
                _ = try await change.query(
                    """
                    UPDATE users SET status = \(status), source = 'approval',
                        deleted_at = \(subject == .deleted ? change.now : nil)
                    WHERE tenant_id = \(tenant) AND id = \(row.id)
                    """)
                return row
            }
            return (row.id.description, email)
        }

        func send(
            _ call: RecentSignIn.Call, _ endpoint: Endpoint, _ role: UserRole,
            as who: TestService.Credential
        ) async throws -> TestAnswer {
            var path = fixture.target(endpoint).path
            let names = ["THING", "WINNER"].contains { call.body?.contains($0) ?? false }
            let made =
                call.hasRole || names ? try await subject(call.subject, role) : ("", "")
            let other = names ? try await subject(.active, role).id : ""
            if call.subject != .any, let id = fixture.things[Self.prefix(endpoint)] {
                path = path.split(separator: id, maxSplits: 1).joined(separator: made.0)
                if path.last == "/" { path += made.0 }
            }
            let ids = (0..<101).map { _ in "\"\(UUID.random())\"" }.joined(separator: ",")
            var text = call.body ?? Self.example(endpoint)
            for (word, value) in [
                ("ROLE", role.rawValue), ("THING", call.subject == .any ? other : made.0),
                ("ADDRESS", made.1), ("WINNER", made.0), ("LOSER", other), ("HUNDRED", ids),
                ("NEW", UUID.random().description),
            ] {
                text = text?.split(separator: word, omittingEmptySubsequences: false)
                    .joined(separator: value)
            }
            var fields: [Field] = []
            if endpoint.ifMatch == .required { fields.append(Field("if-match", "*")) }
            switch endpoint.body {
            case .raw(let media), .stream(let media):
                let types = media.map(\.type)
                let wanted = ["application/x-ndjson", "image/svg+xml"].first(where: types.contains)
                let type = wanted ?? types[0]
                fields.append(Field("content-type", type == "*/*" ? "application/json" : type))
            case .none, .json: break
            }
            return try await service.send(
                endpoint.method, path.split(separator: "?")[0] + call.query, json: text, as: who,
                fields: fields)
        }

        private static func prefix(_ endpoint: Endpoint) -> String {
            endpoint.path.split(separator: "/{id}", maxSplits: 1).first.map(String.init) ?? ""
        }

        private static func example(_ endpoint: Endpoint) -> String? {
            if case .json(let shape) = endpoint.body {
                return String(decoding: shape.example(input: true).encoded(), as: UTF8.self)
            }
            return nil
        }

        /// A new session of the platform's owner.
        func freshSession() async throws -> TestService.Credential {
            let person = try #require(
                try await service.storage.operatorsWithPassword(
                    emailKey: "owner-platform@operators.example"
                ).first?.0)
            let token = TokenSecret.make()
            try await service.storage.startOperatorSession(
                person, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil, method: .password,
                by: .system)
            return .session(token)
        }
    }

    private static let writes = Routes.all.filter { $0.method != .get }

    private static func name(_ endpoint: Endpoint) -> String {
        "\(endpoint.method.rawValue) \(endpoint.path)"
    }

    @Test func `every route that changes something is in one row, and each row is a route`() {
        let routes = Set(Self.writes.map(Self.name))
        let rows = RecentSignIn.all.map(\.route)
        #expect(Set(rows).count == rows.count, "a row stands twice")
        #expect(routes.subtracting(rows).sorted() == [])
        #expect(Set(rows).subtracting(routes).sorted() == [])
        #expect(Set(RecentActs.all.keys).subtracting(Routes.all.map(\.id)).sorted() == [])
    }

    /// The calls in the order in which they leave what the later ones need: those that are refused
    /// change nothing.
    private static var calls: [(row: RecentSignIn, endpoint: Endpoint, call: RecentSignIn.Call)] {
        let all = RecentSignIn.all.flatMap { row in
            writes.filter { name($0) == row.route }.flatMap { endpoint in
                row.calls.map { (row, endpoint, $0) }
            }
        }
        return all.filter { $0.2.asked != .never } + all.filter { $0.2.asked == .never }
    }

    private static func isAsked(_ call: RecentSignIn.Call, _ role: UserRole) -> Bool {
        switch call.asked {
        case .always: true
        case .never: false
        case .ofAdmin: role == .admin
        }
    }

    /// Whether the caller would be let do it, whatever the role.
    private static func mayDo(_ caller: Caller, _ row: RecentSignIn) -> Bool {
        guard let right = RouteRight.all.first(where: { $0.route == row.route }),
            case .allowed = caller.due(right)
        else { return false }
        guard case .person(let column, let isPlatform, _) = caller.kind else { return true }
        // Of many an action needs more rights than the route: an owner and an admin have them all.
        if column > 1, row.route.hasSuffix("/actions") || row.route.contains("/jobs/") {
            return false
        }
        return right.place == .operators || right.place == .signedIn
            || Array(isPlatform ? right.platformCells : right.cells)[column] == "y"
    }

    @Test func `a recent sign-in is asked for where the table says, and nowhere else`()
        async throws
    {
        let place = try await Place.make()
        // A key is asked for nothing, so what it calls is done.
        let sessions = place.callers.filter(\.isOperator)
        let others = place.callers.filter { !$0.isOperator }
        for (row, endpoint, call, callers) in Self.calls.map({ ($0, $1, $2, sessions) })
            + Self.calls.map({ ($0, $1, $2, others) })
        {
            for caller in callers {
                for role in call.hasRole ? UserRole.allCases : [.member] {
                    let answer = try await place.send(
                        call, endpoint, role, as: caller.credential)
                    let says =
                        "\(row.route) \(call.body ?? "")\(call.query) of \(role) by \(caller.name): \(answer.text)"
                    let isAsked = answer.json["code"]?.string == "step_up_required"
                    let isDue = Self.isAsked(call, role) && caller.isOperator
                    if Self.mayDo(caller, row) {
                        #expect(isAsked == isDue, "\(says)")
                        if case .raw = endpoint.body {
                            #expect(answer.status != 415, "\(says)")
                        } else {
                            #expect(![400, 415].contains(answer.status), "\(says)")
                            #expect(
                                answer.json["code"]?.string != "validation_failed", "\(says)")
                        }
                    } else {
                        #expect(!isAsked || isDue, "\(says)")
                    }
                    if isAsked { #expect(answer.json["max_age"] == .int(600), "\(says)") }
                    #expect(answer.status < 500 || answer.status == 503, "\(says)")
                }
            }
        }
    }

    @Test func `an operator who proved presence within ten minutes is asked for nothing`()
        async throws
    {
        let place = try await Place.make()
        let fresh = try await place.freshSession()
        for (row, endpoint, call) in Self.calls where call.asked != .never {
            for role in call.hasRole ? UserRole.allCases : [.member] {
                let answer = try await place.send(call, endpoint, role, as: fresh)
                let says = "\(row.route) \(call.body ?? "")\(call.query) of \(role): \(answer.text)"
                #expect(answer.json["code"]?.string != "step_up_required", "\(says)")
                #expect(answer.status < 500, "\(says)")
                if call.hasRole, call.asked == .ofAdmin { #expect(answer.status < 300, "\(says)") }
            }
        }
    }
}
