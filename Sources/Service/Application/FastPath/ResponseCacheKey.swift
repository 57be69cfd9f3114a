import HTTP

/// Everything that a cached response depends on besides rows and time; requests with equal keys get
/// the same response except for the request id.
struct ResponseCacheKey: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        /// One of our own pages or files.
        case page
        case preflight
    }

    private static let longest = 1024

    let kind: Kind
    private let bytes: [UInt8]

    /// nil if the request must take the ordinary path.
    init?(_ request: some AskedFields, body: UnsafeRawBufferPointer, isTLS: Bool) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        bytes.append(isTLS ? 1 : 0)
        // The host selects the client, so the same path may be another endpoint.
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

    /// Faster than the array's own, which calls the hasher for each byte.
    func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// What the key reads of a request, in the receive buffer or copied.
protocol AskedFields {
    var method: Method { get }
    /// Whether the path may be one of our own pages.
    var mayBePage: Bool { get }
    func count(_ name: StaticString) -> Int
    /// Appends path and query, then a NUL.
    func addPath(to bytes: inout [UInt8])
    /// Appends the value of a field that appears at most once, then a NUL; if the field is absent,
    /// the NUL alone, and a mark if it is present and empty.
    func addField(_ name: StaticString, to bytes: inout [UInt8])
}

extension AskedFields {
    /// False if a field appears twice.
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
