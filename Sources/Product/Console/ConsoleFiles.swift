import HTTP
import Workers

/// Serves the console's files from a table made at start: only files in the table are reachable, so
/// no path can leave the folder.
///
/// Assets are below `/console/assets/<hash>/`, where the hash covers the whole tree, and may be
/// cached for ever; relative imports of ES modules stay in one version. Pages are revalidated.
package struct ConsoleFiles: Sendable {
    /// The placeholder for the hash in pages.
    static let placeholder = "/console/assets/-/"

    private let assets: [String: Asset]
    private let shell: Asset
    private let icon: Asset
    /// The hash of the tree: 16 hexadecimal digits.
    package let version: String
    /// Compresses the files while the first requests are answered.
    private let worker = WorkerPool(threads: 1, queueLimit: 1)

    /// Reads every file below `directory`, which must hold `index.html` and `favicon.svg`, and joins
    /// those that are served as one.
    /// Throws `ConsoleFilesError` with the path that is missing or not understood.
    package init(directory: String) throws(ConsoleFilesError) {
        let files = try JoinedFiles.join(FileTree.read(directory))
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
        // A file that is asked for before its turn is compressed by the one who asks.
        let all = [shell, icon] + assets.values
        _ = worker.submit { for asset in all { asset.compress() } }
    }

    /// The response for `/`, `/console`, `/console/…` (404 with the shell where it has no such page), `/invite`, `/join`, `/reset`, `/email` and
    /// `/favicon.svg`; nil for any other path. For HEAD it has the body of GET: the encoder omits
    /// it after counting its length (RFC 9110 §9.3.2).
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
            // The shell says so in words.
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

    /// Whether `response` answers on this path.
    package func serves(_ path: String) -> Bool { file(of: path) != nil }

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
        // Pages for people outside have short addresses and the same shell.
        case "/console", "/invite", "/join", "/reset", "/email", "/not-me": return .page(shell)
        case "/favicon.svg": return .page(icon)
        default: break
        }
        if let address = Self.mended(path) { return .moved(address) }
        let bytes = path.utf8
        guard bytes.starts(with: "/console/".utf8) else { return nil }
        // An asset of an earlier version is 404, never the shell under a script's name.
        guard bytes.starts(with: "/console/assets/".utf8) else {
            return ConsolePaths.has(path) ? .page(shell) : .unknown
        }
        return assets[path].map(Resource.asset) ?? .nothing
    }

    /// The address of a one-time link whose `#` was percent-encoded on its way: the code belongs behind
    /// the `#`, where no server sees it. nil for any other path.
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
