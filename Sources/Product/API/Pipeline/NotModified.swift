import HTTP
import Text

extension Response {
    /// 304 without a body if the caller's copy is current (RFC 9110 section 13.1.2, by weak
    /// comparison); else the response unchanged. Only for GET and HEAD with an `ETag`.
    func unlessKnown(to request: Request) -> Response {
        guard status == 200, request.method == .get || request.method == .head,
            let etag = first("etag")
        else { return self }
        let known = request.all("if-none-match").flatMap { $0.split(separator: ",") }.map {
            $0.trimmingSpaces
        }
        let isKnown = known.contains { tag in
            tag.elementsEqual("*")
                || sameBytes(String(tag.hasPrefix("W/") ? tag.dropFirst(2) : tag), etag)
        }
        guard isKnown else { return self }
        return Response(304, fields: fields.filter { $0.name != "content-type" })
    }
}
