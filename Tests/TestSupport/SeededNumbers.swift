/// Random numbers from a seed (SplitMix64), so that a failure can be reproduced.
package struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    /// The seed is mixed: the raw state of one seed is a few steps behind that of the next.
    package init(seed: UInt64) {
        state = seed
        state = next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    package mutating func pick<T>(_ values: [T]) -> T {
        values[Int(next() % UInt64(values.count))]
    }

    /// True once in `number` calls, on average.
    package mutating func chance(_ number: UInt64) -> Bool { next() % number == 0 }
}
