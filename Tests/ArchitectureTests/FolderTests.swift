import Testing

/// The folders of a target form layers: whoever reads one folder need not read a circle of others.
struct FolderTests {
    /// A folder of a target, by the first part of its path there. The files at a target's root are
    /// its common base and what composes it, so they are no folder.
    private struct Folder: Hashable {
        var target: String
        var name: String

        init?(_ file: SourceFile) {
            let parts = file.path.split(separator: "/")
            guard parts.count > 4, parts[1] != "System" else { return nil }
            target = String(parts[2])
            name = String(parts[3])
        }
    }

    @Test func `the folders of a target use each other's types in one direction`() {
        let uses = Self.uses()
        #expect(uses.count > 20)
        var layers = Set(uses.keys).union(uses.values.flatMap(\.keys))
        // Folders that use none of those left are taken away, layer by layer: a circle stays.
        while true {
            let free = layers.filter { folder in
                (uses[folder] ?? [:]).keys.allSatisfy { !layers.contains($0) }
            }
            if free.isEmpty { break }
            layers.subtract(free)
        }
        for folder in layers.sorted(by: { $0.name < $1.name }) {
            for (other, types) in uses[folder] ?? [:] where layers.contains(other) {
                Issue.record(
                    "\(folder.target): \(folder.name) uses \(types.sorted()) of \(other.name)")
            }
        }
    }

    /// The types that one folder uses of another of its target.
    private static func uses() -> [Folder: [Folder: Set<String>]] {
        let declaration =
            #/^(?:package |public |final |indirect )*(?:struct|class|enum|actor|protocol|typealias) (?<name>\w+)/#
        var homes: [String: [String: Set<Folder?>]] = [:]
        for file in SourceTree.sources {
            for line in file.lines {
                guard let match = line.prefixMatch(of: declaration) else { continue }
                homes[file.room, default: [:]][String(match.output.name), default: []]
                    .insert(Folder(file))
            }
        }
        var uses: [Folder: [Folder: Set<String>]] = [:]
        for file in SourceTree.sources {
            guard let folder = Folder(file), let types = homes[file.room] else { continue }
            for line in file.lines {
                let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
                for word in code.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }
                ) {
                    guard let home = types[String(word)], home.count == 1,
                        case .some(.some(let other)) = home.first, other != folder
                    else { continue }
                    uses[folder, default: [:]][other, default: []].insert(String(word))
                }
            }
        }
        return uses
    }
}
