import Cryptography
import Glibc

/// The files of `Tests/ImportFiles`: exports of other systems, with people whose password is
/// `password`, and with much that cannot be imported.
package enum ImportFile {
    package static let password = "correct horse battery"

    package static func bytes(_ name: String) throws -> [UInt8] {
        let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        guard let file = fopen("/\(folder)/ImportFiles/\(name)", "r") else {
            throw Missing(name: name)
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer[..<count]
        }
        return bytes
    }

    package static func text(_ name: String) throws -> String {
        String(decoding: try bytes(name), as: UTF8.self)
    }

    /// The Firebase project from which `firebase.json` comes, as options of an import.
    package static let options = """
        {"hash":{"signer_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v\
        MDEyMzQ1Njc4OTo7PD0+Pw==","salt_separator":"Cw0=","rounds":8,"mem_cost":14}}
        """

    package static func project() throws -> FirebaseProject {
        try FirebaseProject(
            signerKey: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v"
                + "MDEyMzQ1Njc4OTo7PD0+Pw==", saltSeparator: "Cw0=", rounds: 8, memoryCost: 14)
    }

    private struct Missing: Error { var name: String }
}
