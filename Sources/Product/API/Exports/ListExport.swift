import HTTP
import JSON
import Synchronization

/// A list that is answered whole, as a file: where it has come to, and its items as lines. Every
/// list of the API may be asked for so; what makes its pages does not know of it.
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

    /// Nil where the endpoint is no list, or a page of JSON is asked for.
    init?(_ endpoint: Endpoint, for request: Request) {
        guard let shape = endpoint.listedShape, let format = ExportFormat.asked(by: request) else {
            return nil
        }
        self.format = format
        columns = format == .csv ? CSVColumn.all(of: shape) : []
    }

    /// The file is the list from its beginning to its end.
    static func faults(_ query: Input) -> [FieldError] {
        ["limit", "cursor"].filter { query.has($0) }.map {
            FieldError("?\($0)", .notAllowed, "does not go with an export, which is the whole list")
        }
    }

    /// Behind which item the next page begins.
    var after: Cursor? { progress.withLock { $0.after } }
    var rows: Int { progress.withLock { $0.rows } }
    var isWhole: Bool { progress.withLock { $0.isWhole } }

    /// The page that was given last, nil where the handler gave none; nothing is kept of it.
    func take() -> [UInt8]? {
        progress.withLock { progress in
            defer { progress.lines = nil }
            return progress.lines
        }
    }

    /// Takes a page's items; `next` is where more follow.
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
                // What cannot be read back leaves the page without lines, and the file is cut.
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
    /// The shape of the items where the endpoint lists; nil elsewhere.
    var listedShape: ObjectShape? {
        guard method == .get else { return nil }
        for answer in answers {
            if case .list(let shape) = answer.content { return shape }
        }
        return nil
    }
}
