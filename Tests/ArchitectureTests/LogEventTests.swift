import Testing

/// The names of the log's events: one style, and one table that explains them to operators.
struct LogEventTests {
    @Test func `every event of the log is a noun and what happened to it`() {
        let events = Self.events
        #expect(events.count > 40)
        for event in events.sorted() {
            let parts = event.split(separator: ".", omittingEmptySubsequences: false)
            let words = parts.last?.split(separator: "_") ?? []
            #expect(event.wholeMatch(of: /[a-z_]+\.[a-z_]+/) != nil, "\(event)")
            #expect(words.contains { Self.isPast($0) }, "\(event) has no verb of the past")
        }
    }

    @Test func `the table of log events names every event, and no other`() {
        let page = SourceTree.text("deploy/docs/monitoring.md")
        var shown: Set<String> = []
        if let start = page.firstRange(of: "| event | logged when |") {
            for line in page[start.upperBound...].split(separator: "\n") {
                guard line.hasPrefix("|") else { break }
                let cell = line.split(separator: "|")[0]
                shown.formUnion(cell.matches(of: /`([^`]+)`/).map { String($0.1) })
            }
        }
        #expect(Self.events.subtracting(shown).sorted() == [])
        #expect(shown.subtracting(Self.events).sorted() == [])
    }

    private static func isPast(_ word: Substring) -> Bool {
        word.hasSuffix("ed") || ["lost", "sent", "shut", "left"].contains(word)
    }

    /// What the sources log. An event is a literal in a call of the logger before its fields, the
    /// name of a periodic task, a constant, or a name of a fault that PostgreSQL reports.
    private static let events: Set<String> = {
        var events: Set<String> = []
        for file in SourceTree.sources {
            let text = file.lines.joined(separator: "\n")
            for call in text.matches(of: /logger\??\.log\(([^\[)]*)/) {
                events.formUnion(call.1.matches(of: /"([^"]*)"/).map { String($0.1) })
            }
            let names = [
                text.matches(of: /(?:\btask|PeriodicTask|\.tell)\(\s*"([^"]*)"/).map(\.1),
                text.matches(of: /StaticString = "([a-z_]+\.[a-z_]+)"/).map(\.1),
                text.matches(of: /"(postgres\.[^"]*)"/).map(\.1),
            ]
            events.formUnion(names.joined().map(String.init))
        }
        return events
    }()
}
