import Glibc

/// Finds the files that belong to the program, in the checkout or installed.
enum Installation {
    struct NotFound: Error, CustomStringConvertible {
        var name: String
        var description: String { "the folder \(name) is neither beside the program nor installed" }
    }

    /// Returns the path of the folder `Public` or `Migrations`, searched from the program's folder
    /// upward, then in /usr/share.
    static func find(_ name: String) throws -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        var folder = String(decoding: buffer.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
        while let slash = folder.lastIndex(of: "/") {
            folder = String(folder[..<slash])
            if isFolder("\(folder)/\(name)") { return "\(folder)/\(name)" }
        }
        let installed = "/usr/share/gatehouse/\(name)"
        guard isFolder(installed) else { throw NotFound(name: name) }
        return installed
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
