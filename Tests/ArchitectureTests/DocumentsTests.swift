import Foundation
import Testing

/// The documents against what they speak of.
struct DocumentsTests {
    @Test func `the table of settings names every setting that is read, and no other`() {
        let read = Self.names(
            in: SourceTree.text("Sources/Platform/Runtime/Configuration/Settings.swift"))
        var shown: Set<String> = []
        let page = SourceTree.text("deploy/docs/operating.md")
        for line in page.split(separator: "\n") where line.hasPrefix("| `GATEHOUSE_") {
            // The first cell alone: others may speak of further settings.
            shown.formUnion(Self.names(in: String(line.split(separator: "|")[0])))
        }
        #expect(read.count > 15)
        #expect(read.subtracting(shown).sorted() == [])
        #expect(shown.subtracting(read).sorted() == [])
    }

    /// The program brings its own cluster up without the folder `deploy`.
    @Test func `a private cluster has the roles of deploy/install/roles.sql`() {
        let own = "Sources/Service/Gatehouse/Development/PrivateCluster.swift"
        let roles = ["deploy/install/roles.sql", own].map { file in
            SourceTree.text(file).split(separator: "\n").map { line in
                String(line.drop { $0 == " " })
            }
            .filter { $0.hasPrefix("CREATE ROLE ") || $0.hasPrefix("GRANT ") }
        }
        // Who backs a private cluster up owns it.
        let needed = roles[0].filter { !$0.contains("gatehouse_backup") }
        #expect(needed.count == 4)
        #expect(needed == roles[1])
    }

    @Test func `the page of checks has a row for every check, and for no other`() throws {
        let folder = SourceTree.root + "/deploy/checks"
        var checks = Set(try FileManager.default.contentsOfDirectory(atPath: folder))
        checks.subtract(["README.md", "all", "__pycache__"])
        var shown: Set<String> = []
        for line in SourceTree.text("deploy/checks/README.md").split(separator: "\n")
        where line.hasPrefix("| `") {
            // A row is a command: a check, and perhaps its argument.
            shown.insert(String(line.dropFirst(3).prefix { $0 != " " && $0 != "`" }))
        }
        #expect(shown.count > 30)
        #expect(checks.subtracting(shown).sorted() == [])
        #expect(shown.subtracting(checks).sorted() == [])
    }

    private static func names(in text: String) -> Set<String> {
        var names: Set<String> = []
        for part in text.split(whereSeparator: { !($0.isASCII && ($0.isUppercase || $0 == "_")) })
        where part.hasPrefix("GATEHOUSE_") && part.count > 10 {
            names.insert(String(part))
        }
        return names
    }
}
