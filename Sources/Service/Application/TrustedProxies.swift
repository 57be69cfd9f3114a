import Domain
import HTTP
import Text

/// Proxies in front of the service: what they say of who called counts, what anybody else says of it
/// does not.
struct TrustedProxies: Sendable {
    private let ranges: [IPRange]

    /// `blocks`: addresses and blocks.
    init(_ blocks: [String]) {
        ranges = blocks.compactMap { IPRange($0) }
    }

    /// The request as the first proxy got it: with the address that no trusted proxy has, and over
    /// TLS where that proxy says so.
    func unwrapped(_ request: Request) -> Request {
        guard !ranges.isEmpty, isTrusted(request.remoteAddress) else { return request }
        var request = request
        // Each appends the address that it was called from: the last ones were written by ours.
        let told = request.all("x-forwarded-for").flatMap { line in
            line.utf8.split(separator: UInt8(ascii: ",")).map { part in
                String(decoding: part.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
            }
        }
        for address in told.reversed() {
            guard IPAddress(address) != nil else { break }
            request.remoteAddress = address
            guard isTrusted(address) else { break }
        }
        if let scheme = request.first("x-forwarded-proto") {
            request.isTLS = sameBytesIgnoringASCIICase(scheme, "https")
        }
        return request
    }

    private func isTrusted(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return ranges.contains { $0.contains(address) }
    }
}
