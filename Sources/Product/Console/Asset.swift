import HTTP
import Synchronization

/// One file in memory, compressed once by each coding that makes it smaller.
struct Asset: Sendable {
    let type: String
    let bytes: [UInt8]
    private let compressed: CompressedBytes
    private let digest: String

    init(_ bytes: [UInt8], type: String) {
        self.type = type
        self.bytes = bytes
        compressed = CompressedBytes(of: bytes)
        var hash = ContentHash()
        hash.add(bytes)
        digest = hash.hexadecimal
    }

    /// A strong ETag names one sequence of bytes (RFC 9110 §8.8.3), so each coding has its own.
    private func etag(_ coding: ContentCoding?) -> String {
        "\"" + digest + (coding.map { "-" + $0.rawValue } ?? "") + "\""
    }

    func response(
        for request: Request, cacheControl: String, status: Int = 200
    ) -> Response {
        let accepted = request.all("accept-encoding")
        var codings = ContentCoding.allCases
        var (coding, short): (ContentCoding?, [UInt8]?) = (nil, nil)
        while let best = AcceptEncoding.best(of: codings, accepted) {
            short = compressed.bytes(by: best)
            if short != nil {
                coding = best
                break
            }
            codings.removeAll { $0 == best }
        }
        let tag = etag(coding)
        var response = Response(status)
        response.fields = [
            Field("etag", tag),
            Field("cache-control", cacheControl),
            Field("vary", "Accept-Encoding"),
        ]
        let wanted = status == 200 ? request.all("if-match") : []
        if !wanted.isEmpty, !wanted.contains(where: { Self.names($0, tag) }) {
            response.status = 412
            return SecurityHeaders.added(to: response)
        }
        if status == 200, isKnown(tag, request.all("if-none-match")) {
            response.status = 304
            return SecurityHeaders.added(to: response)
        }
        response.set("content-type", type)
        if let coding { response.set("content-encoding", coding.rawValue) }
        response.body = .bytes(short ?? bytes)
        return SecurityHeaders.added(to: response)
    }

    /// Compresses by every coding, ahead of the first request.
    func compress() {
        for coding in ContentCoding.allCases { _ = compressed.bytes(by: coding) }
    }

    /// `If-Match`, by strong comparison (RFC 9110 §13.1.1).
    private static func names(_ value: String, _ tag: String) -> Bool {
        value.utf8.split(separator: UInt8(ascii: ",")).contains { item in
            let item = AssetBytes.trim(Array(item))
            return item == [UInt8(ascii: "*")] || item.elementsEqual(tag.utf8)
        }
    }

    /// `If-None-Match`, by weak comparison (RFC 9110 §13.1.2).
    private func isKnown(_ tag: String, _ values: [String]) -> Bool {
        for value in values {
            for item in value.utf8.split(separator: UInt8(ascii: ",")) {
                var item = AssetBytes.trim(Array(item))
                if item == [UInt8(ascii: "*")] { return true }
                if item.starts(with: "W/".utf8) { item.removeFirst(2) }
                if item.elementsEqual(tag.utf8) { return true }
            }
        }
        return false
    }
}

/// A file in its codings, each made when it is first asked for: all files together take longer than the rest of a
/// start.
private final class CompressedBytes: Sendable {
    private let plain: [UInt8]
    /// nil: the coding makes it no smaller.
    private let known = Mutex<[ContentCoding: [UInt8]?]>([:])

    init(of plain: [UInt8]) { self.plain = plain }

    func bytes(by coding: ContentCoding) -> [UInt8]? {
        known.withLock { known in
            if let found = known[coding] { return found }
            let short = coding.compress(plain).flatMap { $0.count < plain.count ? $0 : nil }
            known.updateValue(short, forKey: coding)
            return short
        }
    }
}
