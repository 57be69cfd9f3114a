import Testing

/// The glossary's words in names and comments: see `deploy/docs/glossary.md`.
struct WordsTests {
    /// How often a replaced word still stands in Sources. A count may only fall: lower it here. A
    /// part of a longer name, such as the column `email_vouched`, does not count.
    private static let ceilings = [
        "nobody": 2, "somebody": 2, "whoever": 0, "obey": 0, "obeys": 0, "vouch": 0, "vouches": 0,
        "vouched": 2, "postman": 0, "letter": 14, "door": 0, "told": 18, "tells": 0, "living": 0,
        "judge": 2,
    ]

    /// Parts of names that the glossary replaced.
    private static let replaced = [
        "Notice", "Obey", "Postman", "Letter", "Vouch", "Remembered", "KeptAnswer", "Judge",
        "Living", "Place", "Door", "Wording", "Tries",
    ]

    @Test func `a word that the glossary replaced becomes no more frequent`() {
        var counts: [String: Int] = [:]
        for file in SourceTree.sources {
            for line in file.lines {
                for word in line.lowercased().split(whereSeparator: { !$0.isLetter && $0 != "_" }) {
                    if Self.ceilings[String(word)] != nil { counts[String(word), default: 0] += 1 }
                }
            }
        }
        for (word, ceiling) in Self.ceilings {
            #expect(counts[word, default: 0] <= ceiling, "\(word)")
        }
    }

    @Test func `no type is named by a word that the glossary replaced`() {
        let declaration = /(?:struct|class|enum|actor|protocol) ([A-Z]\w+)/
        for file in SourceTree.sources {
            for (number, line) in file.lines.enumerated() {
                guard let match = line.firstMatch(of: declaration),
                    !line.contains("//")
                else { continue }
                for part in Self.replaced where match.output.1.contains(part) {
                    Issue.record("\(file):\(number + 1) \(match.output.1)")
                }
            }
        }
    }
}
