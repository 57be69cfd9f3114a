import HTTP
import JSON

/// The requested page of a list.
package struct PageRequest: Sendable, Equatable {
    /// Items of a page if the request has no `limit`.
    package static let standardLimit = 50

    package var limit: Int
    /// The field, without the sign.
    package var sort: String
    package var descending: Bool
    /// The last item of the previous page; the page starts after it.
    package var after: Cursor?
}

/// The number of items that pass the filters. `exact` false: a lower bound.
package struct Total: Sendable, Equatable {
    /// Items that pass the filters, all pages together.
    package var value: Int
    /// False: counting stopped at its limit.
    package var exact: Bool

    /// `exact` false: `value` is a lower bound.
    package init(_ value: Int, exact: Bool = true) {
        self.value = value
        self.exact = exact
    }
}

extension Call {
    /// The page of a list that declares `QueryParameter.list(sorts:)`; 422 for a cursor of another
    /// list, sort or filter.
    package func page(defaultSort: String = "-created_at") throws -> PageRequest {
        let sort = query.optionalString("sort") ?? defaultSort
        var after = export?.after
        if let text = query.optionalString("cursor") {
            guard let cursor = Cursor(text, of: listIdentity) else {
                throw Problem.invalid([
                    FieldError("?cursor", .invalid, "is not a cursor of this list")
                ])
            }
            after = cursor
        }
        let descending = sort.utf8.first == UInt8(ascii: "-")
        return PageRequest(
            limit: export != nil
                ? QueryParameter.limits.upperBound
                : query.optionalInt("limit") ?? PageRequest.standardLimit,
            sort: descending ? String(sort.dropFirst()) : sort, descending: descending,
            after: after)
    }

    /// `{"items", "next_cursor", "total"}` with `Link: rel="next"`. `next` is the last item's sort
    /// key and id if more follow, else nil; it carries the total on.
    package func list(_ items: [JSONValue], next: Cursor?, total: Total) -> Response {
        list(items, next: next, total: total) { $1.value($0) }
    }

    /// Bytes; a user with one identity takes some 600. A longer page is reallocated.
    private static let expectedItem = 768

    /// The same, each item written as bytes by `write`, and further members of the page by `further`.
    func list<Items: Collection>(
        _ items: Items, next: Cursor?, total: Total,
        write: (Items.Element, inout JSONWriter) -> Void,
        further: (inout JSONWriter) -> Void = { _ in }
    ) -> Response {
        if let export {
            export.give(items, next: next, write: write)
            return Response(200)
        }
        var next = next
        next?.total = total
        let cursor = next?.encoded(for: listIdentity)
        let document = JSONWriter.bytes(reserving: 256 + Self.expectedItem * items.count) { json in
            json.object { json in
                json.name("items")
                json.beginArray()
                for item in items { write(item, &json) }
                json.endArray()
                json.member("next_cursor", cursor)
                json.object("total") {
                    $0.member("value", total.value)
                    $0.member("exact", total.exact)
                }
                further(&json)
            }
        }
        var response = Response.json(bytes: document)
        response.fields.append(Field("vary", "Accept"))
        if let cursor {
            var pairs = request.query.split(separator: "&").filter { !$0.hasPrefix("cursor=") }
            pairs.append("cursor=\(cursor)")
            let query = pairs.joined(separator: "&")
            response.fields.append(Field("link", "<\(request.path)?\(query)>; rel=\"next\""))
        }
        return response
    }
}
