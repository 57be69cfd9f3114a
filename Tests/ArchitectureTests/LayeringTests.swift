import Testing

/// What each room may import of ours, by `Package.swift`. SwiftPM alone does not reliably refuse an
/// undeclared import.
private let allowed: [String: Set<String>] = {
    let room = /room\(\s*"(?:Platform|Product)",\s*"(\w+)"(?:,\s*\[([^\]]*)\])?\s*\)/
    return SourceTree.text("Package.swift").matches(of: room).reduce(into: [:]) { table, match in
        let imports = (match.output.2 ?? "").split { !$0.isLetter && !$0.isNumber }
        table[String(match.output.1)] = Set(imports.map(String.init))
    }
}()

/// Where less is allowed than `Package.swift` allows a room: by folder, what of ours it may import.
private let walls: [String: Set<String>] = [
    "API/Federation": ["Cryptography", "Domain", "HTTP", "JSON", "Outbound", "Text"],
    "API/Tokens": ["Cryptography", "Domain", "JSON", "Storage", "Text"],
    "Gatehouse/Console": ["CBrotli", "CZlib", "HTTP", "Runtime"],
]

/// Rooms that only a few folders of a room above may import.
private let gates: [String: [String: Set<String>]] = [
    "API": [
        "Outbound": ["", "Federation", "Mail"],
        "Runtime": ["", "Imports", "Jobs", "Mail", "Operations", "Pipeline"],
    ],
    "Gatehouse": [
        "Outbound": ["", "Operations", "SignIn/Providers"],
        "Postgres": ["", "CommandLine", "Development", "FastPath", "Operations"],
        "Runtime": ["", "CommandLine", "Console", "Development", "Operations"],
    ],
]

private let system: Set<String> = ["Glibc", "Synchronization", "_Concurrency"]

struct LayeringTests {
    @Test func `a room and a folder import only what is below them`() {
        #expect(SourceTree.sources.count > 10)
        #expect(allowed.count == 10)
        for file in SourceTree.sources {
            for line in file.lines {
                var words = line.split(separator: " ").map(String.init)
                while let first = words.first, first.hasPrefix("@") || accessWords.contains(first) {
                    words.removeFirst()
                }
                guard words.first == "import", words.count > 1 else { continue }
                let name = words.last?.split(separator: ".").first.map(String.init) ?? ""
                if system.contains(name) { continue }
                if let allowed = allowed[file.room] {
                    #expect(allowed.contains(name), "\(file) imports \(name)")
                } else {
                    #expect(["Gatehouse", "Main"].contains(file.room), "\(file): an unknown room")
                }
                if let wall = walls["\(file.room)/\(file.folder)"] {
                    #expect(wall.contains(name), "\(file) imports \(name)")
                }
                if let gate = gates[file.room]?[name] {
                    #expect(gate.contains(file.folder), "\(file) imports \(name)")
                }
            }
        }
    }

    private let accessWords: Set<String> = ["package", "public", "internal", "private"]

    /// Contracts show the ids of users, and apps' models refuse any but version 4.
    @Test func `every door makes a user with a random id, and only two statements insert users`() {
        var inserting: [String] = []
        for file in SourceTree.files(under: "Sources/Product", ending: ".swift") {
            let text = file.lines.joined(separator: "\n")
            let name = file.path.split(separator: "/").last.map(String.init) ?? ""
            if text.contains("INSERT INTO users ") { inserting.append(name) }
            // What has an id by its time is shown to nobody but operators.
            if text.contains("UUID.ordered(") {
                #expect(
                    ["Deciding.swift", "RetryStore.swift", "AuditTrail.swift"].contains(
                        name),
                    "\(file)")
            }
        }
        #expect(inserting.sorted() == ["ImportInsertion.swift", "UserStore.swift"])
        let new = SourceTree.files(
            under: "Sources/Product/Storage/Users", ending: "UserStore.swift")
        #expect(new.first?.lines.contains { $0.contains("id = UUID.random()") } == true)
    }
}
