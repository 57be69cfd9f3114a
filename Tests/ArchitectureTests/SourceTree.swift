import Foundation

/// The files of the project, read from disk: the rules below are about text, not about types.
struct SourceFile: CustomStringConvertible {
    var path: String
    var lines: [String]

    var description: String { path }
    var room: String {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[2]) : ""
    }
    /// The path of its folder within the room; empty at the room's root.
    var folder: String {
        path.split(separator: "/").dropFirst(3).dropLast().joined(separator: "/")
    }
}

enum SourceTree {
    static let root: String = {
        var parts = #filePath.split(separator: "/").map(String.init)
        parts.removeLast(3)
        return "/" + parts.joined(separator: "/")
    }()

    static func files(under folder: String, ending suffix: String) -> [SourceFile] {
        let names = FileManager.default.enumerator(atPath: root + "/" + folder)
        var found: [SourceFile] = []
        while let name = names?.nextObject() as? String {
            guard name.hasSuffix(suffix),
                let text = try? String(contentsOfFile: "\(root)/\(folder)/\(name)", encoding: .utf8)
            else { continue }
            found.append(
                SourceFile(path: folder + "/" + name, lines: text.components(separatedBy: "\n")))
        }
        return found.sorted { $0.path < $1.path }
    }

    /// A file of the project; empty where it is missing.
    static func text(_ path: String) -> String {
        (try? String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)) ?? ""
    }

    static let sources = files(under: "Sources", ending: ".swift")
}
