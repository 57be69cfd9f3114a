import HTTP

extension Response {
    private static let isLong = 4_096

    /// Compresses a long response with gzip if one of our own pages asked for it: a list of 50 rows
    /// shrinks to a tenth. Programs get lists uncompressed, since their time matters more than the
    /// bytes.
    ///
    /// The length reveals nothing to an attacker whose text is mirrored in it (BREACH): the
    /// browser's `Sec-Fetch-Site` proves that no other site asked, and no response to GET contains
    /// a secret.
    package func compressed(for request: Request) -> Response {
        guard case .bytes(let bytes) = body, bytes.count >= Self.isLong, request.method == .get,
            request.first("sec-fetch-site")?.utf8.elementsEqual("same-origin".utf8) ?? false,
            first("content-encoding") == nil, first("etag") == nil,
            AcceptEncoding.weight(of: .gzip, request.all("accept-encoding")) > 0,
            let compressed = Gzip.compress(bytes, level: .quick)
        else { return self }
        var answer = self
        answer.body = .bytes(compressed)
        answer.set("content-encoding", "gzip")
        answer.fields.append(Field("vary", "Accept-Encoding"))
        return answer
    }
}
