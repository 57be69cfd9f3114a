import Testing

/// The folders side by side in one folder form layers: whoever reads one need not read a circle of others.
struct FolderTests {
    /// The path of a folder within its target, from the target's name on.
    private typealias Folder = [Substring]

    /// By `uses[folder][other]`: the types of `other` that `folder` uses, both side by side in one folder.
    private typealias Uses = [Folder: [Folder: Set<String>]]

    @Test func `the folders of a folder use each other's types in one direction`() {
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
        for folder in layers.sorted(by: { $0.joined() < $1.joined() }) {
            for (other, types) in uses[folder] ?? [:] where layers.contains(other) {
                Issue.record(
                    "\(folder.joined(separator: "/")) uses \(types.sorted()) of \(other.last ?? "")"
                )
            }
        }
    }

    private static func folder(_ file: SourceFile) -> Folder {
        [file.room[...]] + file.folder.split(separator: "/")
    }

    private static func uses() -> Uses {
        let declaration =
            #/^(?:package |public |final |indirect )*(?:struct|class|enum|actor|protocol|typealias) (?<name>\w+)/#
        var homes: [String: [String: Set<Folder>]] = [:]
        for file in SourceTree.sources {
            for line in file.lines {
                guard let match = line.prefixMatch(of: declaration) else { continue }
                homes[file.room, default: [:]][String(match.output.name), default: []]
                    .insert(folder(file))
            }
        }
        var uses: Uses = [:]
        for file in SourceTree.sources {
            guard let types = homes[file.room] else { continue }
            for line in file.lines {
                let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
                for word in code.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }
                ) {
                    guard let home = types[String(word)], home.count == 1, let other = home.first,
                        let (own, used) = branches(folder(file), other)
                    else { continue }
                    uses[own, default: [:]][used, default: []].insert(String(word))
                }
            }
        }
        return uses
    }

    /// Where two folders part: the two that lie side by side. Nil if one lies in the other: what a folder itself
    /// holds is the common base of the folders in it, or what composes them.
    private static func branches(_ one: Folder, _ other: Folder) -> (Folder, Folder)? {
        let common = zip(one, other).prefix { $0 == $1 }.count
        guard common < one.count, common < other.count else { return nil }
        return (Array(one.prefix(common + 1)), Array(other.prefix(common + 1)))
    }
}
