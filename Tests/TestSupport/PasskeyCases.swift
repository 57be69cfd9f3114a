import Cryptography
import Glibc
import JSON

/// `Tests/PasskeyCases/cases.json`: answers of authenticators, made by another implementation and
/// checked against a third one.
package struct PasskeyCases: Sendable {
    /// One answer, in the form of the browser's JSON.
    package struct Case: Sendable, CustomStringConvertible {
        package var name: String
        package var isRegistration: Bool
        /// Why it is refused; `nil` if it is good.
        package var reason: String?
        package var answer: JSONValue
        package var stored: JSONValue?

        package var description: String { name }

        package func bytes(_ path: String...) throws -> [UInt8]? {
            try Self.bytes(path.reduce(answer) { $0?[$1] })
        }

        package static func bytes(_ value: JSONValue?) throws -> [UInt8]? {
            guard let text = value?.string else { return nil }
            guard let bytes = Base64URL.decode(text) else { throw Unreadable() }
            return bytes
        }
    }

    struct Unreadable: Error {}

    package var origin: String
    package var relyingParty: String
    package var challenge: [UInt8]
    package var cases: [Case]

    package static func read() throws -> PasskeyCases {
        let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        guard let file = fopen("/\(folder)/PasskeyCases/cases.json", "r") else {
            throw Unreadable()
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer.prefix(count)
        }
        let document = try JSONValue(parsing: bytes)
        guard let origin = document["origin"]?.string,
            let party = document["relying_party"]?.string,
            let challenge = try Case.bytes(document["challenge"])
        else { throw Unreadable() }
        let cases = try (document["cases"]?.array ?? []).map { one in
            guard let name = one["name"]?.string, let answer = one["answer"],
                let kind = one["kind"]?.string
            else { throw Unreadable() }
            return Case(
                name: "\(kind): \(name)", isRegistration: kind == "registration",
                reason: one["reason"]?.string, answer: answer, stored: one["stored"])
        }
        return PasskeyCases(
            origin: origin, relyingParty: party, challenge: challenge, cases: cases)
    }
}
