import HTTP
import JSON
import Text

extension Response {
    /// JSON that is already bytes.
    package static func json(_ status: Int = 200, bytes: [UInt8], etag: String? = nil) -> Response {
        var response = Response(status, type: "application/json", bytes)
        if let etag { response.fields.append(Field("etag", etag)) }
        return response
    }

    /// 200 with an object.
    package static func ok(_ value: JSONValue, etag: String? = nil) -> Response {
        json(200, bytes: value.encoded(), etag: etag)
    }

    /// 200 with the view of an object.
    static func ok(_ view: some JSONView, etag: String? = nil) -> Response {
        json(200, bytes: written(view), etag: etag)
    }

    /// 201 with the view of an object.
    static func created(_ view: some JSONView, at location: String, etag: String?) -> Response {
        var response = json(201, bytes: written(view), etag: etag)
        response.fields.append(Field("location", location))
        return response
    }

    private static func written(_ view: some JSONView) -> [UInt8] {
        var json = JSONWriter()
        view.write(to: &json)
        return json.bytes
    }

    /// 201 with the object, `Location` and `ETag`.
    package static func created(
        _ value: JSONValue, at location: String, etag: String?
    ) -> Response {
        var response = json(201, bytes: value.encoded(), etag: etag)
        response.fields.append(Field("location", location))
        return response
    }

    /// 202 with the job that was begun.
    static func accepted(_ job: JSONValue, at location: String, etag: String) -> Response {
        var response = json(202, bytes: job.encoded(), etag: etag)
        response.fields.append(Field("location", location))
        return response
    }

    package static let noContent = Response(204)
}

/// A strong entity tag (RFC 9110 §8.8.3) of values that change with every write.
package enum ETag {
    package static func version(_ version: Int) -> String { "\"v\(version)\"" }

    /// Microseconds: finer than the time on the wire, which two writes may share.
    package static func updated(_ time: Timestamp) -> String {
        "\"t\(String(time.microseconds, radix: 36))\""
    }
}

extension Call {
    /// 412 if `If-Match` is present and names neither the object's tag nor `*` (RFC 9110 §13.1.1:
    /// strong comparison, so a weak tag never matches).
    package func requireMatch(_ etag: String) throws {
        let lines = request.all("if-match")
        guard !lines.isEmpty else { return }
        for tag in lines.flatMap({ $0.split(separator: ",") }).map(\.trimmingSpaces)
        where tag == "*" || sameBytes(String(tag), etag) {
            return
        }
        throw Problem(.preconditionFailed, "The object has changed since it was read.")
    }
}
