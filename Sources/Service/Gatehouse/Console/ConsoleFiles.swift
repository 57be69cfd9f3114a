import Glibc
import HTTP
import Runtime

/// Serves the console's files from a table made at the start. Only files in the table are
/// reachable, so no path can lead out of the folder.
///
/// Assets have addresses below `/console/assets/<hash>/` and may be cached for ever. The hash
/// covers all files, so the relative imports of ES modules never mix versions. Pages are
/// revalidated.
package struct ConsoleFiles: Sendable {
    /// The text that stands in pages for the path with the hash. It is replaced when the pages are
    /// read.
    static let placeholder = "/console/assets/-/"

    private let assets: [String: Asset]
    private let shell: Asset
    private let icon: Asset
    /// The hash of all files: 16 hexadecimal digits.
    package let version: String
    /// The thread that compresses the files while the first requests are already answered.
    private let worker = WorkerPool(threads: 1, queueLimit: 1)

    /// Reads every file below `directory`, which must contain `index.html` and `favicon.svg`.
    /// Throws `ConsoleFilesError` with the path of a file that is missing or has an unknown type.
    package init(directory: String) throws(ConsoleFilesError) {
        let files = try FileTree.read(directory).map(CommentLines.removed)
        var digest = ContentHash()
        for file in files {
            digest.add(Array(file.path.utf8))
            digest.add(file.bytes)
        }
        version = digest.hexadecimal
        let prefix = "/console/assets/\(version)/"
        var pages: [String: Asset] = [:]
        var assets: [String: Asset] = [:]
        for file in files {
            guard let type = ContentType.of(path: file.path) else {
                throw ConsoleFilesError(
                    "\(directory)/\(file.path): no content type is known for it")
            }
            if type == ContentType.html {
                let text = AssetBytes.replace(Self.placeholder, by: prefix, in: file.bytes)
                pages[file.path] = Asset(text, type: type)
            } else {
                assets[prefix + file.path] = Asset(file.bytes, type: type)
            }
        }
        guard let shell = pages["index.html"], let icon = assets[prefix + "favicon.svg"] else {
            throw ConsoleFilesError("\(directory): index.html and favicon.svg must be there")
        }
        self.assets = assets
        self.shell = shell
        self.icon = icon
        // If a file is requested before the thread reaches it, the request compresses it.
        let all = [shell, icon] + assets.values
        _ = worker.submit { for asset in all { asset.compress() } }
    }

    /// Returns the response for `/`, `/console`, `/invite`, `/join`, `/reset`, `/email`, `/not-me`,
    /// `/favicon.svg` and all paths below `/console/` (404 with the shell if there is no such
    /// page); `nil` for any other path. The response to HEAD has the same body as that to GET; the
    /// encoder counts the body and then omits it (RFC 9110 §9.3.2).
    package func response(for request: Request) -> Response? {
        guard let file = file(of: request.path) else { return nil }
        guard request.method == .get || request.method == .head else {
            return plain(405, "Only GET and HEAD.\n", [Field("allow", "GET, HEAD")])
        }
        switch file {
        case .root:
            return SecurityHeaders.added(
                to: Response(302, fields: [Field("location", "/console/")]))
        case .unknown:
            // The shell (the page that loads the console) shows that there is no such page.
            return shell.response(
                for: request, cacheControl: "no-store", status: 404)
        case .moved(let address):
            let fields = [Field("location", address), Field("cache-control", "no-store")]
            return SecurityHeaders.added(to: Response(302, fields: fields))
        case .page(let asset):
            return asset.response(for: request, cacheControl: "no-cache")
        case .asset(let asset):
            return asset.response(for: request, cacheControl: "public, max-age=31536000, immutable")
        case .nothing:
            return plain(404, "Not found.\n", [Field("cache-control", "no-store")])
        }
    }

    /// Whether `response` returns a response for this path.
    func serves(_ path: String) -> Bool { file(of: path) != nil }

    private enum Resource {
        case root
        case moved(String)
        case page(Asset)
        case unknown
        case asset(Asset)
        case nothing
    }

    private func file(of path: String) -> Resource? {
        switch path {
        case "/": return .root
        // Pages for people who are no operators have short addresses and use the same shell.
        case "/console", "/invite", "/join", "/reset", "/email", "/not-me": return .page(shell)
        case "/favicon.svg": return .page(icon)
        default: break
        }
        if let address = Self.mended(path) { return .moved(address) }
        let bytes = path.utf8
        guard bytes.starts(with: "/console/".utf8) else { return nil }
        // A request for an asset of an earlier version gets 404 without the shell: the browser
        // expects a script, and the shell is a page.
        guard bytes.starts(with: "/console/assets/".utf8) else {
            return ConsolePaths.has(path) ? .page(shell) : .unknown
        }
        return assets[path].map(Resource.asset) ?? .nothing
    }

    /// Returns the correct address for a one-time link whose `#` was percent-encoded on its way;
    /// `nil` for any other path. The code belongs after the `#`, since a browser does not send that
    /// part to a server.
    private static func mended(_ path: String) -> String? {
        let pages = [
            "/invite", "/join", "/reset", "/email", "/not-me", "/console/sign-in", "/sign-in",
        ]
        for page in pages {
            for sign in ["#", "%23"] where path.utf8.starts(with: (page + sign).utf8) {
                let rest = path.utf8.dropFirst(page.utf8.count + sign.utf8.count)
                let isSound = rest.allSatisfy {
                    (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                        || (0x61...0x7A).contains($0) || "-_=%.".utf8.contains($0)
                }
                return isSound ? page + "#" + String(decoding: rest, as: UTF8.self) : nil
            }
        }
        return nil
    }

    private func plain(_ status: Int, _ text: String, _ fields: [Field]) -> Response {
        var response = Response(status, type: "text/plain; charset=utf-8", Array(text.utf8))
        response.fields += fields
        return SecurityHeaders.added(to: response)
    }
}

/// Why the console's files cannot be served; `description` names the path.
package struct ConsoleFilesError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The addresses below `/console/` that have a page. `Public/app.js` and `Public/lib/server.js`
/// have the same list; a test compares them.
enum ConsolePaths {
    private static let pages: Set<String> = [
        "setup", "sign-in", "tenants", "people", "simulator", "audit", "operators", "providers",
        "me", "keys", "origins", "decisions",
    ]
    /// Pages of the platform that also have a page for each of their items.
    private static let things: Set<String> = ["keys", "origins", "decisions"]
    /// The pages of a tenant, below `/console/t/<tenant>/`.
    static let sections: Set<String> = [
        "users", "requests", "invites", "policy", "domains", "keys", "origins", "clients",
        "decisions", "jobs", "audit", "settings",
    ]
    /// Pages below a tenant that also have a page for each of their items.
    private static let sectionsOfThings: Set<String> = ["users", "keys", "jobs"]

    /// Whether the console has a page at this path. `path` begins with `/console/`; a slash at its
    /// end makes no difference.
    static func has(_ path: String) -> Bool {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        if parts.last?.isEmpty == true { parts.removeLast() }
        let names = parts.map(String.init)
        guard names.allSatisfy({ !$0.isEmpty }) else { return false }
        switch names.count {
        case 0: return true
        case 1: return pages.contains(names[0])
        case 2 where names[0] != "t": return things.contains(names[0])
        default: return names[0] == "t" && isOfTenant(Array(names.dropFirst(2)))
        }
    }

    private static func isOfTenant(_ names: [String]) -> Bool {
        guard let section = names.first else { return true }
        switch names.count {
        case 1: return sections.contains(section)
        case 2:
            return sectionsOfThings.contains(section)
                || section == "invites" && names[1] == "join-links"
        default: return false
        }
    }
}

/// Reads all files of a folder into memory.
enum FileTree {
    struct File {
        /// The file's path relative to the folder, with `/` between the parts.
        let path: String
        let bytes: [UInt8]
    }

    /// Returns every regular file below `directory`, sorted by path, except those whose name begins
    /// with a dot.
    static func read(_ directory: String) throws(ConsoleFilesError) -> [File] {
        var files: [File] = []
        try collect(directory, prefix: "", into: &files)
        return files.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }

    private static func collect(
        _ directory: String, prefix: String, into files: inout [File]
    ) throws(ConsoleFilesError) {
        for name in try names(in: directory) where name.utf8.first != UInt8(ascii: ".") {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard stat(path, &status) == 0 else { throw failure(path) }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try collect(path, prefix: "\(prefix)\(name)/", into: &files)
            case S_IFREG: files.append(File(path: prefix + name, bytes: try contents(of: path)))
            default: throw ConsoleFilesError("\(path): neither a file nor a folder")
            }
        }
    }

    private static func names(in directory: String) throws(ConsoleFilesError) -> [String] {
        guard let handle = opendir(directory) else { throw failure(directory) }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    private static func contents(of path: String) throws(ConsoleFilesError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    private static func failure(_ path: String) -> ConsoleFilesError {
        ConsoleFilesError("\(path): \(String(cString: strerror(errno)))")
    }
}
