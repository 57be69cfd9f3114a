import API
import HTTP
import Postgres
import Storage
import Text

/// Caches whole responses to the most frequent requests: our own small pages, and accepted
/// preflights. A response that depends on the database is cached only under the lease, the time for
/// which PostgreSQL has confirmed the cache. The lease is checked last, when the response is
/// complete. So a process that was stopped in the meantime does not send an old response. The
/// metrics count these requests like all others.
final class ResponseCache: Sendable {
    private struct Answer: Sendable {
        var status: Int
        /// The response's field lines, without the request id.
        var head: [UInt8]
        var body: [UInt8]
        var hasRequestID: Bool
        /// The operation under which the metrics count the request.
        var operation: String
        /// The time until which the response may be used, in microseconds of the clock, exclusive.
        var until: Int64 = .max
    }

    private static let largestBody = 32 << 10

    private let database: Database
    private let enforcer: CORSPolicyEnforcer
    private let metrics: ServiceMetrics
    /// The cached pages. The number of entries is limited, so that a client that varies its
    /// requests cannot fill the memory.
    private let pages: LeasedCache<ResponseCacheKey, Answer>
    private let preflights: LeasedCache<ResponseCacheKey, Answer>

    init(database: Database, enforcer: CORSPolicyEnforcer, metrics: ServiceMetrics) {
        self.metrics = metrics
        self.database = database
        self.enforcer = enforcer
        pages = LeasedCache(of: database.replica, capacity: 512)
        preflights = LeasedCache(of: database.replica, capacity: 20_000)
    }

    private func answers(_ kind: ResponseCacheKey.Kind) -> LeasedCache<ResponseCacheKey, Answer> {
        kind == .page ? pages : preflights
    }

    /// Writes the cached response to the request. Returns false if there is none.
    func answer(_ request: FastRequest, _ writer: ResponseWriter) -> Bool {
        guard
            let key = ResponseCacheKey(request.head, body: request.body, isTLS: request.isTLS)
        else { return false }
        guard let entry = answers(key.kind).found(key) else { return false }
        let now = database.clock()
        let length = writer.out.count
        Self.write(entry.value, to: request, writer)
        guard now.microseconds < entry.value.until,
            database.replica.isFresh(entry.token, entry.tags)
        else {
            writer.out.truncate(to: length)
            return false
        }
        metrics.record(operation: entry.value.operation, status: entry.value.status)
        return true
    }

    private static func write(_ answer: Answer, to request: FastRequest, _ writer: ResponseWriter) {
        writer.begin(answer.status)
        writer.out.append(answer.head)
        if answer.hasRequestID { request.writeRequestID(to: writer) }
        answer.body.withUnsafeBytes { writer.finish($0) }
    }

    var token: Freshness.Token { database.replica.token }

    /// Returns the response of the ordinary path and caches it if that is allowed. A page is cached
    /// only if all callers get the same one. Take `token` before anything is read for the response.
    func respond(
        to request: Request, since token: Freshness.Token,
        by ordinary: (Request) async -> (answer: Response, isForAll: Bool)
    ) async -> Response {
        let key = request.body.withUnsafeBytes {
            ResponseCacheKey(request, body: $0, isTLS: request.isTLS)
        }
        let (response, isForAll) = await ordinary(request)
        if let key, key.kind == .preflight || isForAll { store(response, to: request, key, token) }
        return response
    }

    private func store(
        _ response: Response, to request: Request, _ key: ResponseCacheKey,
        _ token: Freshness.Token
    ) {
        guard var answer = Self.rendered(response, operation: Self.operation(key, request)) else {
            return
        }
        switch key.kind {
        case .page:
            guard answer.status == 200 else { return }
            pages.keep(answer, for: key, token: token, tags: StorageCaches.hostTags)
        case .preflight:
            guard answer.status == 204, let until = enforcer.stands(until: request) else { return }
            answer.until = until
            preflights.keep(answer, for: key, token: token, tags: StorageCaches.originTags)
        }
    }

    private static func operation(_ key: ResponseCacheKey, _ request: Request) -> String {
        switch key.kind {
        case .page: request.path.utf8.elementsEqual("/livez".utf8) ? "/livez" : "/console"
        case .preflight: ServiceMetrics.preflight
        }
    }

