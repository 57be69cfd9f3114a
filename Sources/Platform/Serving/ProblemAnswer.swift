import HTTP

extension Response {
    /// The server's own answer to a request that it could not read (RFC 9457). Title and detail
    /// are our own text, so nothing in them needs escaping.
    static func refusal(_ error: HTTPError, id: String) -> Response {
        let code = error.status == 413 ? "payload_too_large" : "invalid_request"
        let text =
            "{\"type\":\"urn:gatehouse:problem:\(code)\",\"title\":\"\(reasonPhrase(error.status))\","
            + "\"status\":\(error.status),\"detail\":\"\(error.detail)\",\"code\":\"\(code)\","
            + "\"request_id\":\"\(id)\",\"error\":\"\(error.detail)\"}"
        var response = Response(error.status, type: "application/problem+json", Array(text.utf8))
        response.set("x-request-id", id)
        response.set("cache-control", "no-store")
        if error.status == 405 {
            response.set("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        }
        return response
    }
}
