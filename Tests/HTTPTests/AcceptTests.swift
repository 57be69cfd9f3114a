import HTTP
import Testing

struct AcceptTests {
    private static let offers = ["application/json", "application/x-ndjson", "text/csv"]

    @Test(
        arguments: [
            ("*/*", 0), ("application/*", 0), ("application/json", 0), ("text/csv", 2),
            ("application/x-ndjson", 1), ("TEXT/CSV; charset=utf-8", 2), ("text/*", 2),
            ("text/csv, */*", 2), ("*/*, text/csv", 2), ("text/csv;q=0.5, */*", 0),
            ("text/csv;q=0.5, application/json;q=0.4", 2), ("application/json, text/csv", 0),
            ("text/csv, application/x-ndjson", 1), ("text/csv;q=0, text/*", nil),
            ("text/csv;q=0.000, */*;q=0.001", 0), ("application/json;q=0, */*", 1),
            ("text/csv;header=present;q=0.9, application/json;q=0.8", 2), ("text/html", nil),
            ("text/html, application/xhtml+xml, */*;q=0.8", 0), ("", nil), (",;,q=1", nil),
            ("text/csv;q=x", 2), ("text/csvx, text/cs", nil), ("text", nil), ("/*", nil),
        ] as [(String, Int?)])
    func `the type that is wanted most is chosen`(value: String, choice: Int?) {
        #expect(Accept.choice(among: Self.offers, by: [value]) == choice)
    }

    @Test func `several Accept lines are one list, and no line chooses nothing`() {
        #expect(Accept.choice(among: Self.offers, by: ["text/html", "text/csv"]) == 2)
        #expect(Accept.choice(among: Self.offers, by: []) == nil)
    }
}
