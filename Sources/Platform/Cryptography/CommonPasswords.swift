import CCommonPasswords

/// A list of the most frequently guessed passwords (NIST SP 800-63B section 3.1.1.2).
package enum CommonPasswords {
    /// Whether a password is on the list, in any ASCII case. All entries have 8 or more bytes.
    package static func contains(_ password: some Sequence<UInt8>) -> Bool {
        let wanted = password.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let list = UnsafeRawBufferPointer(
            start: common_passwords(), count: Int(common_passwords_length()))
        var low = 0
        var high = list.count
        while low < high {
            let line = Self.line(at: (low + high) / 2, in: list)
            let entry = list[line]
            if entry.elementsEqual(wanted) { return true }
            if entry.lexicographicallyPrecedes(wanted) {
                low = line.upperBound + 1
            } else {
                high = line.lowerBound
            }
        }
        return false
    }

    /// The line around an offset, without its newline.
    private static func line(at offset: Int, in list: UnsafeRawBufferPointer) -> Range<Int> {
        var start = offset
        while start > 0, list[start - 1] != 0x0A { start -= 1 }
        var end = start
        while end < list.count, list[end] != 0x0A { end += 1 }
        return start..<end
    }
}
