import HTTP
import Serving
import Text

/// Trusted proxies in front of the service: only their forwarding headers count.
struct TrustedProxies: Sendable {
    private let ranges: [IPRange]
    private let isSecure: Bool

    /// `blocks`: addresses and CIDR blocks. `isSecure`: clients reach this server by https only,
    /// even if the proxy that ends TLS is not listed, so cookies and links use https.
    init(_ blocks: [String], isSecure: Bool = false) {
        ranges = blocks.compactMap { IPRange($0) }
        self.isSecure = isSecure
    }

    /// The request as the first proxy received it: with the last address that is not a trusted
    /// proxy's, and over TLS if that proxy says so.
    func unwrapped(_ request: Request) -> Request {
        var request = request
        guard isTrusted(request.remoteAddress) else { return secured(request) }
        let told = request.all("x-forwarded-for").flatMap { Self.addresses($0.utf8) }
        if let address = caller(told) { request.remoteAddress = address }
        if let scheme = request.first("x-forwarded-proto") {
            request.isTLS = sameBytesIgnoringASCIICase(scheme, "https")
        }
        return secured(request)
    }

    private func secured(_ request: Request) -> Request {
        var request = request
        request.isTLS = request.isTLS || isSecure
        return request
    }

    /// The same for a fast path; nil if the fields need the full check.
    func unwrapped(_ request: FastRequest) -> FastRequest? {
        guard isTrusted(request.remoteAddress) else { return secured(request) }
        let head = request.head
        guard head.count("x-forwarded-for") < 2, head.count("x-forwarded-proto") < 2 else {
            return nil
        }
        var request = request
        let told = head.first("x-forwarded-for").map { Self.addresses($0) } ?? []
        if let address = caller(told) { request.remoteAddress = address }
        if let scheme = head.first("x-forwarded-proto") {
            request.isTLS = sameBytesIgnoringASCIICase(
                String(decoding: scheme, as: UTF8.self), "https")
        }
        return secured(request)
    }

    private func secured(_ request: FastRequest) -> FastRequest {
        var request = request
        request.isTLS = request.isTLS || isSecure
        return request
    }

    /// Each proxy appends the address that called it, so the last entries are our proxies'.
    private func caller(_ told: [String]) -> String? {
        var caller: String?
        for address in told.reversed() {
            guard IPAddress(address) != nil else { break }
            caller = address
            guard isTrusted(address) else { break }
        }
        return caller
    }

    private static func addresses(_ line: some Collection<UInt8>) -> [String] {
        line.split(separator: UInt8(ascii: ",")).map { part in
            String(decoding: part.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
        }
    }

    private func isTrusted(_ text: String) -> Bool {
        guard !ranges.isEmpty, let address = IPAddress(text) else { return false }
        return ranges.contains { $0.contains(address) }
    }
}
