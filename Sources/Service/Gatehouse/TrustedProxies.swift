import HTTP
import Text

/// The trusted proxies in front of the service. Forwarding headers count only if one of them sent
/// the request.
struct TrustedProxies: Sendable {
    private let ranges: [IPRange]
    private let isSecure: Bool
    private let unreadable: @Sendable (String) -> Void
    /// Stands for the address of a caller whose forwarded address cannot be parsed. No address rule
    /// matches it.
    private static let unreadable = "unknown"

    /// `blocks` are the proxies' addresses and CIDR blocks. If `isSecure` is true, clients reach
    /// this server only by https, so cookies and links use https even if the proxy that ends TLS is
    /// not listed. `unreadable` is called with each forwarded address that cannot be parsed.
    init(
        _ blocks: [String], isSecure: Bool = false,
        unreadable: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.unreadable = unreadable
        ranges = blocks.compactMap { IPRange($0) }
        self.isSecure = isSecure
    }

    /// The request as the outermost trusted proxy received it. Its address is the last forwarded
    /// address that does not belong to a trusted proxy. The last `X-Forwarded-Proto` value decides
    /// whether it counts as sent over TLS.
    func unwrapped(_ request: Request) -> Request {
        var request = request
        guard isTrusted(request.remoteAddress) else { return secured(request) }
        let stated = request.all("x-forwarded-for").flatMap { Self.entries($0.utf8) }
        if let address = caller(stated) { request.remoteAddress = address }
        // Our own proxy wrote the last value; a client may have sent the values before it.
        if let scheme = request.all("x-forwarded-proto").flatMap({ Self.entries($0.utf8) }).last {
            request.isTLS = sameBytesIgnoringASCIICase(scheme, "https")
        }
        return secured(request)
    }

    private func secured(_ request: Request) -> Request {
        var request = request
        request.isTLS = request.isTLS || isSecure
        return request
    }

    /// The unwrapped request for the fast path; `nil` if its header fields need the full check.
    func unwrapped(_ request: FastRequest) -> FastRequest? {
        guard isTrusted(request.remoteAddress) else { return secured(request) }
        let head = request.head
        guard head.count("x-forwarded-for") < 2, head.count("x-forwarded-proto") < 2 else {
            return nil
        }
        var request = request
        let stated = head.first("x-forwarded-for").map { Self.entries($0) } ?? []
        if let address = caller(stated) {
            guard !sameBytes(address, Self.unreadable) else { return nil }
            request.remoteAddress = address
        }
        if let scheme = head.first("x-forwarded-proto") {
            guard !scheme.contains(UInt8(ascii: ",")) else { return nil }
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

    /// The caller's address from the forwarding headers. Each proxy appends the address that called
    /// it, so the last entries come from our proxies. An entry that cannot be parsed becomes
    /// `unreadable`: if the proxy's own address were used, a rule for the proxy would admit
    /// everyone behind it.
    private func caller(_ stated: [String]) -> String? {
        var caller: String?
        for entry in stated.reversed() {
            guard let address = Self.address(entry) else {
                unreadable(entry)
                return Self.unreadable
            }
            caller = address
            guard isTrusted(address) else { break }
        }
        return caller
    }

    /// The address in a forwarded entry. Some gateways write it in brackets and with a port.
    private static func address(_ entry: String) -> String? {
        if IPAddress(entry) != nil { return entry }
        var bytes = Array(entry.utf8)[...]
        let colon = UInt8(ascii: ":")
        if bytes.first == UInt8(ascii: "[") {
            guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let rest = bytes[(close + 1)...]
            guard rest.isEmpty || rest.first == colon && isPort(rest.dropFirst()) else {
                return nil
            }
            bytes = bytes[..<close].dropFirst()
            guard bytes.contains(colon) else { return nil }
        } else {
            guard let mark = bytes.firstIndex(of: colon), isPort(bytes[(mark + 1)...]) else {
                return nil
            }
            bytes = bytes[..<mark]
        }
        return IPAddress(String(decoding: bytes, as: UTF8.self))?.description
    }

    private static func isPort(_ bytes: ArraySlice<UInt8>) -> Bool {
        ASCII.number(bytes, digits: 5).map { $0 <= 65_535 } ?? false
    }

    private static func entries(_ line: some Collection<UInt8>) -> [String] {
        line.split(separator: UInt8(ascii: ",")).map { part in
            String(decoding: part.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
        }.filter { !$0.isEmpty }
    }

    private func isTrusted(_ text: String) -> Bool {
        guard !ranges.isEmpty, let address = IPAddress(text) else { return false }
        return ranges.contains { $0.contains(address) }
    }
}
