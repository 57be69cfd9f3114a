import HTTP

/// The format of an exported list, requested by `Accept`.
enum ExportFormat: Sendable, CaseIterable {
    /// One item per line, as the list shows it.
    case lines
    /// RFC 4180, with a header line.
    case csv

    var mediaType: String {
        switch self {
        case .lines: "application/x-ndjson"
        case .csv: "text/csv"
        }
    }

    var contentType: String {
        self == .csv ? mediaType + "; charset=utf-8; header=present" : mediaType
    }

    var fileExtension: String { self == .csv ? "csv" : "ndjson" }

    /// Nil: a page of JSON, also for `*/*` and for unknown types.
    static func asked(by request: Request) -> ExportFormat? {
        let accepted = request.all("accept")
        guard !accepted.isEmpty else { return nil }
        let offers = ["application/json"] + allCases.map(\.mediaType)
        let choice = Accept.choice(among: offers, by: accepted) ?? 0
        return choice == 0 ? nil : allCases[choice - 1]
    }
}
