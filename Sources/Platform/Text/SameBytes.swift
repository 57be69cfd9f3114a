/// Equality on UTF-8 bytes. Swift's own `==` follows Unicode canonical equivalence, so two texts
/// that the database keeps apart would be one here.
package func sameBytes(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8)
}

/// Equality on bytes with ASCII letters taken as lower case.
package func sameBytesIgnoringASCIICase(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { asciiLower($0) == asciiLower($1) }
}

/// ASCII letters to lower case, every other byte as it is.
package func asciiLowercased(_ text: String) -> String {
    String(decoding: text.utf8.map(asciiLower), as: UTF8.self)
}

private func asciiLower(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
}
