/// A block of addresses: `10.0.0.0/8`, `2001:db8::/32`, or a single address. Bits beyond the prefix
/// are cleared, so that a block has one spelling.
package struct IPRange: Hashable, Sendable, CustomStringConvertible {
    package let base: IPAddress
    /// Bits that count: 0–32 or 0–128.
    package let prefix: Int

    package init?(_ text: some StringProtocol) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = parts.first,
            let address = IPAddress(String(decoding: first, as: UTF8.self))
        else { return nil }
        let width = address.bytes.count * 8
        var prefix = width
        if parts.count == 2 {
            guard let number = ASCII.number(parts[1], digits: 3) else { return nil }
            // A prefix of the mapped form includes 96 bits that were dropped.
            let mapped = width == 32 && first.contains(UInt8(ascii: ":"))
            prefix = mapped ? number - 96 : number
            guard (0...width).contains(prefix) else { return nil }
        }
        let bytes = address.bytes.enumerated().map { index, byte in
            byte & Self.mask(bits: prefix - index * 8)
        }
        guard let base = IPAddress(bytes: bytes) else { return nil }
        self.base = base
        self.prefix = min(prefix, base.bytes.count * 8)
    }

    package func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == base.bytes.count else { return false }
        for (index, byte) in address.bytes.enumerated() {
            guard byte & Self.mask(bits: prefix - index * 8) == base.bytes[index] else {
                return false
            }
        }
        return true
    }

    package var description: String { "\(base)/\(prefix)" }

    private static func mask(bits: Int) -> UInt8 {
        bits >= 8 ? 0xFF : bits <= 0 ? 0 : ~(0xFF >> UInt8(bits))
    }
}
