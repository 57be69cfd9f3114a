import Glibc

/// The migrations from before 1.0.0-rc.1, which were merged ("folded") into fewer files. The file
/// `folded/ledger` lists them: first `# commit` and the commit that has their texts, then a line
/// for each file with its SHA-256 and its name. A database to which all of them were applied has
/// the same schema as one made by the new files.
struct FoldedChain {
    static let folder = "folded/"
    /// The number of the last of the new migration files that replace the old chain.
    static let lastFile = "0016"

    /// The name of the last file of the old chain. The text of this file is in the folder
    /// `folded/`, because a database that lacks only this file can still be taken over.
    let last: String
    private let commit: String
    /// The old files in the order of their names; those for a distributed database come last.
    private let files: [Migrator.Applied]

    /// Reads the ledger; `nil` if the folder of migrations has none.
    init?(in directory: String) throws(MigrationError) {
        let path = "\(directory)/\(Self.folder)ledger"
        guard access(path, F_OK) == 0 else { return nil }
        let lines = try Migrator.contents(path, "\(Self.folder)ledger").split(separator: "\n")
        commit = lines.first.map { String($0.suffix(40)) } ?? ""
        files = lines.filter { !$0.hasPrefix("#") }.map { line in
            Migrator.Applied(name: String(line.dropFirst(66)), checksum: String(line.prefix(64)))
        }
        last = files.last { !Self.isDistributed($0) }?.name ?? ""
    }

    /// Whether any file of the old chain was applied to the database.
    func made(_ applied: [String: Migrator.Applied]) -> Bool {
        let checksums = Set(files.map(\.checksum))
        return applied.values.contains { checksums.contains($0.checksum) }
    }

    /// Throws unless the database has all files of the old chain (the last may be missing) and no
    /// others. A distributed database also needs the files for distributed databases.
    func require(_ applied: [String: Migrator.Applied]) throws(MigrationError) {
        let known = Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0.checksum) })
        let found = applied.values.sorted { $0.name < $1.name }
        for file in found where known[file.name] != file.checksum {
            throw MigrationError(
                name: file.name,
                reason: """
                    is not the file that was folded, so this version cannot take the database over: let `gatehouse \
                    migrate` make a new database, and restore into it a dump of the data alone
                    """)
        }
        let names = Set(found.map(\.name))
        let isDistributed = found.contains(where: Self.isDistributed)
        for file in files
        where !names.contains(file.name) && file.name != last
            && (isDistributed || !Self.isDistributed(file))
        {
            throw MigrationError(
                name: file.name,
                reason: """
                    was not applied, and this version cannot apply it: first run `gatehouse migrate` of the commit \
                    \(commit), the last with this file, then that of this version
                    """)
        }
    }

    private static func isDistributed(_ file: Migrator.Applied) -> Bool {
        file.name.hasPrefix(Migrator.distributed)
    }
}
