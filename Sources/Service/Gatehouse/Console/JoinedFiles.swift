/// Sends a file and its parts as one, so that a view costs few requests however finely its source is divided.
///
/// The parts of `lib/core.js` are the files that it exports with `export * from "./core/…"`; those of
/// `styles/main.css` the files that it imports with `@import "main/…"`. A file without such lines stays as it is.
/// A browser that is given the files one by one does the same: only the number of requests differs.
enum JoinedFiles {
    /// The files as they are served: without comments and indentation, and each with its parts inside, which are no
    /// files any more.
    static func join(_ files: [FileTree.File]) throws(ConsoleFilesError) -> [FileTree.File] {
        var texts: [String: [UInt8]] = [:]
        for file in files where file.path.hasSuffix(".js") || file.path.hasSuffix(".css") {
            texts[file.path] = CommentLines.removed(from: file.bytes)
        }
        var parts: Set<String> = []
        var joined: [FileTree.File] = []
        for file in files {
            guard let text = texts[file.path], let dot = file.path.lastIndex(of: ".") else {
                joined.append(file)
                continue
            }
            let folder = String(file.path[..<dot]) + "/"
            let marks = PartMarks(lastName(of: folder))
            var script = JoinedScript(name: lastName(of: folder))
            var result: [UInt8] = []
            var missing: String?
            var hasParts = false
            AssetBytes.forEachLine(of: text[...]) { line, isLast in
                guard let name = marks.part(named: line) else {
                    result += line
                    if !isLast { result.append(UInt8(ascii: "\n")) }
                    return
                }
                guard let inner = texts[folder + name] else {
                    missing = missing ?? name
                    return
                }
                parts.insert(folder + name)
                hasParts = true
                if file.path.hasSuffix(".js") { script.add(part: inner) } else { result += inner }
            }
            if let missing {
                throw ConsoleFilesError("\(file.path): \(folder)\(missing) is not there")
            }
            if script.isEmpty {
                joined.append(FileTree.File(path: file.path, bytes: hasParts ? result : text))
            } else {
                script.add(index: result)
                joined.append(FileTree.File(path: file.path, bytes: script.bytes))
            }
        }
        return joined.filter { !parts.contains($0.path) }
    }

    private static func lastName(of folder: String) -> String {
        String(folder.split(separator: "/").last ?? "")
    }
}

/// How a file names its parts.
private struct PartMarks {
    private let starts: [String]

    init(_ folder: String) {
        starts = ["export * from \"./\(folder)/", "@import \"\(folder)/"]
    }

    /// The name of the part that a line stands for.
    func part(named line: ArraySlice<UInt8>) -> String? {
        for start in starts where line.starts(with: start.utf8) {
            let name = line.dropFirst(start.utf8.count).prefix { $0 != UInt8(ascii: "\"") }
            return String(decoding: name, as: UTF8.self)
        }
        return nil
    }
}

/// Modules as one: their imports of each other fall away, those of other modules are made once.
private struct JoinedScript {
    let name: String
    private var imports: [String: Set<String>] = [:]
    private var order: [String] = []
    private var body: [UInt8] = []

    init(name: String) { self.name = name }

    var isEmpty: Bool { body.isEmpty }

    var bytes: [UInt8] {
        let lines = order.map {
            "import { \((imports[$0] ?? []).sorted().joined(separator: ", ")) } from \"\($0)\"\n"
        }
        return Array(lines.joined().utf8) + body
    }

    /// A part stands one folder deeper than the file that it becomes a piece of.
    mutating func add(part: [UInt8]) {
        add(part, isSibling: { $0.hasPrefix("./") }, moved: { Self.raised($0) })
    }

    mutating func add(index: [UInt8]) {
        let own = "./\(name)/"
        add(index, isSibling: { $0.hasPrefix(own) }, moved: { $0 })
    }

    private static func raised(_ path: String) -> String {
        path.hasPrefix("../../") ? String(path.dropFirst(3)) : "./" + path.dropFirst(3)
    }

    private mutating func add(
        _ text: [UInt8], isSibling: (String) -> Bool, moved: (String) -> String
    ) {
        var statement: [UInt8] = []
        AssetBytes.forEachLine(of: text[...]) { line, _ in
            guard !statement.isEmpty || line.starts(with: "import {".utf8) else {
                body += Self.withImportsMoved(line, moved)
                body.append(UInt8(ascii: "\n"))
                return
            }
            statement += line
            guard let end = AssetBytes.range(of: "} from \"", in: statement[...]) else { return }
            let path = String(
                decoding: statement[end.upperBound...].prefix { $0 != UInt8(ascii: "\"") },
                as: UTF8.self)
            let names = statement[..<end.lowerBound].dropFirst("import {".utf8.count)
            defer { statement = [] }
            if isSibling(path) { return }
            let target = moved(path)
            if imports[target] == nil { order.append(target) }
            for name in names.split(separator: UInt8(ascii: ",")) {
                let trimmed = AssetBytes.trim(name.filter { $0 != 0x0A && $0 != 0x09 })
                if !trimmed.isEmpty {
                    imports[target, default: []].insert(String(decoding: trimmed, as: UTF8.self))
                }
            }
        }
    }

    /// A line with what it imports when it runs, `import("../…")`, as seen from the joined file.
    private static func withImportsMoved(
        _ line: ArraySlice<UInt8>, _ moved: (String) -> String
    ) -> ArraySlice<UInt8> {
        for (quote, start) in [
            (UInt8(ascii: "\""), "import(\"../"), (UInt8(ascii: "`"), "import(`../"),
        ] {
            guard let found = AssetBytes.range(of: start, in: line) else { continue }
            let path = line[(found.upperBound - 3)...].prefix { $0 != quote }
            return line[..<path.startIndex]
                + Array(moved(String(decoding: path, as: UTF8.self)).utf8) + line[path.endIndex...]
        }
        return line
    }
}

/// Leaves comments and indentation out of what a browser is sent: they are an eighth of it. Only lines
/// that are nothing but comment go, and each leaves an empty line, so that an error's line is that of
/// the source.
///
/// The lines of a text in backquotes would be changed too; a test refuses texts of several lines.
enum CommentLines {
    static func removed(from text: [UInt8]) -> [UInt8] {
        var isInside = false
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        AssetBytes.forEachLine(of: text[...]) { line, isLast in
            result += code(of: line, &isInside)
            if !isLast { result.append(UInt8(ascii: "\n")) }
        }
        return result
    }

    private static func code(
        of line: ArraySlice<UInt8>, _ isInside: inout Bool
    ) -> ArraySlice<UInt8> {
        let code = line.drop(while: AssetBytes.isBlank)
        if isInside {
            guard let end = AssetBytes.range(of: "*/", in: code) else { return [] }
            isInside = false
            return code[end.upperBound...]
        }
        if code.starts(with: "//".utf8) { return [] }
        guard code.starts(with: "/*".utf8) else { return code }
        guard let end = AssetBytes.range(of: "*/", in: code.dropFirst(2)) else {
            isInside = true
            return []
        }
        return end.upperBound == code.endIndex ? [] : code
    }
}
