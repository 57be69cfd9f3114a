import HTTP

extension Response {
    private static let isLong = 4_096

    /// A long answer as gzip, where a page of our own asked for it: a list of 50 rows is a tenth of
    /// its size then. Programs get their lists as they are, whose time is worth more than the bytes.
    ///
    /// Its length tells nothing to an attacker who has a text mirrored in it (BREACH): the browser's
    /// own `Sec-Fetch-Site` says that no other site asked, and no answer to GET holds a secret.
    package func compressed(for request: Request) -> Response {
        guard case .bytes(let bytes) = body, bytes.count >= Self.isLong, request.method == .get,
            request.first("sec-fetch-site")?.utf8.elementsEqual("same-origin".utf8) ?? false,
            first("content-encoding") == nil, first("etag") == nil,
            AcceptEncoding.acceptsGzip(request.all("accept-encoding")),
            let compressed = Gzip.compress(bytes, level: .quick)
        else { return self }
        var answer = self
        answer.body = .bytes(compressed)
        answer.set("content-encoding", "gzip")
        answer.fields.append(Field("vary", "Accept-Encoding"))
        return answer
    }
}
