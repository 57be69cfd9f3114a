import Foundation
import Testing

/// The pages of the documentation: short where they must be, and of nothing that is not there.
struct PagesTests {
    private static let catalogue = "Sources/Service/Gatehouse/Gatehouse.docc"
    private static let pages =
        [SourceFile(path: "README.md", lines: lines(of: "README.md"))]
        + SourceTree.files(under: "deploy", ending: ".md")
        + SourceTree.files(under: catalogue, ending: ".md")

    private static func lines(of path: String) -> [String] {
        SourceTree.text(path).components(separatedBy: "\n")
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: SourceTree.root + "/" + path)
    }

    @Test func `the README has at most 8 KB`() {
        let size = SourceTree.text("README.md").utf8.count
        #expect(size > 1000)
        #expect(size <= 8192)
    }

    @Test func `a walk has at most 40 lines`() {
        let walks = Self.pages.filter { $0.path.contains("/Walk-") }
        #expect(walks.count == 4)
        for walk in walks {
            #expect(walk.lines.count <= 41, "\(walk)")
        }
    }

    @Test func `every path that a page names exists`() {
        var count = 0
        for page in Self.pages {
            for (number, line) in page.lines.enumerated() {
                for path in Self.paths(in: line) {
                    count += 1
                    #expect(Self.exists(path), "\(page):\(number + 1) names \(path)")
                }
            }
        }
        #expect(count > 200)
    }

    @Test func `every link between pages leads to a file`() {
        for page in Self.pages {
            let folder = page.path.split(separator: "/").dropLast().joined(separator: "/")
            for (number, line) in page.lines.enumerated() {
                for part in line.components(separatedBy: "](").dropFirst() {
                    let target = String(part.prefix { $0 != ")" && $0 != "#" })
                    if target.isEmpty || target.contains("://") { continue }
                    let path = folder.isEmpty ? target : folder + "/" + target
                    #expect(Self.exists(path), "\(page):\(number + 1) links to \(target)")
                }
            }
        }
    }

    /// `Sources/…`, `Tests/…`, `deploy/…` and `Public/…`, however they stand in the text.
    private static func paths(in line: String) -> [String] {
        let parts = line.split { character in
            !character.isASCII
                || !(character.isLetter || character.isNumber || "_+./-".contains(character))
        }
        var paths: [String] = []
        for part in parts {
            var path = String(part)
            while path.hasSuffix(".") || path.hasSuffix("/") { path.removeLast() }
            let folders = ["Sources/", "Tests/", "deploy/", "Public/"]
            if folders.contains(where: { path.hasPrefix($0) }) { paths.append(path) }
        }
        return paths
    }

    // MARK: the rows of decisions

    @Test func `every row that a test is named by stands in the page of decisions`() {
        let rows = Self.rows
        var count = 0
        for file in SourceTree.files(under: "Tests", ending: ".swift") {
            for (number, line) in file.lines.enumerated() {
                for id in Self.rowIDs(inNameOf: line) {
                    count += 1
                    let section = Self.section(of: id, in: file.path)
                    #expect(
                        rows[section]?.contains(id) == true,
                        "\(file):\(number + 1): \(id) is not in »\(section)« of decisions.md")
                }
            }
        }
        #expect(count > 150)
    }

    @Test func `every reason of an origin's decision stands in the page of decisions`() throws {
        let page = SourceTree.text("deploy/docs/decisions.md")
        let code = SourceTree.text("Sources/Product/Domain/Origins/CORSDecision.swift")
        let from = try #require(code.firstRange(of: "enum Reason"))
        let rest = code[from.upperBound...]
        let body = rest.prefix { $0 != "}" }
        var count = 0
        for line in body.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.first == "case", words.count > 1, let last = words.last else { continue }
            count += 1
            let reason = last.filter { $0 != "\"" }
            #expect(page.contains("`\(reason)`"), "\(reason)")
        }
        #expect(count > 10)
    }

    private static let contracts = "Client contracts"

    /// The ids of each section of the page.
    private static var rows: [String: Set<String>] {
        var rows: [String: Set<String>] = [:]
        var section = ""
        for line in lines(of: "deploy/docs/decisions.md") {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard line.hasPrefix("| ") else { continue }
            let id = line.dropFirst(2).prefix { $0 != " " }
            if isRowID(id) { rows[section, default: []].insert(String(id)) }
        }
        return rows
    }

    /// The rows of the clients' contracts have letters that the rules of provisioning have too.
    private static func section(of id: String, in path: String) -> String {
        let isOfClients =
            path.hasPrefix("Tests/SignInTests/") || path.hasPrefix("Tests/EndToEndTests/")
        let letter = id.prefix(1)
        return isOfClients && "RITWD".contains(letter) ? contracts : "Provisioning"
    }

    /// The ids at the front of a test's name.
    private static func rowIDs(inNameOf line: String) -> [String] {
        let parts = line.components(separatedBy: "func `")
        guard parts.count == 2 else { return [] }
        return parts[1].split(separator: " ").prefix { isRowID($0) }.map { String($0) }
    }

    /// A capital letter, one or two digits, and perhaps `a` or `b`: `I13`, `D4b`.
    private static func isRowID(_ word: Substring) -> Bool {
        var bytes = Array(word.utf8)
        if bytes.count > 2, let last = bytes.last, last == 0x61 || last == 0x62 {
            bytes.removeLast()
        }
        guard bytes.count == 2 || bytes.count == 3, (0x41...0x5A).contains(bytes[0]) else {
            return false
        }
        return bytes.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }
}
