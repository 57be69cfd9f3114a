import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// The part of a list that a request asks for.
package struct PageRequest: Sendable, Equatable {
    /// The number of items of a page if the request has no `limit`.
    static let standardLimit = 50

    package var limit: Int
    /// The name of the field to sort by, without the sign.
    package var sort: String
    package var descending: Bool
    /// The position of the last item of the previous page, after which this page starts; `nil` for
    /// the first page.
    package var after: Cursor?
}

/// The number of items that match the filters, or a lower bound of it.
package struct Total: Sendable, Equatable {
    /// The number of items on all pages together.
    package var value: Int
    /// Whether `value` is the exact number. False if counting stopped at its limit.
    var exact: Bool

    /// If `exact` is false, `value` is a lower bound.
    package init(_ value: Int, exact: Bool = true) {
        self.value = value
        self.exact = exact
    }
}

extension Call {
    /// The requested page of a list that declares `QueryParameter.list(sorts:)`. Throws 422 for a
    /// cursor of another list, sort order or filter.
    package func page(defaultSort: String = "-created_at") throws -> PageRequest {
        let sort = query.optionalString("sort") ?? defaultSort
        var after = export?.after
        if let text = query.optionalString("cursor") {
            guard let cursor = Cursor(text, of: listIdentity) else {
                throw Problem.invalid([
                    FieldError(
                        "?cursor", .invalid,
                        "is not a cursor of this list with this sort and these filters")
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

    /// The response `{"items", "next_cursor", "total"}` with `Link: rel="next"`. `next` is the sort
    /// key and the id of the last item if more items follow; else `nil`. The next page's cursor
    /// also contains the total.
    package func list(_ items: [JSONValue], next: Cursor?, total: Total) -> Response {
        list(items, next: next, total: total) { $1.value($0) }
    }

    /// The expected size of an item in bytes, to allocate the page. A user with one identity takes
    /// about 600.
    private static let expectedItem = 768

    /// The response with a page of a list, or the next part of an export. `write` writes each item
    /// as bytes, and `further` writes further members of the page.
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

/// A position in an ordered list: the sort key and the id of an item. It is opaque to clients. A
/// checksum binds it to its list, so that a cursor of another list is not used by mistake. The
/// checksum needs no secret, since a cursor grants nothing.
package struct Cursor: Sendable, Equatable {
    package var key: String
    package var id: UUID
    /// The total that was counted for the first page, so that the other pages need not count.
    var total: Total?

    package init(key: String, id: UUID, total: Total? = nil) {
        self.key = key
        self.id = id
        self.total = total
    }

    /// The text that identifies a list: path, sort order and filters. It lacks the limit, which may
    /// differ from page to page.
    static func identity(of path: String, _ query: Input) -> String {
        let parts = query.members.filter {
            !sameBytes($0.name, "cursor") && !sameBytes($0.name, "limit")
        }
        .map { $0.name + "=" + String(decoding: $0.value.encoded(), as: UTF8.self) }
        return path + "?" + parts.sorted().joined(separator: "&")
    }

    func encoded(for list: String) -> String {
        var bytes: [UInt8] = []
        let counted = total.map { UInt64($0.value) << 1 | ($0.exact ? 1 : 0) }
        for word in [id.high, id.low, counted ?? .max] { append(word, to: &bytes) }
        bytes += Array(key.utf8)
        append(checksum(bytes, list), to: &bytes)
        return Base64URL.encode(bytes)
    }

    init?(_ text: String, of list: String) {
        guard let bytes = Base64URL.decode(text), bytes.count >= 32 else { return nil }
        let content = Array(bytes.dropLast(8))
        guard word(bytes.suffix(8)) == checksum(content, list),
            let key = String(validating: content.dropFirst(24), as: UTF8.self),
            // Refuse NUL, which a text in PostgreSQL cannot contain.
            !key.utf8.contains(0)
        else { return nil }
        self.key = key
        id = UUID(high: word(content[0..<8]), low: word(content[8..<16]))
        let counted = word(content[16..<24])
        total = counted == .max ? nil : Total(Int(clamping: counted >> 1), exact: counted & 1 == 1)
    }
}

private func append(_ word: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
    }
}

private func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

/// A checksum of the content and the list's identity (64-bit FNV-1a).
private func checksum(_ bytes: [UInt8], _ list: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes + Array(list.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
}

/// The filters of a list. They are from the list's query, or from the member `filter` of a bulk
/// action. The action applies to all items that the list returns with these filters.
struct ListFilter: Sendable {
    var input: Input
    /// The text before a member's name in an error: `?` or `/filter/`.
    var pointer: String

    /// The shape of `filter`. Its members are the list's own parameters.
    static func shape(_ parameters: [QueryParameter]) -> ObjectShape {
        ObjectShape(
            parameters.filter { !$0.isFamily }.map {
                FieldShape.optional($0.name, $0.kind, $0.summary)
            }, open: parameters.contains(where: \.isFamily))
    }

    /// Throws 422 for members that are not parameters of the list, as for a query.
    func check(_ parameters: [QueryParameter]) throws {
        let errors = input.members.compactMap { member -> FieldError? in
            guard let parameter = parameters.first(where: { $0.covers(member.name) }) else {
                return FieldError(pointer + member.name, .unknown, "is not a known member")
            }
            guard parameter.isFamily else { return nil }
            var decoder = Decoder(allowsReadOnly: false)
            decoder.check(member.value, parameter.field, at: pointer + member.name)
            return decoder.errors.first
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    /// The ids of all rows that a list returns. Throws 422 if there are more than a job may have.
    func ids<Row: ListedRow>(
        _ page: (ListQuery) async throws -> ListPage<Row>
    ) async throws -> [UUID] {
        var list = ListQuery(limit: Self.page, total: ListTotal(0, exact: false))
        var found: [UUID] = []
        while true {
            let rows = try await page(list)
            found += rows.rows.map(\.id)
            guard found.count <= JobLimits.rows else {
                throw Problem.invalid([
                    FieldError(
                        "/filter", .tooLong, "selects more than \(JobLimits.rows) rows; narrow it")
                ])
            }
            guard let next = rows.next else { return found }
            list.after = next
        }
    }

    private static let page = 200
}

extension Call {
    /// The filters in the query of this list request.
    var listFilter: ListFilter { ListFilter(input: query, pointer: "?") }
}
