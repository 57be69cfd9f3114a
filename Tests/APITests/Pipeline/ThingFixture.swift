import API
import Domain
import HTTP
import JSON
import Storage
import Synchronization
import Text

/// A small service of one noun behind the real dispatcher, with credentials by name.
struct ThingFixture {
    static let acme = ResolvedTenant(id: UUID(high: 1, low: 1), slug: "acme")
    static let other = ResolvedTenant(id: UUID(high: 2, low: 2), slug: "other")
    static let thing = UUID(high: 0x4000, low: 7)
    static let path = "/v1/tenants/acme/things"
    static let onePath = "\(path)/\(thing)"

    static let shape = ObjectShape(
        "Thing",
        [
            .readOnly("id", .uuid),
            .required("slug", .string(min: 2, max: 63, rule: .slug)),
            .required("email", .email),
            .optional("count", .integer(1...10)),
            .optional("active", .bool),
            .nullable("note", .string(max: 5)),
            .optional("role", .enumeration(["member", "manager"])),
            .optional("tags", .array(of: .string(min: 1, max: 3), max: 2)),
            .optional("place", .object(ObjectShape("Place", [.required("x", .integer(0...9))]))),
            .optional("claims", .any),
        ])

    let ran = Counter()
    let store = MemoryIdempotencyStore()
    let records = Records()
    let slow = Reentrant()

    var endpoints: [Endpoint] {
        let ran = ran
        return [
            Endpoint(
                .get, "/v1/tenants/{tenant}/things", id: "listThings", tag: "Things",
                summary: "Lists things.", access: .right(.readUsers),
                query: QueryParameter.list(sorts: ["created_at", "-created_at"], search: true)
                    + [QueryParameter("kinds", .array(of: .enumeration(["a", "b"])))],
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

    func dispatcher() throws -> Dispatcher {
        try Dispatcher(endpoints: endpoints, services: Services(), hooks: hooks())
    }

    func hooks() -> Hooks {
        let records = records
        return Hooks(
            authenticate: { try Self.principal($0.first("authorization")) },
            resolveTenant: { text, _ in
                [Self.acme, Self.other].first { $0.slug == text || UUID(text) == $0.id }
            },
            authorize: { principal, access, _ in
                guard case .right(let right) = access else { return nil }
                return principal.platform || principal.scopes.contains(right.rawValue)
                    ? nil : .forbidden()
            },
            enforceCORS: { request, _ in
                guard let origin = request.first("origin") else { return .proceed }
                if origin == "https://evil.example" {
                    return CORSVerdict(.refuse(Problem(.originNotAllowed, "Not allowed.")))
                }
                let fields = [Field("access-control-allow-origin", origin)]
                let isPreflight = request.first("access-control-request-method") != nil
                return CORSVerdict(
                    isPreflight ? .answer(Response(204)) : .proceed, fields: fields)
            },
            idempotency: store, record: { records.append($0) },
            now: { Timestamp(microseconds: 0) })
    }

    private static func principal(_ credential: String?) throws -> CallerPrincipal {
        let writing = ["readUsers", "createUsers"]
        let id = UUID(high: 9, low: 9)
        switch credential {
        case nil: return .anonymous
        case "writer":
            return CallerPrincipal(.key(id: id, owner: .tenant(acme.id), scopes: writing))
        case "reader":
            return CallerPrincipal(.key(id: id, owner: .tenant(acme.id), scopes: ["readUsers"]))
        case "console":
            var principal = CallerPrincipal(.operator(id: id, role: .owner, tenant: nil))
            principal.isConsoleSession = true
            return principal
        case "away": throw Problem.unavailable
        default: throw Problem.unauthorized("The credential is not known.")
        }
    }

    func send(
        _ method: HTTP.Method, _ path: String, as credential: String? = "writer",
        query: String = "", _ fields: [(String, String)] = [], json: String? = nil
    ) async throws -> Response {
        var all = fields.map { Field($0.0, $0.1) }
        if let credential { all.append(Field("authorization", credential)) }
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

final class Records: Sendable {
    private let value = Mutex<[RequestRecord]>([])
    func append(_ record: RequestRecord) { value.withLock { $0.append(record) } }
    var all: [RequestRecord] { value.withLock { $0 } }
}

/// The protocol's promises over a dictionary.
final class MemoryIdempotencyStore: IdempotencyStore {
    private struct Entry {
        var body: [UInt8]
        var answer: [UInt8]?
    }

    private let entries = Mutex<[String: Entry]>([:])

    private func name(_ claim: IdempotencyClaim) -> String {
        "\(claim.principal.id?.description ?? "") \(claim.method) \(claim.path) \(claim.key)"
    }

    func begin(_ claim: IdempotencyClaim) -> IdempotencyClaim.State {
        entries.withLock { entries in
            guard let entry = entries[name(claim)] else {
                entries[name(claim)] = Entry(body: claim.body)
                return .fresh
            }
            if entry.body != claim.body { return .mismatch }
            return entry.answer.map { .replay($0) } ?? .inProgress
        }
    }

    func complete(
        _ claim: IdempotencyClaim, answer: [UInt8], sealed: Bool, with change: HeldChange
    ) {
        entries.withLock { $0[name(claim)]?.answer = answer }
    }

    func abandon(_ claim: IdempotencyClaim) {
        entries.withLock { $0[name(claim)] = nil }
    }
}
