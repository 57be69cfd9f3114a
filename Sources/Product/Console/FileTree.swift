import Glibc

/// Reads all files of a folder into memory.
enum FileTree {
    struct File {
        /// Relative to the folder, with `/` between the parts.
        let path: String
        let bytes: [UInt8]
    }

    /// Every regular file below `directory` by path, except names that begin with a dot.
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
