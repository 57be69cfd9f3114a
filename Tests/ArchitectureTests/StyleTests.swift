import Testing

struct StyleTests {
    @Test func `no file is longer than 400 lines, and half are within 120`() {
        let lengths = SourceTree.sources.map(\.lines.count).sorted()
        for file in SourceTree.sources where file.lines.count > 401 {
            Issue.record("\(file) has \(file.lines.count) lines")
        }
        #expect(lengths[lengths.count / 2] <= 120)
    }

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
        for file in SourceTree.sources where file.room != "Networking" {
            for (number, line) in file.lines.enumerated() {
                let code = line.split(separator: "//", omittingEmptySubsequences: false)[0]
                for word in [" Task {", "Task.detached", "Task.sleep"] where code.contains(word) {
                    Issue.record("\(file):\(number + 1) leaves the loop: \(word)")
                }
            }
        }
    }

    @Test func `unchecked Sendable stands only where machinery is proved, with its proof`() {
        let rooms: Set<String> = [
            "Networking", "Postgres", "Workers", "Cryptography", "Serving", "Outbound",
        ]
        for file in SourceTree.sources {
            for (number, line) in file.lines.enumerated()
            where line.contains("@unchecked Sendable") && !line.contains("///") {
                #expect(rooms.contains(file.room), "\(file):\(number + 1)")
                let before = file.lines[max(0, number - 8)...number]
                #expect(
                    before.contains { $0.contains("//") },
                    "\(file):\(number + 1) has no sentence of proof")
            }
        }
    }
}
