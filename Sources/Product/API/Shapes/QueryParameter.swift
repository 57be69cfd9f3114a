import Text

/// A parameter of the query. Values are text on the wire; the kind says what they must be.
package struct QueryParameter: Sendable {
    /// As on the wire: snake_case; repeating it is 422.
    package var name: String
    /// The text is parsed as this kind.
    package var kind: Kind
    package var isRequired: Bool
    package var summary: String
    /// One for each name after the dot: `attributes.<name>` in the documentation.
    package var isFamily = false

    package init(_ name: String, _ kind: Kind, required: Bool = false, _ summary: String = "") {
        self.name = name
        self.kind = kind
        isRequired = required
        self.summary = summary
    }

    /// Whether a name of the query is this parameter's.
    func covers(_ given: String) -> Bool {
        guard isFamily else { return sameBytes(name, given) }
        let start = name.utf8.prefix { $0 != UInt8(ascii: "<") }
        return given.utf8.count > start.count && given.utf8.starts(with: start)
    }

    /// Items of one page: accepted values of `limit`; others are 422.
    static let limits = 1...200
    package static let limit = QueryParameter(
        "limit", .integer(limits), "Items of one page; 50 when absent.")
    /// Opaque: base64url with a checksum of the list's path, sort and filters.
    package static let cursor = QueryParameter(
        "cursor", .string(min: 1, max: 1024), "`next_cursor` of the page before.")
    package static let search = QueryParameter(
        "q", .string(min: 1, max: 255),
        "Substring of email or name without case; under 3 characters a prefix.")
    /// Read by `Call.isDryRun`.
    package static let dryRun = QueryParameter(
        "dry_run", .bool, "Answers what would happen and writes nothing.")

    /// The parameters of every list; the first of `sorts` is the default, `-` is descending.
    package static func list(sorts: [String], search: Bool = false) -> [QueryParameter] {
        [limit, cursor, QueryParameter("sort", .enumeration(sorts), "Order; `-` descends.")]
            + (search ? [.search] : [])
    }
}
