import Cryptography
import JSON
import Text

/// A provider's public keys (RFC 7517). Keys that cannot verify an id token are omitted.
package struct KeySet: Sendable {
    package static let limit = 64

    private struct Entry: Sendable {
        var id: String?
        var key: VerificationKey
        /// The algorithm that the key states; `nil` if the key works with any algorithm of its
        /// type.
        var algorithm: String?

        func key(for wanted: VerificationKey.Algorithm) -> VerificationKey? {
            guard algorithm.map({ sameBytes($0, wanted.rawValue) }) ?? true else { return nil }
            return key.checking(wanted)
        }
    }

    private var entries: [Entry] = []

    package init?(_ bytes: [UInt8]) {
        guard let document = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)),
            let list = document["keys"]?.array, list.count <= Self.limit
        else { return nil }
        for item in list {
            guard let entry = Self.entry(item.withoutNulls) else { continue }
            entries.append(entry)
        }
    }

    var count: Int { entries.count }

    /// The algorithms that the keys can verify, in the order of RFC 7518.
    var algorithms: [VerificationKey.Algorithm] {
        VerificationKey.Algorithm.allCases.filter { wanted in
            entries.contains { $0.key(for: wanted) != nil }
        }
    }

    /// The keys to try for a token. If the token has a key id, these are the keys with that id or,
    /// if there are none, the only key without an id. If it has no key id, the set must have
    /// exactly one key for the algorithm.
    func keys(id: String?, algorithm: VerificationKey.Algorithm) -> [VerificationKey] {
        let fitting = entries.compactMap { entry in
            entry.key(for: algorithm).map { (id: entry.id, key: $0) }
        }
        guard let id else { return fitting.count == 1 ? [fitting[0].key] : [] }
        let named = fitting.filter { $0.id.map { sameBytes($0, id) } ?? false }
        let nameless = fitting.filter { $0.id == nil }
        return (named.isEmpty && nameless.count == 1 ? nameless : named).map(\.key)
    }

    private static func entry(_ item: JSONValue) -> Entry? {
        if let use = item["use"] {
            guard let text = use.string, sameBytes(text, "sig") else { return nil }
        }
        if let operations = item["key_ops"] {
            let names = (operations.array ?? []).compactMap(\.string)
            guard names.contains(where: { sameBytes($0, "verify") }) else { return nil }
        }
        guard let key = material(item) else { return nil }
        let named = item["alg"]
        guard named == nil || named?.string != nil else { return nil }
        let entry = Entry(id: item["kid"]?.string, key: key, algorithm: named?.string)
        let isUseful = VerificationKey.Algorithm.allCases.contains { entry.key(for: $0) != nil }
        return isUseful ? entry : nil
    }

    private static func material(_ item: JSONValue) -> VerificationKey? {
        guard let kind = item["kty"]?.string else { return nil }
        if sameBytes(kind, "RSA"), let n = bytes(item["n"]), let e = bytes(item["e"]) {
            return try? VerificationKey(n: n, e: e)
        }
        let curve = item["crv"]?.string ?? ""
        if sameBytes(kind, "EC"),
            let known = VerificationKey.Curve.allCases.first(where: {
                sameBytes($0.rawValue, curve)
            }), let x = bytes(item["x"]), let y = bytes(item["y"])
        {
            return try? VerificationKey(x: x, y: y, on: known)
        }
        if sameBytes(kind, "OKP"), sameBytes(curve, "Ed25519"), let x = bytes(item["x"]) {
            return try? VerificationKey(ed25519: x)
        }
        return nil
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        value?.string.flatMap { Base64URL.decode($0) }
    }
}
