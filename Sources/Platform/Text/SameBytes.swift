import Glibc

/// Equality of UTF-8 bytes. Swift's own `==` follows Unicode canonical equivalence and would merge
/// texts that the database keeps apart.
package func sameBytes(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    var (left, right) = (left, right)
    return left.withUTF8 { one in
        right.withUTF8 { memcmp(one.baseAddress!, $0.baseAddress!, $0.count) == 0 }
    }
}

/// Equality of bytes, ASCII letters without case.
package func sameBytesIgnoringASCIICase(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { asciiLower($0) == asciiLower($1) }
}

/// ASCII letters to lower case, other bytes unchanged.
package func asciiLowercased(_ text: String) -> String {
    String(decoding: text.utf8.map(asciiLower), as: UTF8.self)
}

private func asciiLower(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
}
