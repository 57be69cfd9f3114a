import Domain
import HTTP
import JSON
import Storage
import Text

/// Answers the plainest form of `POST /v1/api-keys/verify`, which a customer's product sends with
/// each request that it gets. It starts no task and does not use the dispatcher. It answers from
/// the cache, or as soon as the database has sent the row. All other requests take the ordinary
/// path.
///
/// A profile of the ordinary path showed 76 µs of processor time for one answer: tasks, copies of
/// the request, parsing its body, and lists of its fields.
package final class QuickVerification: Sendable {
    private static let operation = "verifyApiKey"
    private static let route = PlainVerification.path.description

    private let database: Database
    private let authenticator: Authenticator
    /// The server's own hosts, as they are sent; no client can be bound to one.
    private let ownHosts: [String]
    private let metrics: ServiceMetrics
    private let requests: RequestLog

    package init(_ application: Application) {
        database = application.database
        authenticator = application.authenticator
        ownHosts = PublicAddress(application.publicURL)?.authorities ?? []
        metrics = application.metrics
        requests = application.requests
    }

    package func answer(_ request: FastRequest, _ writer: ResponseWriter) -> FastAnswer {
        // Take the token before anything is read. Then any later change also invalidates what is
        // cached below.
        let token = database.cacheToken
        guard let asked = PlainVerification(request), isOwn(asked.host),
            let caller = database.cachedKey(asked.caller), let callerKey = caller.value,
            callerKey.rateLimit == nil, mayVerify(callerKey)
        else { return .declined }
        if let subject = database.cachedKey(asked.key) {
            guard let principal = admit(callerKey, request) else { return .declined }
            return answer(subject, for: caller, principal, request, writer)
        }
        // A look-up costs a query. So look up only keys of the caller's own tenant; for a caller of
        // the platform, look up any key.
        guard let secret = asked.secret,
            callerKey.tenant == .platform
                || database.isCached(locator: secret.locator, of: callerKey.tenant),
            let principal = admit(callerKey, request)
        else { return .declined }
        answerLater(asked.key, secret.locator, to: principal, request, since: token)
        return .later
    }

    private func isOwn(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
        ownHosts.contains { $0.utf8.elementsEqual(host) }
    }

    private func mayVerify(_ caller: PresentedKey) -> Bool {
        caller.scopes.contains { sameBytes($0, ManagementScope.keysVerify.rawValue) }
    }

    private func admit(_ caller: PresentedKey, _ request: FastRequest) -> CallerPrincipal? {
        try? authenticator.admit(caller, from: request.remoteAddress, origin: nil)
    }

    private func answer(
        _ subject: Database.CachedKey, for caller: Database.CachedKey,
        _ principal: CallerPrincipal, _ request: FastRequest, _ writer: ResponseWriter
    ) -> FastAnswer {
        let finding = KeyFinding(
            subject.value, KeyQuestion(), to: principal.subject, of: database, at: database.clock())
        let length = writer.out.count
        Self.begin(writer, isTLS: request.isTLS)
        request.writeRequestID(to: writer)
        Self.finish(writer, finding)
        // The process may have been stopped in the meantime, and its cache may be out of date, so
        // check again.
        guard database.isFresh(subject), database.isFresh(caller) else {
            writer.out.truncate(to: length)
            return .declined
        }
        metrics.record(finding.verdict)
        metrics.record(operation: Self.operation, status: 200)
        return .given
    }

    private func answerLater(
        _ hash: KeyHash, _ locator: String, to principal: CallerPrincipal,
        _ request: FastRequest, since token: Database.CacheToken
    ) {
        let started = database.clock()
        let isTLS = request.isTLS
        let address = request.remoteAddress
        let operation = request.later()
        let id = operation.requestID
        operation.whenLate.set { _ in
            var refusal = Problem.unavailable.response(requestID: id)
            refusal.complete(id: id, isTLS: isTLS, isPrivate: true)
            return refusal
        }
        database.lookUp(hash, locator: locator) { [self] answer in
            var status = 200
            var fault: String?
            switch answer {
            case .success(let key):
                if let key { database.store(key, hash, since: token) }
                let finding = KeyFinding(
                    key, KeyQuestion(), to: principal.subject, of: database, at: started)
                metrics.record(finding.verdict)
                operation.give { writer in
                    Self.begin(writer, isTLS: isTLS)
                    var id = operation.requestID
                    id.withUTF8 { writer.field("x-request-id", UnsafeRawBufferPointer($0)) }
                    Self.finish(writer, finding)
                }
            case .failure(let error):
                let known = Problem(error)
                fault = "\(error)"
                var refusal = (known ?? .internalError).response(requestID: operation.requestID)
                refusal.complete(id: operation.requestID, isTLS: isTLS, isPrivate: true)
                status = refusal.status
                operation.give { [refusal] in _ = $0.write(refusal) }
            }
            if operation.wasAnswered {
                fault = "answered 503 in time, then: \(fault ?? "\(status)")"
                status = 503
            }
            let ended = database.clock()
            requests.record(
                RequestRecord(
                    requestID: operation.requestID, method: .post,
                    route: Self.route, operation: Self.operation,
                    status: status, microseconds: ended.microseconds - started.microseconds,
                    principal: principal, tenant: principal.tenant, remoteAddress: address,
                    fault: fault))
        }
    }

    /// Writes the same status and header fields as the dispatcher.
    private static func begin(_ writer: ResponseWriter, isTLS: Bool) {
        writer.begin(200)
        writer.field("content-type", "application/json")
        CommonFields.forEach(isTLS: isTLS, isPrivate: true) { writer.field($0, $1) }
        writer.field("vary", CommonFields.vary)
    }

    private static func finish(_ writer: ResponseWriter, _ finding: KeyFinding) {
        var json = JSONWriter()
        finding.write(to: &json)
        json.withBytes { writer.finish($0) }
    }
}

