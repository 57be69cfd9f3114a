import Testing

/// What each room may import of this package. SwiftPM does not reliably refuse an undeclared import.
private let allowed: [String: Set<String>] = [
    "Observability": ["Text"], "Configuration": [], "HTTP": [], "JSON": [],
    "Workers": [], "Deadlines": [],
    "Text": ["CIdn2", "CPsl"],
    "Cryptography": ["COpenSSL", "CArgon2", "CCommonPasswords", "Workers"],
    "Networking": ["CLinux", "COpenSSL", "Observability"],
    "Outbound": ["CCurl", "CResolv", "Deadlines", "HTTP", "Text", "Workers"],
    "Routing": ["HTTP"],
    "Serving": ["Deadlines", "HTTP", "Networking", "Observability"],
    "Postgres": ["CPostgres", "Deadlines", "Networking", "Observability", "Text"],
    "Replication": ["Networking", "Observability", "Postgres", "Text"],
    "Domain": ["Text"],
    "Federation": ["Domain", "Outbound", "HTTP", "JSON", "Text", "Cryptography"],
    "Storage": ["Deadlines", "Domain", "Postgres", "Replication", "JSON", "Text", "Cryptography"],
    "Mail": ["Storage", "Outbound", "Text"],
    "API": [
        "Deadlines", "Domain", "Federation", "Storage", "HTTP", "Routing", "JSON", "Text",
        "Cryptography", "Observability",
    ],
    "SignIn": [
        "API", "Domain", "Federation", "Outbound", "Storage", "HTTP", "Routing", "JSON", "Text",
        "Cryptography",
    ],
    "Console": ["HTTP", "Routing", "CZlib", "Cryptography"],
]

private let system: Set<String> = ["Glibc", "Synchronization", "_Concurrency"]

struct LayeringTests {
    @Test func `a room imports only what stands below it`() {
        #expect(SourceTree.sources.count > 10)
        #expect(allowed.count == 21)
        for file in SourceTree.sources {
            guard let allowed = allowed[file.room] else {
                #expect(
                    ["Application", "gatehouse"].contains(file.room), "\(file): an unknown room")
                continue
            }
            for line in file.lines {
                var words = line.split(separator: " ").map(String.init)
                while let first = words.first, first.hasPrefix("@") || accessWords.contains(first) {
                    words.removeFirst()
                }
                guard words.first == "import", words.count > 1 else { continue }
                let name = words.last?.split(separator: ".").first.map(String.init) ?? ""
                #expect(
                    allowed.contains(name) || system.contains(name), "\(file) imports \(name)")
            }
        }
    }

    private let accessWords: Set<String> = ["package", "public", "internal", "private"]
}