    private static func rendered(_ response: Response, operation: String) -> Answer? {
        var body: [UInt8] = []
        switch response.body {
        case .empty: break
        case .bytes(let bytes): body = bytes
        case .stream: return nil
        }
        guard body.count <= largestBody else { return nil }
        let out = OutputBuffer(capacity: 1024)
        let writer = ResponseWriter(out: out)
        for field in response.fields where field.name != "x-request-id" {
            guard field.name != "set-cookie", !ResponseWriter.isOurs(field.name) else {
                if field.name == "set-cookie" { return nil }
                continue
            }
            writer.field(field.name, field.value)
        }
        return Answer(
            status: response.status, head: Array(out.bytes), body: body,
            hasRequestID: response.first("x-request-id") != nil, operation: operation)
    }
}

/// Everything on which a cached response depends, except the database and the time. Requests with
/// equal keys get the same response except for the request id.
struct ResponseCacheKey: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        /// One of our own pages or files.
        case page
        case preflight
    }

    private static let longest = 1024

    let kind: Kind
    private let bytes: [UInt8]

    /// Creates the key; `nil` if the response to the request must not come from the cache.
    init?(_ request: some AskedFields, body: UnsafeRawBufferPointer, isTLS: Bool) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        bytes.append(isTLS ? 1 : 0)
        // The host is part of the key, because it may select a client, whose contract has other
        // endpoints at the same path.
        guard request.count("traceparent") == 0, body.isEmpty,
            request.add(["host", "x-forwarded-host"], to: &bytes)
        else { return nil }
        switch request.method {
        case .get:
            kind = .page
            guard request.mayBePage, request.count("if-match") == 0 else { return nil }
            request.addPath(to: &bytes)
            guard request.add(["accept-encoding", "if-none-match"], to: &bytes) else { return nil }
        case .options:
            kind = .preflight
            let foreign = request.count("cookie") + request.count("authorization")
            guard foreign == 0, request.count("origin") == 1,
                request.count("access-control-request-method") == 1
            else { return nil }
            request.addPath(to: &bytes)
            guard
                request.add(
                    [
                        "origin", "access-control-request-method", "access-control-request-headers",
                        "access-control-request-private-network",
                    ], to: &bytes)
            else { return nil }
        default: return nil
        }
        guard bytes.count <= Self.longest else { return nil }
        self.bytes = bytes
    }

    /// Hashes all bytes at once, which is faster than the array's own way of hashing byte after
    /// byte.
    func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// The parts of a request that the key reads. The request is in the receive buffer, or is a copy.
protocol AskedFields {
    var method: Method { get }
    /// Whether the path may be one of our own pages.
    var mayBePage: Bool { get }
    func count(_ name: StaticString) -> Int
    /// Appends the path and the query, then a zero byte.
    func addPath(to bytes: inout [UInt8])
    /// Appends a mark and the value of a field that appears at most once. Appends nothing if the
    /// field is absent, so the mark distinguishes an empty field from an absent one.
    func addField(_ name: StaticString, to bytes: inout [UInt8])
}

extension AskedFields {
    /// Appends the fields with these names. Returns false if one of the names appears twice.
    func add(_ names: [StaticString], to bytes: inout [UInt8]) -> Bool {
        for name in names {
            guard count(name) <= 1 else { return false }
            addField(name, to: &bytes)
            bytes.append(0)
        }
        return true
    }

    static func isPage(_ path: some Collection<UInt8>) -> Bool {
        path.starts(with: "/livez".utf8) || path.starts(with: "/console".utf8)
            || path.elementsEqual("/favicon.svg".utf8) || path.elementsEqual("/invite".utf8)
            || path.elementsEqual("/join".utf8)
    }
}

extension RequestHead: AskedFields {
    var mayBePage: Bool { Self.isPage(path) }

    func addPath(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: path)
        bytes.append(0x3F)
        bytes.append(contentsOf: query)
        bytes.append(0)
    }

    func addField(_ name: StaticString, to bytes: inout [UInt8]) {
        guard let value = first(name) else { return }
        bytes.append(1)
        bytes.append(contentsOf: value)
    }
}

extension Request: AskedFields {
    var mayBePage: Bool { Self.isPage(path.utf8) }

    func count(_ name: StaticString) -> Int { all(name.description).count }

    func addPath(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: path.utf8)
        bytes.append(0x3F)
        bytes.append(contentsOf: query.utf8)
        bytes.append(0)
    }

    func addField(_ name: StaticString, to bytes: inout [UInt8]) {
        guard let value = self.first(name.description) else { return }
        bytes.append(1)
        bytes.append(contentsOf: value.utf8)
    }
}
