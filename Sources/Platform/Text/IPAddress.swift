import Glibc

/// An IPv4 or IPv6 address as bytes. An IPv4-mapped IPv6 address is stored as the IPv4 address. So
/// a rule for an IPv4 address also applies if a dual-stack listener reports the mapped address.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The 4 or 16 bytes, in network byte order.
    package let bytes: [UInt8]

    package init?(_ text: some StringProtocol) {
        // inet_pton stops at a zero byte and refuses an IPv6 zone.
        let text = String(text)
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
        var four = [UInt8](repeating: 0, count: 4)
        var sixteen = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = four
        } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
            bytes = Self.unmapped(sixteen)
        } else {
            return nil
        }
    }

    /// Makes an address from bytes in network byte order; `nil` unless there are 4 or 16.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = Self.unmapped(bytes)
    }

    /// The address in dotted decimal, or in the form of RFC 5952.
    package var description: String {
        var text = [CChar](repeating: 0, count: 46)
        _ = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, 46)
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The network by which rate limits count: an IPv4 address itself, or the /64 network of an
    /// IPv6 address, which one host usually has to itself.
    var network: IPAddress {
        guard bytes.count == 16 else { return self }
        return IPAddress(bytes: bytes[..<8] + [UInt8](repeating: 0, count: 8)) ?? self
    }

    /// Returns the text of an address's network for rate limits. Text that is not an address is
    /// returned unchanged.
    package static func network(of text: String) -> String {
        guard let address = IPAddress(text) else { return text }
        return address.bytes.count == 4 ? address.description : "\(address.network)/64"
    }

    package var isLoopback: Bool {
        bytes.count == 4
            ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Whether the address is publicly routable. This excludes the ranges that IANA's
    /// special-purpose registries reserve, and transition forms that contain an IPv4 address.
    package var isGlobal: Bool {
        if bytes.count == 4 { return !Self.reserved4.contains { $0.contains(self) } }
        return bytes[0] & 0xE0 == 0x20 && !Self.reserved6.contains { $0.contains(self) }
    }

    private static let reserved4 = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    ].compactMap { IPRange($0) }

    private static let reserved6 = [
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].compactMap { IPRange($0) }

    private static func unmapped(_ bytes: [UInt8]) -> [UInt8] {
        let prefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        return bytes.count == 16 && bytes.starts(with: prefix) ? Array(bytes[12...]) : bytes
    }
}

/// A block of addresses, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. The bits
/// after the prefix are set to zero, so that each block has only one spelling.
package struct IPRange: Hashable, Sendable, CustomStringConvertible {
    package let base: IPAddress
    /// The length of the prefix in bits: 0–32 or 0–128.
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
            // In the IPv4-mapped form, the prefix length also counts the first 96 bits, which are
            // not stored.
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
