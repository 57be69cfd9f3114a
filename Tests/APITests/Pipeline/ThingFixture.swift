import API
import Domain
import Gatehouse
import HTTP
import JSON
import Storage
import Synchronization
import TestSupport
import Text

/// A small service of one noun behind the real dispatcher, with credentials by name.
struct ThingFixture {
    static let thing = UUID(high: 0x4000, low: 7)
    static let path = "/v1/tenants/acme/things"
    static let onePath = "\(path)/\(thing)"

    static let shape = ObjectShape(
        "Thing",
        [
            .readOnly("id", .uuid, "The id."),
            .required("slug", .string(min: 2, max: 63, rule: .slug), "The slug."),
            .required("email", .email, "The address."),
            .optional("count", .integer(1...10), "The count."),
            .optional("active", .bool, "Whether it is active."),
            .nullable("note", .string(max: 5), "The note."),
            .optional("role", .enumeration(["member", "manager"]), "The role."),
            .optional("tags", .array(of: .string(min: 1, max: 3), max: 2), "The tags."),
            .optional(
                "place",
                .object(ObjectShape("Place", [.required("x", .integer(0...9), "The number.")])),
                "The place."),
            .optional("claims", .any, "The claims."),
        ])

    let ran = Counter()
    let slow = Reentrant()
    let service: TestService
    let acme: TenantRow
    let other: TenantRow
    private let log = CapturedLog()
    /// By name, the header fields of a caller.
    private let credentials: [String: [Field]]

    init() async throws {
        service = try await TestService.make(logger: log.logger)
        acme = try await service.makeTenant("acme")
        other = try await service.makeTenant("other")
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"\#(Self.origin)"}"#)
        func bearer(_ key: String) -> Field { Field("authorization", "Bearer \(key)") }
        let session = try await service.session(role: .owner, tenant: nil)
        credentials = [
            "writer": [bearer(try await service.makeKey(#""users:read","users:write""#).secret)],
            "reader": [bearer(try await service.makeKey(#""users:read""#).secret)],
            "console": [
                Field("cookie", "gatehouse=\(session)"), Field("sec-fetch-site", "same-origin"),
            ],
            "nobody": [bearer("gate_unknown")],
        ]
    }

    /// On the tenant's list.
    static let origin = "https://app.example"

    static func endpoints(counting ran: Counter = Counter()) -> [Endpoint] {
        return [
            Endpoint(
                .get, "/v1/tenants/{tenant}/things", id: "listThings", tag: "Things",
                summary: "Lists things.", access: .right(.readUsers),
                query: QueryParameter.list(
                    sorts: ["created_at", "-created_at"], search: "Only these things.")
                    + [
                        QueryParameter("kinds", .array(of: .enumeration(["a", "b"])), "The kinds.")
                    ],
                answers: [.list(Self.shape)]
            ) { call in
                _ = try call.page()
                return call.list(
                    [.string("a")], next: Cursor(key: "k", id: Self.thing),
                    total: Total(9, exact: false))
            },
            Endpoint(
                .post, "/v1/tenants/{tenant}/things", id: "createThing", tag: "Things",
                summary: "Creates a thing.", access: .right(.createUsers),
                body: .json(Self.shape.creating("NewThing", required: ["slug", "email"])),
                answers: [.created(Self.shape)], problems: [.emailTaken], idempotent: true,
                maxBody: 4096
            ) { call in
                let count = ran.next()
                let slug = try call.input.string("slug")
                if slug == "taken" { throw Problem.conflict("Taken.", with: "7") }
                if slug == "broken" { throw Broken() }
                return .created(
                    .object([.init("n", .int(count))]), at: "\(call.request.path)/\(Self.thing)",
                    etag: ETag.version(1))
            },
            Endpoint(
                .put, "/v1/tenants/{tenant}/things/{id}", id: "putThing", tag: "Things",
                summary: "Replaces a thing.", access: .right(.createUsers),
                body: .json(Self.shape), answers: [.ok(Self.shape)], ifMatch: .required,
                exists: { try $0.id() == Self.thing },
                handle: { call in
                    guard try call.id() == Self.thing else { throw Problem.notFound() }
                    try call.requireMatch(ETag.version(1))
                    try call.input.checkRepeated(
                        against: .object([.init("id", .string(Self.thing.description))]))
                    return .ok(.object(call.input.members), etag: ETag.version(2))
                }),
            Endpoint(
                .post, "/v1/tenants/{tenant}/things/{id}/suspend", id: "suspendThing",
                tag: "Things", summary: "Suspends.", access: .right(.createUsers),
                answers: [.ok(Self.shape)]
            ) { _ in .ok(.object([])) },
            Endpoint(
                .post, "/v1/hooks/thing", id: "hookThing", tag: "Hooks", summary: "A hook.",
                access: .open, body: .json(ObjectShape([], open: true)),
                answers: [.ok(.empty)], hook: true
            ) { _ in throw Problem.unavailable },
        ]
    }

    func dispatcher(_ endpoints: [Endpoint]? = nil) throws -> Dispatcher {
        try Dispatcher(
            endpoints: endpoints ?? Self.endpoints(counting: ran),
            application: service.composition.application)
    }

    func fields(of credential: String) -> [Field] { credentials[credential] ?? [] }

    /// The log's lines about requests of this route.
    func records(of route: String) throws -> [JSONValue] {
        try log.records(of: route)
    }

    func send(
        _ method: HTTP.Method, _ path: String, as credential: String? = "writer",
        query: String = "", _ fields: [(String, String)] = [], json: String? = nil
    ) async throws -> Response {
        var all = fields.map { Field($0.0, $0.1) }
        if let credential { all += self.fields(of: credential) }
        if json != nil, !fields.contains(where: { $0.0 == "content-type" }) {
            all.append(Field("content-type", "application/json"))
        }
        return try await dispatcher().respond(
            to: Request(
                method, path, query: query, fields: all, body: Array((json ?? "").utf8), id: "r-1"))
    }
}

struct Broken: Error {
    let secret = "the password"
}

extension Response {
    var bytes: [UInt8] { if case .bytes(let bytes) = body { bytes } else { [] } }

    func json() throws -> JSONValue { try JSONValue(parsing: bytes) }

    func code() throws -> String? { try json()["code"]?.string }

    /// `pointer code` of each error.
    func errors() throws -> [String] {
        (try json()["errors"]?.array ?? []).map {
            "\($0["pointer"]?.string ?? "") \($0["code"]?.string ?? "")"
        }
    }
}

final class Counter: Sendable {
    private let value = Mutex(0)
    func next() -> Int {
        value.withLock {
            $0 += 1
            return $0
        }
    }
    var count: Int { value.withLock { $0 } }
}

extension CapturedLog {
    /// The lines about requests of this route.
    func records(of route: String) throws -> [JSONValue] {
        try lines.map { try JSONValue(parsing: Array($0.utf8)) }
            .filter { $0["route"]?.string == route }
    }
}
