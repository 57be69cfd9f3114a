import Cryptography
import JSON
import Text

/// A provider's public keys (RFC 7517). Keys that cannot verify an id token are left out.
package struct KeySet: Sendable {
    package static let limit = 64

    private struct Entry: Sendable {
        var id: String?
        var key: VerificationKey
    }

    private var entries: [Entry] = []

    package init?(_ bytes: [UInt8]) {
        guard let document = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)),
            let list = document["keys"]?.array, list.count <= Self.limit
        else { return nil }
        for item in list {
            guard let key = Self.key(item) else { continue }
            entries.append(Entry(id: item["kid"]?.string, key: key))
        }
    }

    var count: Int { entries.count }

    /// The keys that may verify a token: those of its key id, else the only key of the set.
    func keys(id: String?, algorithm: VerificationKey.Algorithm) -> [VerificationKey] {
        let fitting = entries.filter { $0.key.algorithm == algorithm }
        guard let id else { return fitting.count == 1 ? [fitting[0].key] : [] }
        return fitting.filter { $0.id.map { sameBytes($0, id) } ?? false }.map(\.key)
    }

    private static func key(_ item: JSONValue) -> VerificationKey? {
        if let use = item["use"] {
            guard let text = use.string, sameBytes(text, "sig") else { return nil }
        }
        if let operations = item["key_ops"] {
            let names = (operations.array ?? []).compactMap(\.string)
            guard names.contains(where: { sameBytes($0, "verify") }) else { return nil }
        }
        guard let key = material(item) else { return nil }
        if let algorithm = item["alg"] {
            guard let text = algorithm.string, sameBytes(text, key.algorithm.rawValue) else {
                return nil
            }
        }
        return key
    }

    private static func material(_ item: JSONValue) -> VerificationKey? {
        guard let kind = item["kty"]?.string else { return nil }
        if sameBytes(kind, "RSA"), let n = bytes(item["n"]), let e = bytes(item["e"]) {
            return try? VerificationKey(n: n, e: e)
        }
        if sameBytes(kind, "EC"), item["crv"]?.string.map({ sameBytes($0, "P-256") }) ?? false,
            let x = bytes(item["x"]), let y = bytes(item["y"])
        {
            return try? VerificationKey(x: x, y: y)
        }
        return nil
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        value?.string.flatMap { Base64URL.decode($0) }
    }
}
