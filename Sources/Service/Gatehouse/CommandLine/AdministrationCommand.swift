import API
import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Runtime
import Storage
import Text

/// Commands for administration that need no running server, such as creating an operator or an API
/// key. They use the database's credentials, apply the service's own rules and write the same
/// audit rows.
struct AdministrationCommand {
    struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    var settings: Settings

    func setup(_ call: Invocation) throws -> Int32 {
        let email = call.values["email"]
        let base = settings.publicURL ?? "http://\(settings.listen.text)"
        let link = try run { composition in
            let database = composition.application.database
            let token = TokenSecret.make()
            let hash = TokenSecret.hash(token) ?? []
            guard try await !database.hasOperator() else {
                throw Refused(
                    description:
                        "there is an operator already; sign in instead. If the link is lost, "
                        + "`gatehouse operator reset --email ADDRESS` makes another")
            }
            guard let email else {
                guard let token = try await database.renewSetup() else {
                    throw Refused(
                        description:
                            "the set-up was completed before; `gatehouse setup --email ADDRESS` "
                            + "creates an owner")
                }
                return "\(base)/console/setup#token=\(token)"
            }
            let address = try Self.address(email)
            let owner = try await database.createOperator(
                email: address.original, emailKey: address.key, name: nil, role: .owner,
                tenant: nil, passwordHash: nil, by: .system)
            try await database.storeOperatorLink(hash, for: owner.id, seconds: 3600)
            return "\(base)/console/sign-in#token=\(token)"
        }
        return show(.object([.init("url", .string(link))]), call, line: link)
    }

    /// Shows a link with which an operator can set a new password. The command is for a server that
    /// sends no mail.
    func resetOperator(_ call: Invocation) throws -> Int32 {
        let base = settings.publicURL ?? "http://\(settings.listen.text)"
        let address = try Self.address(call.values["email"] ?? "")
        let link = try run { composition in
            let token = TokenSecret.make()
            let person = try await composition.application.database.offerOperatorReset(
                to: address.key, tokenHash: TokenSecret.hash(token) ?? [],
                by: Self.actor)
            guard person != nil else {
                throw Refused(
                    description: "no operator has this address, or the one who has is suspended")
            }
            return "\(base)/reset#token=\(token)"
        }
        return show(.object([.init("url", .string(link))]), call, line: link)
    }

    private static func address(_ text: String) throws -> EmailAddress {
        do { return try EmailAddress(text) } catch {
            throw Refused(description: "--email \(error.mend)")
        }
    }

    /// Shows the document where JSON is wanted, otherwise the line.
    private func show(_ document: JSONValue, _ call: Invocation, line: String?) -> Int32 {
        if call.isJSON {
            Command.show(document)
        } else {
            say("\(line ?? "")\n")
        }
        return 0
    }

    func issueKey(_ call: Invocation) throws -> Int32 {
        let values = call.values
        var members: [JSONValue.Member] = [
            .init("name", .string(values["name"] ?? "")),
            .init(
                "scopes",
                .array((values["scopes"] ?? "").split(separator: ",").map { .string(String($0)) })),
        ]
        if let name = values["environment"] { members.append(.init("environment", .string(name))) }
        if let time = values["expires-at"] { members.append(.init("expires_at", .string(time))) }
        let document = try ask(.post, Self.keys(call), .object(members))
        return show(document, call, line: document["key"]?.string)
    }

    /// Shows every key, a line each or as a list in JSON.
    func listKeys(_ call: Invocation) throws -> Int32 {
        var keys: [JSONValue] = []
        var cursor: String?
        repeat {
            let page = try ask(
                .get, Self.keys(call), query: "limit=200" + (cursor.map { "&cursor=\($0)" } ?? ""))
            keys += page["items"]?.array ?? []
            cursor = page["next_cursor"]?.string
        } while cursor != nil
        guard !call.isJSON else {
            Command.show(.array(keys))
            return 0
        }
        for key in keys {
            let columns = ["id", "status", "prefix", "name"].map { key[$0]?.string ?? "" }
            say(columns.joined(separator: "  ") + "\n")
        }
        return 0
    }

    func revokeKey(_ call: Invocation) throws -> Int32 {
        let key = try ask(
            .post, "\(Self.keys(call))/\(Self.segment(call.values["id"]))/revoke", .object([]))
        return show(key, call, line: "\(key["name"]?.string ?? "") is revoked.")
    }

    /// Creates an operator and shows the link for the first sign-in.
    func createOperator(_ call: Invocation) throws -> Int32 {
        let values = call.values
        var members: [JSONValue.Member] = [
            .init("email", .string(values["email"] ?? "")),
            .init("role", .string(values["role"] ?? "")),
            .init(
                "scope",
                .object([
                    values["tenant"].map { .init("tenant", .string($0)) }
                        ?? .init("platform", .bool(true))
                ])),
            .init("delivery", .string("link")),
        ]
        if let name = values["name"] { members.append(.init("name", .string(name))) }
        let made = try ask(.post, "/v1/operators", .object(members))
        return show(made, call, line: made["sign_in_url"]?.string)
    }