/// A verification that depends only on two keys, the caller's and the one to verify. It asks about
/// no scopes, no address and no origin.
struct PlainVerification {
    static let path: StaticString = "/v1/api-keys/verify"
    private static let prefix = Array(#"{"key":"#.utf8)
    private static let bearer = Array("Bearer ".utf8)

    let caller: KeyHash
    let key: KeyHash
    let host: UnsafeBufferPointer<UInt8>
    private let text: UnsafeBufferPointer<UInt8>

    init?(_ request: FastRequest) {
        let head = request.head
        guard head.method == .post, head.pathIs(PlainVerification.path), head.query.isEmpty,
            Self.isPlain(head), let host = head.first("host"),
            let line = head.first("authorization"), line.starts(with: Self.bearer),
            let text = Self.key(in: request.body)
        else { return nil }
        self.host = host
        self.text = text
        let bearer = UnsafeBufferPointer(rebasing: line[Self.bearer.count...])
        caller = KeyHash(of: UnsafeRawBufferPointer(bearer))
        key = KeyHash(of: UnsafeRawBufferPointer(text))
    }

    /// The key to verify; `nil` if the text does not have the form of a key.
    var secret: APIKeySecret? { APIKeySecret(bytes: text) }

    private static func isPlain(_ head: RequestHead) -> Bool {
        let deciding =
            head.count("origin") + head.count("cookie") + head.count("idempotency-key")
            + head.count("content-encoding") + head.count("traceparent")
            + head.count("x-forwarded-host")
        guard deciding == 0, head.count("host") == 1, head.count("authorization") == 1,
            head.count("content-type") == 1
        else { return false }
        return head.first("content-type").map { $0.elementsEqual("application/json".utf8) } ?? false
    }

    /// Returns the text in `{"key":"…"}`, with at most one space after the colon; `nil` for any
    /// other body.
    private static func key(in body: UnsafeRawBufferPointer) -> UnsafeBufferPointer<UInt8>? {
        var rest = body.bindMemory(to: UInt8.self)[...]
        guard rest.starts(with: prefix) else { return nil }
        rest = rest.dropFirst(prefix.count)
        if rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
        guard rest.count == APIKeySecret.length + 3, rest.first == UInt8(ascii: "\""),
            rest.last == UInt8(ascii: "}"), rest.dropLast().last == UInt8(ascii: "\"")
        else { return nil }
        return UnsafeBufferPointer(rebasing: rest.dropFirst().dropLast(2))
    }
}
