/// Sends a file and its parts as one, so that a view costs few requests however finely its source is divided.
///
/// The parts of `lib/core.js` are the files that it exports with `export * from "./core/…"`; those of
/// `styles/main.css` the files that it imports with `@import "main/…"`. A file without such lines stays as it is.
/// A browser that is given the files one by one does the same: only the number of requests differs.
enum JoinedFiles {
    /// The files as they are served: without comments and indentation, and each with its parts inside, which are no
    /// files any more.
    static func join(_ files: [FileTree.File]) throws(ConsoleFilesError) -> [FileTree.File] {
        var texts: [String: String] = [:]
        for file in files where file.path.hasSuffix(".js") || file.path.hasSuffix(".css") {
            texts[file.path] = CommentLines.removed(
                from: String(decoding: file.bytes, as: UTF8.self))
        }
        var parts: Set<String> = []
        var joined: [FileTree.File] = []
        for file in files {
            guard let text = texts[file.path], let dot = file.path.lastIndex(of: ".") else {
                joined.append(file)
                continue
            }
            let folder = String(file.path[..<dot]) + "/"
            var script = JoinedScript(name: lastName(of: folder))
            var result = ""
            var hasParts = false
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                guard let name = part(named: line, of: lastName(of: folder)) else {
                    result += line + "\n"
                    continue
                }
                guard let inner = texts[folder + name] else {
                    throw ConsoleFilesError("\(file.path): \(folder)\(name) is not there")
                }
                parts.insert(folder + name)
                hasParts = true
                if file.path.hasSuffix(".js") { script.add(part: inner) } else { result += inner }
            }
            if script.isEmpty {
                let text = hasParts ? String(result.dropLast()) : text
                joined.append(FileTree.File(path: file.path, bytes: Array(text.utf8)))
            } else {
                script.add(index: result)
                joined.append(FileTree.File(path: file.path, bytes: Array(script.text.utf8)))
            }
        }
        return joined.filter { !parts.contains($0.path) }
    }

    private static func lastName(of folder: String) -> String {
        String(folder.split(separator: "/").last ?? "")
    }

    /// The name of the part that a line stands for.
    private static func part(named line: Substring, of folder: String) -> String? {
        for start in ["export * from \"./\(folder)/", "@import \"\(folder)/"]
        where line.hasPrefix(start) {
            return String(line.dropFirst(start.count).prefix { $0 != "\"" })
        }
        return nil
    }
}

/// Modules as one: their imports of each other fall away, those of other modules are made once.
private struct JoinedScript {
    let name: String
    private var imports: [String: Set<String>] = [:]
    private var order: [String] = []
    private var body = ""

    init(name: String) { self.name = name }

    var isEmpty: Bool { body.isEmpty }

    var text: String {
        order.map {
            "import { \((imports[$0] ?? []).sorted().joined(separator: ", ")) } from \"\($0)\"\n"
        }
        .joined() + body
    }

    /// A part stands one folder deeper than the file that it becomes a piece of.
    mutating func add(part: String) {
        add(part, isSibling: { $0.hasPrefix("./") }, moved: { Self.raised($0) })
    }

    mutating func add(index: String) {
        let own = "./\(name)/"
        add(index, isSibling: { $0.hasPrefix(own) }, moved: { $0 })
    }

    private static func raised(_ path: String) -> String {
        path.hasPrefix("../../") ? String(path.dropFirst(3)) : "./" + path.dropFirst(3)
    }

    private mutating func add(
        _ text: String, isSibling: (String) -> Bool, moved: (String) -> String
    ) {
        var statement = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard !statement.isEmpty || line.hasPrefix("import {") else {
                body += Self.withImportsMoved(String(line), moved) + "\n"
                continue
            }
            statement += line
            guard let end = statement.range(ofLiteral: "} from \"") else { continue }
            let path = String(statement[end.upperBound...].prefix { $0 != "\"" })
            let names = statement[..<end.lowerBound].dropFirst("import {".count)
            statement = ""
            if isSibling(path) { continue }
            let target = moved(path)
            if imports[target] == nil { order.append(target) }
            for name in names.split(separator: ",") {
                let trimmed = AssetBytes.trim(Array(name.utf8).filter { $0 != 0x0A && $0 != 0x09 })
                if !trimmed.isEmpty {
                    imports[target, default: []].insert(String(decoding: trimmed, as: UTF8.self))
                }
            }
        }
    }

    /// A line with what it imports when it runs, `import("../…")`, as seen from the joined file.
    private static func withImportsMoved(_ line: String, _ moved: (String) -> String) -> String {
        for quote in ["\"", "`"] {
            guard let start = line.range(ofLiteral: "import(\(quote)../") else { continue }
            let at = line.index(start.upperBound, offsetBy: -3)
            let path = String(line[at...].prefix { $0 != Character(quote) })
            return String(line[..<at]) + moved(path) + line[at...].dropFirst(path.count)
        }
        return line
    }
}

extension String {
    /// The first place of a text, byte by byte.
    fileprivate func range(ofLiteral wanted: String) -> Range<String.Index>? {
        var at = startIndex
        while at < endIndex {
            if self[at...].hasPrefix(wanted) { return at..<index(at, offsetBy: wanted.count) }
            formIndex(after: &at)
        }
        return nil
    }
}
