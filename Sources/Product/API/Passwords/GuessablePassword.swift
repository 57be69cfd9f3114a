import Cryptography

/// Passwords that are guessed first: common ones, the user's own data, and repetitions or runs of a
/// few characters. Compared on bytes, in any ASCII case.
enum GuessablePassword {
    /// A unit of at most this many bytes, one and a half times and more, is as weak as the unit.
    private static let unitLimit = 10

    static func matches(_ text: String, about: [String]) -> Bool {
        let bytes = folded(text)
        return CommonPasswords.contains(bytes) || isRun(bytes) || isRepetition(bytes)
            || about.contains { isKnown($0, bytes) }
    }

    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// The name or address itself, or the part before its `@`.
    private static func isKnown(_ word: String, _ bytes: [UInt8]) -> Bool {
        let known = folded(word)
        return bytes == known || bytes.elementsEqual(known.prefix { $0 != 0x40 })
    }

    private static func isRepetition(_ bytes: [UInt8]) -> Bool {
        for unit in 1...unitLimit where unit * 3 <= bytes.count * 2 {
            if (unit..<bytes.count).allSatisfy({ bytes[$0] == bytes[$0 - unit] }) { return true }
        }
        return false
    }

    /// `abcdefgh…`, `87654321…`.
    private static func isRun(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 1 else { return true }
        let steps = zip(bytes, bytes.dropFirst()).map { Int($1) - Int($0) }
        return steps.allSatisfy { $0 == 1 } || steps.allSatisfy { $0 == -1 }
    }
}
