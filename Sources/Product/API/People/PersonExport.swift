import Domain
import HTTP
import JSON
import Storage
import Synchronization
import Text

/// A file with everything that is stored about the users of a request. It is read page by page as
/// it is sent, so that a slow client occupies neither much memory nor a database connection.
final class PersonExport: Sendable {
    /// The number of rows that are read at once.
    static let pageSize = 500
    /// The maximum duration of an export in seconds. After it, the connection is closed.
    static let seconds: Int64 = 600

    private struct State {
        var users: [(user: NamedUser, records: PersonRecords)]
        var table = 0
        var start = 0
        var isUserOpen = false
        var hasBegun = false
        var isWhole = false
    }

    private let call: Call
    private let results: [PersonResult]
    private let platform: PersonAddresses
    private let state: Mutex<State>

    private init(
        _ call: Call, _ results: [PersonResult],
        _ users: [(user: NamedUser, records: PersonRecords)]
    ) {
        self.call = call
        self.results = results
        platform = PersonAddresses(users.map(\.records))
        state = Mutex(State(users: users))
    }

    /// Begins an export. The audit log records it before the first byte is sent.
    static func begin(_ users: [NamedUser], _ call: Call) async throws -> Response {
        var found: [(user: NamedUser, records: PersonRecords)] = []
        var results: [PersonResult] = []
        for user in users {
            results.append(
                try await user.result {
                    guard let (row, records) = try await user.scope?.personRecords(of: user.id)
                    else { throw Problem.notFound("user") }
                    try await user.changing(by: call) { try await $0.recordExport(of: row) }
                    found.append((user, records))
                })
        }
        let export = PersonExport(call, results, found)
        var response = Response(
            200, fields: [Field("content-type", "application/json")],
            body: .stream { try await export.next() })
        let day = String(call.now.description.prefix(10))
        response.set("content-disposition", "attachment; filename=\"person-\(day).json\"")
        return response
    }

    /// The next part of the file; `nil` after the last. An error closes the connection, so that the
    /// client can tell that the file is incomplete.
    private func next() async throws -> [UInt8]? {
        guard call.database.clock() < call.now.adding(seconds: Self.seconds) else {
            throw Problem.unavailable
        }
        var state = state.withLock { $0 }
        defer { self.state.withLock { [state] in $0 = state } }
        if state.isWhole { return nil }
        if !state.hasBegun {
            state.hasBegun = true
            return head()
        }
        guard let (user, records) = state.users.first else {
            state.isWhole = true
            let rows = try await call.database.unplacedDecisions(platform)
            return Array("],\"platform\":{\"decisions\":[\(rows.joined(separator: ","))]}}".utf8)
        }
        return try await piece(user, records, &state)
    }

    private func head() -> [UInt8] {
        let beginning = PersonResult.document(
            .export, results, [.init("exported_at", .time(call.now))]
        ).encoded()
        return beginning.dropLast() + Array(",\"people\":[".utf8)
    }

    /// The next part of the file: one page of one table, with the JSON text before and after it.
    private func piece(
        _ user: NamedUser, _ records: PersonRecords, _ state: inout State
    ) async throws -> [UInt8] {
        var text = ""
        if !state.isUserOpen {
            state.isUserOpen = true
            text += "{\"tenant_id\":\"\(records.tenant)\",\"id\":\"\(user.id)\",\"records\":{"
        }
        let table = PersonTable.all[state.table]
        if state.start == 0 {
            text += state.table > 0 ? ",\"\(table.name)\":[" : "\"\(table.name)\":["
        }
        let rows =
            try await user.scope?.rows(
                table, of: records, from: state.start, limit: Self.pageSize) ?? []
        if state.start > 0, !rows.isEmpty { text += "," }
        text += rows.joined(separator: ",")
        state.start += rows.count
        if rows.count == Self.pageSize { return Array(text.utf8) }
        text += "]"
        state.start = 0
        state.table += 1
        if state.table == PersonTable.all.count {
            state.table = 0
            state.isUserOpen = false
            state.users.removeFirst()
            text += state.users.isEmpty ? "}}" : "}},"
        }
        return Array(text.utf8)
    }
}
