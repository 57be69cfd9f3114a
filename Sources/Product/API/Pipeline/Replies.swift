import HTTP
import JSON
import Runtime
import Text

extension Response {
    /// A JSON response whose body is already encoded.
    package static func json(_ status: Int = 200, bytes: [UInt8], etag: String? = nil) -> Response {
        var response = Response(status, type: "application/json", bytes)
        if let etag { response.fields.append(Field("etag", etag)) }
        return response
    }

    /// A 200 response with an object.
    package static func ok(_ value: JSONValue, etag: String? = nil) -> Response {
        json(200, bytes: value.encoded(), etag: etag)
    }

    /// A 200 response with the view of an object.
    static func ok(_ view: some JSONView, etag: String? = nil) -> Response {
        json(200, bytes: written(view), etag: etag)
    }

    /// A 201 response with the view of an object, `Location` and `ETag`.
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

    /// A 201 response with the object, `Location` and `ETag`.
    package static func created(
        _ value: JSONValue, at location: String, etag: String?
    ) -> Response {
        var response = json(201, bytes: value.encoded(), etag: etag)
        response.fields.append(Field("location", location))
        return response
    }

    /// A 202 response with the job that was created, `Location` and `ETag`.
    static func accepted(_ job: JSONValue, at location: String, etag: String) -> Response {
        var response = json(202, bytes: job.encoded(), etag: etag)
        response.fields.append(Field("location", location))
        return response
    }

    package static let noContent = Response(204)
}

/// Creates strong entity tags (RFC 9110 section 8.8.3) from values that change with every write.
package enum ETag {
    package static func version(_ version: Int) -> String { "\"v\(version)\"" }

    /// A tag from the time of the last write, in microseconds. Responses show that time with less
    /// precision, in which two writes may have the same time.
    package static func updated(_ time: Timestamp) -> String {
        "\"t\(String(time.microseconds, radix: 36))\""
    }
}

extension Call {
    /// Throws 412 if `If-Match` is present and contains neither the object's tag nor `*`. The
    /// comparison is strong, so a weak tag never matches (RFC 9110 section 13.1.1).
    package func requireMatch(_ etag: String) throws {
        let lines = request.all("if-match")
        guard !lines.isEmpty else { return }
        let tags = lines.flatMap { $0.split(separator: ",") }.map(\.trimmingSpaces)
        if tags.contains(where: { $0 == "*" || sameBytes(String($0), etag) }) { return }
        throw Problem(
            .preconditionFailed,
            "If-Match does not have the object's current ETag: the object has changed since it was "
                + "read, or the ETag is weak (`W/`) or lacks its quotation marks.")
    }
}

extension Response {
    /// A 304 response without a body if the caller's copy is current; otherwise the unchanged
    /// response. Only for GET and HEAD with an `ETag`, by weak comparison (RFC 9110 section
    /// 13.1.2).
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

extension Response {
    /// Adds the header fields that every response has. `isPrivate` is true if the response is only
    /// for its caller and must not be stored.
    package mutating func complete(id: String, isTLS: Bool, isPrivate: Bool) {
        set("x-request-id", id)
        CommonFields.forEach(isTLS: isTLS, isPrivate: isPrivate) {
            addIfAbsent($0.description, $1.description)
        }
        addVary(CommonFields.vary.description)
    }

    mutating func addIfAbsent(_ name: String, _ value: String) {
        if first(name) == nil { fields.append(Field(name, value)) }
    }

    /// Adds a name to `Vary`. The field then has this name and all earlier names in one line.
    mutating func addVary(_ name: String) {
        var names: [String] = []
        for line in fields where line.name == "vary" {
            names += line.value.split(separator: ",").map { String($0.trimmingSpaces) }
        }
        if !names.contains(where: { $0.lowercased() == name.lowercased() || $0 == "*" }) {
            names.append(name)
        }
        set("vary", names.joined(separator: ", "))
    }
}

extension Substring {
    var trimmingSpaces: Substring {
        var text = self
        while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
        while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return text
    }
}
