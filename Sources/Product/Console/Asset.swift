import HTTP

/// One file in memory, compressed once by each coding that makes it smaller.
struct Asset: Sendable {
    let type: String
    let bytes: [UInt8]
    private let compressed: [ContentCoding: [UInt8]]
    private let digest: String

    init(_ bytes: [UInt8], type: String) {
        self.type = type
        self.bytes = bytes
        var compressed: [ContentCoding: [UInt8]] = [:]
        for coding in ContentCoding.allCases {
            if let short = coding.compress(bytes), short.count < bytes.count {
                compressed[coding] = short
            }
        }
        self.compressed = compressed
        var hash = ContentHash()
        hash.add(bytes)
        digest = hash.hexadecimal
    }

    /// A strong ETag names one sequence of bytes (RFC 9110 §8.8.3), so each coding has its own.
    private func etag(_ coding: ContentCoding?) -> String {
        "\"" + digest + (coding.map { "-" + $0.rawValue } ?? "") + "\""
    }

    func response(for request: Request, cacheControl: String) -> Response {
        let coding = AcceptEncoding.best(
            of: ContentCoding.allCases.filter { compressed[$0] != nil },
            request.all("accept-encoding"))
        let tag = etag(coding)
        var response = Response(200)
        response.fields = [
            Field("etag", tag),
            Field("cache-control", cacheControl),
            Field("vary", "Accept-Encoding"),
        ]
        let wanted = request.all("if-match")
        if !wanted.isEmpty, !wanted.contains(where: { Self.names($0, tag) }) {
            response.status = 412
            return SecurityHeaders.added(to: response)
        }
        if isKnown(tag, request.all("if-none-match")) {
            response.status = 304
            return SecurityHeaders.added(to: response)
        }
        response.set("content-type", type)
        if let coding { response.set("content-encoding", coding.rawValue) }
        response.body = .bytes(coding.flatMap { compressed[$0] } ?? bytes)
        return SecurityHeaders.added(to: response)
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
