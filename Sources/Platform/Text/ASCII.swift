/// Operations on ASCII bytes, for protocol comparisons.
package enum ASCII {
    package static func lower(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    package static func lower(_ bytes: some Sequence<UInt8>) -> [UInt8] { bytes.map { lower($0) } }

    package static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    package static func isLowerOrDigit(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || isDigit(byte)
    }

    /// A host label in canonical form: 1–63 of `a-z 0-9 -`, no hyphen at an end.
    package static func isLabel(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
        guard let first = bytes.first, let last = bytes.last, bytes.count <= 63 else {
            return false
        }
        return isLowerOrDigit(first) && isLowerOrDigit(last)
            && bytes.allSatisfy { isLowerOrDigit($0) || $0 == UInt8(ascii: "-") }
    }

    /// The decimal number of 1 to `digits` digits without a leading zero; nil for anything else.
    package static func number(_ bytes: some Collection<UInt8>, digits: Int) -> Int? {
        guard !bytes.isEmpty, bytes.count <= digits, bytes.allSatisfy(isDigit),
            bytes.count == 1 || bytes.first != 0x30
        else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