    /// Sends one mail at once, past the queue, to show that the mail server takes it.
    func testMail(_ call: Invocation) throws -> Int32 {
        let address = try Self.address(call.values["to"] ?? "")
        guard let mail = try ExternalServices(settings).mail else {
            throw Command.Missing(name: "GATEHOUSE_SMTP_URL")
        }
        let base = settings.publicURL ?? "http://\(settings.listen.text)"
        let loop = EventLoop(index: -1)
        loop.start()
        defer { loop.stop() }
        let refusal = try waitFor(on: loop) { await mail.test(of: base, to: address) }
        if let refusal {
            throw Refused(description: "the mail server did not take the mail: \(refusal)")
        }
        say("The mail server took the mail to \(address.original).\n")
        return 0
    }

    /// The path of the keys of the tenant that the options name, or of the platform's.
    private static func keys(_ call: Invocation) -> String {
        call.values["tenant"].map { "/v1/tenants/\(segment($0))/api-keys" } ?? "/v1/api-keys"
    }

    private static func segment(_ text: String?) -> String {
        PercentEncoding.encode((text ?? "").utf8)
    }

    /// Sends one request to the service's own API. Returns the body of its answer; throws the texts
    /// of a problem.
    private func ask(
        _ method: Method, _ path: String, query: String = "", _ body: JSONValue? = nil
    ) throws -> JSONValue {
        let answer = try run { composition in
            await composition.dispatcher.respond(
                to: Request(
                    method, path, query: query,
                    fields: [Field("content-type", "application/json")],
                    body: body?.encoded() ?? []))
        }
        guard case .bytes(let bytes) = answer.body, let document = try? JSONValue(parsing: bytes)
        else { throw Refused(description: "there is no answer") }
        guard answer.status < 300 else {
            let faults = (document["errors"]?.array ?? []).map {
                "\n  \($0["pointer"]?.string ?? "") \($0["detail"]?.string ?? "")"
            }
            throw Refused(description: (document["detail"]?.string ?? "refused") + faults.joined())
        }
        return document
    }

    private func run<Value: Sendable>(
        _ work: @escaping @Sendable (Composition) async throws -> Value
    ) throws -> Value {
        try OfflineService(settings: settings, principal: Self.principal).run(work)
    }

    static let principal = CallerPrincipal(
        .operator(id: .platform, role: .owner, tenant: nil), name: "the command line")

    private static let actor = Actor(
        type: principal.kind.rawValue, id: principal.id?.description ?? "", name: principal.name,
        requestID: "", ip: nil)
}

/// Runs one command with the service's own code, but without its sockets. It uses the database's
/// credentials.
struct OfflineService {
    struct Unready: Error, CustomStringConvertible {
        var description: String
    }

    var settings: Settings
    /// The service treats every request of the command as a request of this caller.
    var principal: CallerPrincipal
    /// The time limit of a database statement in milliseconds; 0 for no limit.
    var statementTimeout = 2500
    /// Whether the secret key must match the database. False only for `gatehouse secrets forget`,
    /// which is used when the keys do not match.
    var needsSecrets = true

    /// Runs `work` on the service. If the service cannot be used, throws an error with a text for
    /// the person at the command line.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (Composition) async throws -> Value
    ) throws -> Value {
        guard let url = settings.databaseURL else {
            throw Command.Missing(name: "GATEHOUSE_DATABASE_URL")
        }
        let secrets = try settings.secrets()
        let platform = settings.platformDatabaseURL?.text ?? ServeCommand.switchingRole(url.text)
        for (name, conninfo) in [("database", url.text), ("platform role", platform)] {
            if let fault = Conninfo.fault(conninfo) {
                throw Unready(description: "the \(name) cannot be reached: \(fault)")
            }
        }
        let migrations = try Installation.find("Migrations")
        let publicURL = settings.publicURL ?? "http://\(settings.listen.text)"
        let loop = EventLoop(index: -1)
        loop.start()
        defer { loop.stop() }
        return try waitFor(on: loop) {
            let app = client(url.text, on: loop)
            let reader = client(platform, on: loop)
            let result: Result<Value, any Error>
            do {
                let schema = try await SchemaState(app, migrations: migrations)
                if let fault = schema.fault { throw Unready(description: fault) }
                let composition = try Composition(
                    app: app, platform: reader, secrets: secrets, publicURL: publicURL,
                    principal: principal, clock: Timestamp.systemClock)
                if needsSecrets {
                    try await composition.application.database.admitSecrets(replica: nil)
                }
                result = .success(try await work(composition))
            } catch { result = .failure(error) }
            await app.close()
            await reader.close()
            return try result.get()
        }
    }

    private func client(_ conninfo: String, on loop: EventLoop) -> Postgres {
        var configuration = PostgresConfiguration(conninfo: conninfo)
        configuration.statementTimeout = statementTimeout
        return Postgres(configuration: configuration, loops: [loop])
    }
}
