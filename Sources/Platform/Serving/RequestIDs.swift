/// Request identifiers of one loop: 32 hexadecimal digits, unique in practice but no secret, so
/// a small generator seeded by the system's is enough.
struct RequestIDs {
    private var state: (UInt64, UInt64)

    init() {
        var system = SystemRandomNumberGenerator()
        state = (system.next(), system.next() | 1)
    }

    /// Xoroshiro128+ of D. Blackman and S. Vigna.
    private mutating func next() -> UInt64 {
        func rotated(_ value: UInt64, _ by: UInt64) -> UInt64 { value << by | value >> (64 - by) }
        let (first, last) = state
        let mixed = last ^ first
        state = (rotated(first, 24) ^ mixed ^ (mixed << 16), rotated(mixed, 37))
        return first &+ last
    }

    /// Lends the 32 ASCII bytes of a new identifier.
    mutating func withNext<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let words = (next(), next())
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            for index in 0..<32 {
                let word = index < 16 ? words.0 : words.1
                let nibble = UInt8(truncatingIfNeeded: word >> UInt64((15 - index & 15) * 4)) & 15
                buffer[index] = nibble < 10 ? 0x30 + nibble : 0x57 + nibble
            }
            return body(UnsafeRawBufferPointer(buffer))
        }
    }

    mutating func nextText() -> String { withNext { String(decoding: $0, as: UTF8.self) } }
}
