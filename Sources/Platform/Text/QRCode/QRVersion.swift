/// A size of QR codes at level M, 1 to 40 (ISO/IEC 18004 tables 7 and 9).
struct QRVersion: Equatable {
    let number: Int

    /// Codewords of error correction in each block, and how many blocks, by version.
    private static let corrections = [
        10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    ]
    private static let blockCounts = [
        1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23,
        25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
    ]

    /// The smallest with room; nil if none has.
    init?(holding bytes: Int) {
        guard
            let number = (1...40).first(where: {
                QRVersion(number: $0).bitsNeeded(for: bytes) <= QRVersion(number: $0).room * 8
            })
        else { return nil }
        self.number = number
    }

    private init(number: Int) { self.number = number }

    var size: Int { number * 4 + 17 }

    private var corrections: Int { Self.corrections[number - 1] }
    private var blocks: Int { Self.blockCounts[number - 1] }
    /// Of the count of bytes.
    private var countBits: Int { number < 10 ? 8 : 16 }
    /// Codewords of data.
    private var room: Int { codewords - corrections * blocks }

    private func bitsNeeded(for bytes: Int) -> Int { 4 + countBits + bytes * 8 }

    /// All codewords: what no function pattern takes, in whole bytes.
    private var codewords: Int {
        var modules = (16 * number + 128) * number + 64
        if number > 1 {
            let count = number / 7 + 2
            modules -= (25 * count - 10) * count - 55
            if number >= 7 { modules -= 36 }
        }
        return modules / 8
    }

    /// Rows and columns of the centres of the alignment patterns.
    var alignments: [Int] {
        guard number > 1 else { return [] }
        let count = number / 7 + 2
        let step =
            number == 32 ? 26 : (number * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).map { size - 7 - $0 * step }.reversed()
    }

    /// Mode, count, bytes, padding (section 7.4), then error correction, interleaved (7.6).
    func codewords(of bytes: [UInt8]) -> [UInt8] {
        let count =
            countBits == 8
            ? [UInt8(bytes.count)]
            : [
                UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF),
            ]
        // The mode's four bits shift all that follows by half a byte.
        var data: [UInt8] = []
        var held: UInt8 = 0x4
        for byte in count + bytes {
            data.append(held << 4 | byte >> 4)
            held = byte & 0x0F
        }
        data.append(held << 4)
        data = Array(data.prefix(room))
        var pad: UInt8 = 0xEC
        while data.count < room {
            data.append(pad)
            pad ^= 0xEC ^ 0x11
        }
        return interleaved(data)
    }

    /// The later blocks are longer by one.
    private func interleaved(_ data: [UInt8]) -> [UInt8] {
        let short = room / blocks
        let shortCount = blocks - room % blocks
        let code = ReedSolomon(degree: corrections)
        var parts: [ArraySlice<UInt8>] = []
        var at = 0
        for index in 0..<blocks {
            let end = at + short + (index < shortCount ? 0 : 1)
            parts.append(data[at..<end])
            at = end
        }
        var all: [UInt8] = []
        for index in 0...short {
            for part in parts where index < part.count { all.append(part[part.startIndex + index]) }
        }
        let corrected = parts.map { code.remainder(of: $0) }
        for index in 0..<corrections { all += corrected.map { $0[index] } }
        return all
    }
}

/// Error correction over GF(2^8) with the polynomial 0x11D.
private struct ReedSolomon {
    private let divisor: [UInt8]

    init(degree: Int) {
        var result = [UInt8](repeating: 0, count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in 0..<degree {
                result[index] = Self.multiply(result[index], root)
                if index + 1 < degree { result[index] ^= result[index + 1] }
            }
            root = Self.multiply(root, 2)
        }
        divisor = result
    }

    func remainder(of data: ArraySlice<UInt8>) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: divisor.count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for index in result.indices { result[index] ^= Self.multiply(divisor[index], factor) }
        }
        return result
    }

    private static func multiply(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var product: UInt8 = 0
        for bit in (0..<8).reversed() {
            let carries = product & 0x80 != 0
            product <<= 1
            if carries { product ^= 0x1D }
            if right >> bit & 1 == 1 { product ^= left }
        }
        return product
    }
}
