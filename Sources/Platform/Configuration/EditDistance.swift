/// Levenshtein's distance, to suggest a name for a mistyped one.
package enum EditDistance {
    /// Single-byte insertions, deletions and substitutions between the UTF-8 forms.
    package static func between(_ left: String, _ right: String) -> Int {
        let other = Array(right.utf8)
        var row = Array(0...other.count)
        for (index, byte) in left.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for at in other.indices {
                let cost = byte == other[at] ? diagonal : min(diagonal, row[at], row[at + 1]) + 1
                diagonal = row[at + 1]
                row[at + 1] = cost
            }
        }
        return row[other.count]
    }
}
