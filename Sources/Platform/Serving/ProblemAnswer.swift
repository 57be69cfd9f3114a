import HTTP

extension Response {
    /// The server's own response to a request that exceeded its time limit.
    static func late(mayHaveWritten: Bool, id: String) -> Response {
        let detail =
            mayHaveWritten
            ? "It is not known whether the change was written; look before trying again."
            : "The service cannot answer now; try again."
        let code = mayHaveWritten ? "commit_unknown" : "unavailable"
        var response = problem(503, code, detail, id: id)
        response.set("retry-after", "1")
        return response
    }

    /// The server's own response to a request that it could not parse (RFC 9457). Title and detail
    /// are our own text, so nothing needs escaping.
    static func refusal(_ error: HTTPError, id: String) -> Response {
        let code = error.status == 413 ? "payload_too_large" : "invalid_request"
        var response = problem(error.status, code, error.detail, id: id)
        if error.status == 501 {
            response.set("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        }
        return response
    }

    private static func problem(
        _ status: Int, _ code: String, _ detail: String, id: String
    ) -> Response {
        let text =
            "{\"type\":\"urn:gatehouse:problem:\(code)\",\"title\":\"\(reasonPhrase(status))\","
            + "\"status\":\(status),\"detail\":\"\(detail)\",\"code\":\"\(code)\","
            + "\"request_id\":\"\(id)\",\"error\":\"\(detail)\"}"
        var response = Response(status, type: "application/problem+json", Array(text.utf8))
        response.set("x-request-id", id)
        response.set("cache-control", "no-store")
        return response
    }
}
