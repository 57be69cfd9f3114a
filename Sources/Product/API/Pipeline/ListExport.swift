import HTTP
import JSON
import Synchronization

/// A list exported as a file: its current position, and its items as lines. Every list of the API
/// can be exported; the code that makes its pages does not know of it.
final class ListExport: Sendable {
    private struct Progress {
        var after: Cursor?
        var lines: [UInt8]?
        var rows = 0
        var hasBegun = false
        var isWhole = false
    }

    let format: ExportFormat
    private let columns: [CSVColumn]
    private let progress = Mutex(Progress())

    /// Nil if the endpoint is not a list, or if a page of JSON is requested.
    init?(_ endpoint: Endpoint, for request: Request) {
        guard let shape = endpoint.listedShape, let format = ExportFormat.asked(by: request) else {
            return nil
        }
        self.format = format
        columns = format == .csv ? CSVColumn.all(of: shape) : []
    }

    /// Refuses `limit` and `cursor`: the file is the whole list.
    static func faults(_ query: Input) -> [FieldError] {
        ["limit", "cursor"].filter { query.has($0) }.map {
            FieldError("?\($0)", .notAllowed, "does not go with an export, which is the whole list")
        }
    }

    /// The cursor of the next page.
    var after: Cursor? { progress.withLock { $0.after } }
    var rows: Int { progress.withLock { $0.rows } }
    var isWhole: Bool { progress.withLock { $0.isWhole } }

    /// The most recent page, nil if the handler gave none; it is not kept.
    func take() -> [UInt8]? {
        progress.withLock { progress in
            defer { progress.lines = nil }
            return progress.lines
        }
    }

    /// Adds a page's items; `next` is set if more follow.
    func give<Items: Collection>(
        _ items: Items, next: Cursor?, write: (Items.Element, inout JSONWriter) -> Void
    ) {
        var lines: [UInt8] = []
        if format == .csv, !progress.withLock({ $0.hasBegun }) { lines = CSV.header(columns) }
        for item in items {
            var json = JSONWriter()
            write(item, &json)
            switch format {
            case .lines:
                json.withBytes { lines += $0 }
                lines.append(UInt8(ascii: "\n"))
            case .csv:
                // An unreadable item leaves the page without lines, and the file is cut.
                guard let value = try? JSONValue(parsing: json.bytes) else { return }
                lines += CSV.line(value, columns)
            }
        }
        progress.withLock { [lines] progress in
            progress.lines = lines
            progress.after = next
            progress.rows += items.count
            progress.hasBegun = true
            progress.isWhole = next == nil
        }
    }
}

extension Endpoint {
    /// The shape of the items if the endpoint lists; otherwise nil.
    var listedShape: ObjectShape? {
        guard method == .get else { return nil }
        for answer in answers {
            if case .list(let shape, _) = answer.content { return shape }
        }
        return nil
    }
}
