import HTTP

extension Response {
    /// 304 without a body where the caller has this very object (RFC 9110 section 13.1.2, by weak
    /// comparison); else the answer as it is. Of GET and HEAD, and of what has an `ETag`.
    func unlessKnown(to request: Request) -> Response {
        guard status == 200, request.method == .get || request.method == .head,
            let etag = first("etag")
        else { return self }
        let known = request.all("if-none-match").flatMap { $0.split(separator: ",") }.map {
            $0.trimmingSpaces
        }
        let isKnown = known.contains { tag in
            tag.elementsEqual("*")
                || String(tag.hasPrefix("W/") ? tag.dropFirst(2) : tag).isSame(as: etag)
        }
        guard isKnown else { return self }
        return Response(304, fields: fields.filter { $0.name != "content-type" })
    }
}
