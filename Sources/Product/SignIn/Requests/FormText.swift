import Text

/// `application/x-www-form-urlencoded`, as queries and token requests are written. A value may
/// hold bytes that should have been escaped, since an app sends its redirect address as it is.
package struct FormText: Sendable {
    private let pairs: [(name: String, value: String)]

    package init(_ text: String) {
        var pairs: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")).prefix(64) {
            let halves = part.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decodeForm(halves[0]),
                let value = halves.count > 1 ? PercentEncoding.decodeForm(halves[1]) : ""
            else { continue }
            pairs.append((name, value))
        }
        self.pairs = pairs
    }

    package func first(_ name: String) -> String? {
        pairs.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// Whether a name is given twice, which is ambiguous.
    package func isRepeated(_ name: String) -> Bool {
        pairs.count { $0.name.utf8.elementsEqual(name.utf8) } > 1
    }

    /// The pairs escaped again, `&` between them.
    package static func encode(_ pairs: [(String, String)]) -> String {
        pairs.map { PercentEncoding.encode($0.0.utf8) + "=" + PercentEncoding.encode($0.1.utf8) }
            .joined(separator: "&")
    }
}
