import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The id of another tenant's thing at every door that takes one, in the path, the query and the body: out
/// of the declarations, so that a new endpoint is covered without a line. It is answered as an id that is
/// nothing's, and changes nothing of the tenant whose thing it is.
@Suite(.serialized, .cleansUp) struct ForeignThingTests {
    /// What `acme` has, and who asks for it with every right in `other`.
    private struct World {
        var victim: RightsFixture
        var callers: [(name: String, credential: TestService.Credential)]
        /// Things of the asking tenant, by the name of their place, for a path with two ids.
        var own: [String: String]

        static func make() async throws -> World {
            let victim = try await RightsFixture.make(try await UserFixture.make())
            let service = victim.base.service
            let other = try await service.makeTenant("other")
            func made(_ path: String, _ json: String) async throws -> String {
                try #require(try await service.manage(.post, path, json)["id"]?.string)
            }
            let user = try await made("/v1/tenants/other/users", #"{"email":"admin@o.example"}"#)
            _ = try await service.storage.scope(other.id).write(
                """
                UPDATE users SET role = 'admin', status = 'active'
                WHERE tenant_id = \(other.id) AND id = \(UUID(user) ?? .platform)
                """)
            let provider = try await made(
                "/v1/providers",
                #"{"kind":"google","name":"O","client_id":"o","tenant":"other"}"#)
            let keys = "/v1/tenants/other/api-keys"
            let key = try await victim.key(RightsFixture.every, at: keys)
            let owned = try await victim.key(RightsFixture.every, at: keys, owner: UUID(user))
            return World(
                victim: victim,
                callers: [
                    ("owner", .tenantAdmin(other)), ("key", .bearer(key)),
                    ("admin's key", .bearer(owned)),
                ],
                own: ["/v1/tenants/{tenant}/users": user, "/v1/providers": provider])
        }

        var service: TestService { victim.base.service }

        /// Every thing of `acme` that has an id.
        var things: [String] {
            Set(
                victim.things.values.filter { UUID($0) != nil } + [
                    victim.base.tenant.id.description
                ]
            )
            .sorted()
        }

        /// The answer without what differs from call to call, and with `id` in the place of the id.
        func ask(
            _ endpoint: Endpoint, _ path: String, about id: String, json: String? = nil,
            as who: TestService.Credential
        ) async throws -> (status: Int, text: String) {
            let answer = try await service.send(
                endpoint.method, path, json: json, as: who,
                fields: endpoint.ifMatch == .ignored ? [] : [Field("if-match", "*")])
            var text = answer.text.replacing(id, with: "<id>")
            text.replace(/"request_id":"[^"]*"/, with: "")
            text.replace(/\(ref [0-9A-Za-z]+\)|"reference":"[^"]*"/, with: "")
            text.replace(/20\d\d-\d\d-\d\dT[0-9:.]+Z/, with: "<time>")
            return (answer.status, text)
        }
    }

    /// Runs `body`; nothing of `acme` may be another afterwards.
    private func leavingAlone(_ body: (World) async throws -> [String]) async throws {
        let world = try await World.make()
        let (service, tenant) = (world.service, world.victim.base.tenant.id)
        for (_, who) in world.callers { _ = try await service.send(.get, "/v1/me", as: who) }
        let before = try await service.database.content(of: tenant)
        let wrong = try await body(world)
        #expect(wrong.isEmpty, "\(wrong.count):\n\(wrong.joined(separator: "\n"))")
        let after = try await service.database.content(of: tenant)
        #expect(after.filter { before[$0.key] != $0.value }.map(\.key) == [])
        #expect(before.values.filter { !$0.isEmpty }.count > 15)
    }

    private static func body(_ endpoint: Endpoint) -> String? {
        switch endpoint.body {
        case .json(let shape): String(decoding: shape.example(input: true).encoded(), as: UTF8.self)
        case .none: nil
        case .raw, .stream: "x"
        }
    }

    /// The path's names of ids, with the place before each: those of people's own things and of words
    /// are nobody's in particular.
    private static func places(_ endpoint: Endpoint) -> [String] {
        let words: Set = ["{tenant}", "{client}", "{name}", "{hash}"]
        var (prefix, found) = ("", [String]())
        for part in endpoint.path.split(separator: "/") {
            if part.first == "{", !words.contains(String(part)) {
                found.append(part == "{id}" ? prefix : String(part.dropFirst().dropLast()))
            }
            prefix += "/\(part)"
        }
        return found
    }

    /// What is the platform's alone is refused before it is looked for, and without a mail server a change
    /// of an address.
    private static func due(_ endpoint: Endpoint) -> Int {
        if endpoint.id == "askForEmailChange" { return 409 }
        let name = "\(endpoint.method.rawValue) \(endpoint.path)"
        return RouteRight.all.first { $0.route == name }?.place == .platform ? 403 : 404
    }

    @Test func `in a path it is not there`() async throws {
        try await leavingAlone { world in
            var (wrong, asked) = ([String](), 0)
            for endpoint in Routes.all {
                let places = Self.places(endpoint)
                guard let last = places.last, let id = world.victim.things[last] else { continue }
                // All ids are the other's; or, in a path of two, the second below one's own.
                var all = [world.victim]
                if places.count > 1, let mine = world.own[places[0]] {
                    all.append(world.victim)
                    all[1].things[places[0]] = mine
                }
                for fixture in all {
                    var random = fixture
                    let none = UUID.random().description
                    random.things[last] = none
                    for (name, who) in world.callers {
                        let json = Self.body(endpoint)
                        let given = try await world.ask(
                            endpoint, fixture.target(endpoint, at: "other").path, about: id,
                            json: json, as: who)
                        let unknown = try await world.ask(
                            endpoint, random.target(endpoint, at: "other").path, about: none,
                            json: json, as: who)
                        asked += 1
                        let due =
                            name == "owner" ? [Self.due(endpoint)] : [403, Self.due(endpoint)]
                        if !due.contains(given.status) || given != unknown {
                            wrong.append(
                                "\(endpoint.method.rawValue) \(endpoint.path) by \(name): "
                                    + "\(given), \(unknown)")
                        }
                    }
                }
            }
            #expect(asked > 200)
            return wrong
        }
    }

    /// Parameters that take an id, or a word that may be one.
    private static func takesID(_ parameter: QueryParameter) -> Bool {
        switch parameter.kind {
        case .uuid, .array(of: .uuid, _): true
        default:
            ["actor", "target", "tenant", "reference", "request_id", "q"].contains(parameter.name)
        }
    }

    @Test func `in a query a foreign id finds what an unknown id finds`() async throws {
        try await leavingAlone { world in
            var (wrong, asked) = ([String](), 0)
            var own = world.victim
            own.things.merge(world.own) { $1 }
            for endpoint in Routes.all where endpoint.method == .get && endpoint.access != .open {
                for parameter in endpoint.query where Self.takesID(parameter) {
                    let path = own.target(endpoint, at: "other").path
                    let mark = path.contains("?") ? "&" : "?"
                    for (name, who) in world.callers {
                        let none = UUID.random().description
                        let unknown = try await world.ask(
                            endpoint, "\(path)\(mark)\(parameter.name)=\(none)", about: none,
                            as: who)
                        for id in world.things {
                            let given = try await world.ask(
                                endpoint, "\(path)\(mark)\(parameter.name)=\(id)", about: id,
                                as: who)
                            asked += 1
                            if given == unknown { continue }
                            wrong.append(
                                "\(endpoint.path)?\(parameter.name) by \(name): \(given), \(unknown)"
                            )
                        }
                    }
                }
            }
            #expect(asked > 500)
            return wrong
        }
    }

    @Test func `in a body a foreign id is answered like an unknown one`() async throws {
        try await leavingAlone { world in
            var (wrong, asked) = ([String](), 0)
            var own = world.victim
            own.things.merge(world.own) { $1 }
            for endpoint in Routes.all {
                guard case .json(let shape) = endpoint.body else { continue }
                let none = UUID.random().description
                for (pointer, body) in shape.bodiesWithAnID {
                    let path = own.target(endpoint, at: "other").path
                    for (name, who) in world.callers {
                        func ask(_ id: String) async throws -> (status: Int, text: String) {
                            try await world.ask(
                                endpoint, path, about: id,
                                json: String(decoding: body(id).encoded(), as: UTF8.self), as: who)
                        }
                        let unknown = try await ask(none)
                        for id in world.things {
                            let given = try await ask(id)
                            asked += 1
                            if given == unknown { continue }
                            wrong.append(
                                "\(endpoint.method.rawValue) \(endpoint.path) \(pointer) by \(name): "
                                    + "\(given), \(unknown)")
                        }
                    }
                }
            }
            #expect(asked > 300)
            return wrong
        }
    }
}

extension ObjectShape {
    /// Examples of a body, each with an id of the caller's choice in one place.
    fileprivate var bodiesWithAnID: [(pointer: String, body: (String) -> JSONValue)] {
        let good = example(input: true).members ?? []
        var all: [(pointer: String, body: (String) -> JSONValue)] = []
        for field in fields where !field.isReadOnly {
            for (pointer, value) in field.kind.valuesWithAnID {
                all.append(
                    (
                        "/" + field.name + pointer,
                        { id in
                            .object(
                                good.filter { $0.name != field.name }
                                    + [.init(field.name, value(id))])
                        }
                    ))
            }
        }
        return all + alternatives.flatMap(\.shape.bodiesWithAnID)
    }
}

extension Kind {
    fileprivate var valuesWithAnID: [(pointer: String, value: (String) -> JSONValue)] {
        switch self {
        case .uuid: return [("", { .string($0) })]
        case .array(let item, _):
            return item.valuesWithAnID.map { one in
                ("/0" + one.pointer, { .array([one.value($0)]) })
            }
        case .object(let shape): return shape.bodiesWithAnID.map { ($0.pointer, $0.body) }
        default: return []
        }
    }
}
