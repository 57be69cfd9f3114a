import Domain
import JSON
import Storage
import Text

/// A list's filters, wherever they stand: in the query of the list, or in `filter` of an action on
/// all that the list shows.
struct ListFilter: Sendable {
    var input: Input
    /// Before a member's name in a fault: `?`, or `/filter/`.
    var pointer: String

    /// The shape of `filter`: the list's own parameters.
    static func shape(_ parameters: [QueryParameter]) -> ObjectShape {
        ObjectShape(
            parameters.filter { !$0.isFamily }.map {
                FieldShape.optional($0.name, $0.kind, $0.summary)
            }, open: parameters.contains(where: \.isFamily))
    }

    /// Refuses members that no parameter covers, as a query's.
    func check(_ parameters: [QueryParameter]) throws {
        let errors = input.members.compactMap { member -> FieldError? in
            guard let parameter = parameters.first(where: { $0.covers(member.name) }) else {
                return FieldError(pointer + member.name, .unknown, "is not a known member")
            }
            guard parameter.isFamily else { return nil }
            var decoder = Decoder(allowsReadOnly: false)
            decoder.check(
                member.value, FieldShape(parameter.name, parameter.kind),
                at: pointer + member.name)
            return decoder.errors.first
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    /// The ids of all rows that a list has; 422 if they are more than a job may have.
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
                        "/filter", .tooLong, "leaves more than \(JobLimits.rows) rows; narrow it")
                ])
            }
            guard let next = rows.next else { return found }
            list.after = next
        }
    }

    private static let page = 200
}

extension Call {
    /// The filters of the list itself.
    var listFilter: ListFilter { ListFilter(input: query, pointer: "?") }
}
