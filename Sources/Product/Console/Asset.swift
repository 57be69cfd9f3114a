import HTTP

/// One file in memory, compressed once if that makes it smaller.
struct Asset: Sendable {
    let type: String
    let bytes: [UInt8]
    let compressed: [UInt8]?
    private let etag: String
    private let compressedETag: String

    init(_ bytes: [UInt8], type: String) {
        self.type = type
        self.bytes = bytes
        compressed = Gzip.compress(bytes).flatMap { $0.count < bytes.count ? $0 : nil }
        var digest = ContentHash()
        digest.add(bytes)
        // A strong ETag names one sequence of bytes (RFC 9110 §8.8.3), so each coding has its own.
        etag = "\"\(digest.hexadecimal)\""
        compressedETag = "\"\(digest.hexadecimal)-gz\""
    }

    func response(for request: Request, cacheControl: String) -> Response {
        let zipped = AcceptEncoding.acceptsGzip(request.all("accept-encoding"))
        let body = zipped ? compressed : nil
        let tag = body == nil ? etag : compressedETag
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
        if body != nil { response.set("content-encoding", "gzip") }
        response.body = .bytes(body ?? bytes)
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
