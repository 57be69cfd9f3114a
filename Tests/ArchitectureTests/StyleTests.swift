import Foundation
import Testing

struct StyleTests {
    @Test func `nothing that ends the process or hides a failure`() {
        for file in SourceTree.sources {
            for (number, line) in file.lines.enumerated() {
                for word in ["try!", "fatalError(", "TODO", "FIXME"] where line.contains(word) {
                    Issue.record("\(file):\(number + 1) has \(word)")
                }
            }
        }
    }

    @Test func `a loop's work is spawned on the loop`() {
        for file in SourceTree.sources where file.folder != "Networking" {
            for (number, line) in file.lines.enumerated() {
                let code = line.split(separator: "//", omittingEmptySubsequences: false)[0]
                for word in [" Task {", "Task.detached", "Task.sleep"] where code.contains(word) {
                    Issue.record("\(file):\(number + 1) leaves the loop: \(word)")
                }
            }
        }
    }

    @Test func `unchecked Sendable stands only where machinery is proved, with its proof`() {
        let places: Set<String> = [
            "Runtime/Networking", "Runtime/Workers", "HTTP/Serving", "Cryptography/", "Outbound/",
            "Postgres/",
        ]
        for file in SourceTree.sources {
            for (number, line) in file.lines.enumerated()
            where line.contains("@unchecked Sendable") && !line.contains("///") {
                #expect(places.contains("\(file.room)/\(file.folder)"), "\(file):\(number + 1)")
                let before = file.lines[max(0, number - 8)...number]
                #expect(
                    before.contains { $0.contains("//") },
                    "\(file):\(number + 1) has no sentence of proof")
            }
        }
    }

    /// 0016 is the last file before the tables of a distributed database are distributed. Behind it Citus hands on the
    /// whole message in which a change of a table stands.
    @Test func `a migration after the distribution has lines between its statements`() {
        let files = SourceTree.files(under: "Migrations", ending: ".sql").filter {
            $0.path.hasPrefix("Migrations/folded/") || $0.path.hasPrefix("Migrations/0")
        }
        .filter { $0.path > "Migrations/0017" }
        #expect(!files.isEmpty)
        for file in files {
            let code = file.lines.filter { $0 == "-- then" || !$0.hasPrefix("--") }
            for statement in code.split(separator: "-- then") {
                let bodies = statement.joined(separator: "\n").components(separatedBy: "$$")
                let outside = stride(from: 0, to: bodies.count, by: 2).map { bodies[$0] }.joined()
                #expect(
                    outside.count(where: { $0 == ";" }) <= 1, "\(file): a line `-- then` is missing"
                )
            }
        }
    }
}
