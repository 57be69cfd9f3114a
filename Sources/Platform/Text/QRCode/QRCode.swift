/// A QR code (ISO/IEC 18004) that encodes bytes at error correction level M. The SVG picture also
/// has the light border that the standard requires around the code.
package struct QRCode: Sendable, Equatable {
    /// The number of modules on each side.
    package let size: Int
    /// Whether each module is dark, row by row.
    private(set) var dark: [Bool]
    /// Whether each module belongs to a function pattern, which has no data and is not masked.
    private(set) var isFunction: [Bool]
    let version: QRVersion

    /// Encodes bytes; `nil` if there are more bytes than the largest version has room for.
    package init?(_ bytes: [UInt8]) {
        guard let version = QRVersion(holding: bytes.count) else { return nil }
        self.version = version
        size = version.size
        dark = [Bool](repeating: false, count: size * size)
        isFunction = dark
        drawFunctionPatterns()
        drawData(version.codewords(of: bytes))
        mask()
    }

    /// Whether a module is dark. `x` and `y` count from the upper left corner.
    package subscript(x: Int, y: Int) -> Bool { dark[y * size + x] }

    mutating func set(_ x: Int, _ y: Int, _ isDark: Bool) {
        dark[y * size + x] = isDark
        isFunction[y * size + x] = true
    }

    mutating func flip(_ index: Int) { dark[index].toggle() }

    /// Places the codewords as section 7.7.3 prescribes: in pairs of columns from the right,
    /// alternately upwards and downwards, skipping the column of the timing pattern.
    private mutating func drawData(_ codewords: [UInt8]) {
        var bit = 0
        var isUpward = true
        for right in stride(from: size - 1, to: 0, by: -2) {
            let right = right <= 6 ? right - 1 : right
            for step in 0..<size {
                let y = isUpward ? size - 1 - step : step
                for x in [right, right - 1] where !isFunction[y * size + x] {
                    // Modules that are left after the last codeword stay light.
                    guard bit < codewords.count * 8 else { continue }
                    dark[y * size + x] = codewords[bit >> 3] >> (7 - bit & 7) & 1 == 1
                    bit += 1
                }
            }
            isUpward.toggle()
        }
    }

    /// The code as an SVG picture with a border of 4 light modules. Each run of dark modules in a
    /// row is one rectangle.
    package var svg: String {
        let side = size + 8
        var path = ""
        for y in 0..<size {
            var x = 0
            while x < size {
                var end = x
                while end < size, self[end, y] { end += 1 }
                if end > x { path += "M\(x + 4) \(y + 4)h\(end - x)v1h-\(end - x)z" }
                x = max(end, x + 1)
            }
        }
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(side) \(side)\" "
            + "shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h\(side)v\(side)H0z\"/>"
            + "<path fill=\"#000\" d=\"\(path)\"/></svg>"
    }
}

/// A size of QR codes at level M, numbered 1 to 40 (ISO/IEC 18004 tables 7 and 9).
struct QRVersion: Equatable {
    let number: Int

    /// The number of error correction codewords in each block, by version. `blockCounts` has the
    /// number of blocks, by version.
    private static let corrections = [
        10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    ]
    private static let blockCounts = [
        1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23,
        25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
    ]

    /// Chooses the smallest version with room for the bytes; `nil` if there is none.
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
    /// The number of bits in which the byte count is written.
    private var countBits: Int { number < 10 ? 8 : 16 }
    /// The number of data codewords.
    private var room: Int { codewords - corrections * blocks }

    private func bitsNeeded(for bytes: Int) -> Int { 4 + countBits + bytes * 8 }

    /// The number of all codewords: as many whole bytes as fit outside the function patterns.
    private var codewords: Int {
        var modules = (16 * number + 128) * number + 64
        if number > 1 {
            let count = number / 7 + 2
            modules -= (25 * count - 10) * count - 55
            if number >= 7 { modules -= 36 }
        }
        return modules / 8
    }

    /// The rows in which alignment patterns have their centres. The columns are the same.
    var alignments: [Int] {
        guard number > 1 else { return [] }
        let count = number / 7 + 2
        let step =
            number == 32 ? 26 : (number * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).map { size - 7 - $0 * step }.reversed()
    }

    /// Returns the data codewords (mode, byte count, bytes and padding, section 7.4) interleaved
    /// with the error correction codewords (section 7.6).
    func codewords(of bytes: [UInt8]) -> [UInt8] {
        let count =
            countBits == 8
            ? [UInt8(bytes.count)]
            : [
                UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF),
            ]
        // The mode takes four bits, so everything after it is shifted by half a byte.
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

    /// Interleaves the blocks. The last blocks may be one codeword longer than the others.
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

/// Computes error correction codewords over GF(2^8) with the polynomial 0x11D.
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

/// Draws the function patterns: finders, timing, alignment, format and version (ISO/IEC 18004
/// sections 6.3, 7.9 and 7.10).
extension QRCode {
    mutating func drawFunctionPatterns() {
        for index in 0..<size {
            set(6, index, index % 2 == 0)
            set(index, 6, index % 2 == 0)
        }
        for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] { drawFinder(x, y) }
        let centres = version.alignments
        for x in centres {
            for y in centres {
                // Skip the three corners that finder patterns occupy.
                let last = size - 7
                if x == 6 && y == 6 || x == 6 && y == last || x == last && y == 6 { continue }
                drawAlignment(x, y)
            }
        }
        drawFormat(mask: 0)
        drawVersion()
    }

    /// Draws a finder pattern with its light border.
    private mutating func drawFinder(_ x: Int, _ y: Int) {
        for dy in -4...4 {
            for dx in -4...4 {
                let (column, row) = (x + dx, y + dy)
                guard (0..<size).contains(column), (0..<size).contains(row) else { continue }
                let distance = max(abs(dx), abs(dy))
                set(column, row, distance != 2 && distance != 4)
            }
        }
    }

    private mutating func drawAlignment(_ x: Int, _ y: Int) {
        for dy in -2...2 {
            for dx in -2...2 { set(x + dx, y + dy, max(abs(dx), abs(dy)) != 1) }
        }
    }

    /// Draws both copies of the format information, where 00 stands for level M, and the module
    /// that is always dark.
    mutating func drawFormat(mask: Int) {
        var rest = mask
        for _ in 0..<10 { rest = rest << 1 ^ (rest >> 9) * 0x537 }
        let bits = (mask << 10 | rest) ^ 0x5412
        func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for index in 0...5 { set(8, index, bit(index)) }
        set(8, 7, bit(6))
        set(8, 8, bit(7))
        set(7, 8, bit(8))
        for index in 9..<15 { set(14 - index, 8, bit(index)) }
        for index in 0..<8 { set(size - 1 - index, 8, bit(index)) }
        for index in 8..<15 { set(8, size - 15 + index, bit(index)) }
        set(8, size - 8, true)
    }

    /// Draws both copies of the version number, which exist from version 7 on.
    private mutating func drawVersion() {
        guard version.number >= 7 else { return }
        var rest = version.number
        for _ in 0..<12 { rest = rest << 1 ^ (rest >> 11) * 0x1F25 }
        let bits = version.number << 12 | rest
        for index in 0..<18 {
            let isDark = bits >> index & 1 == 1
            let (across, along) = (size - 11 + index % 3, index / 3)
            set(across, along, isDark)
            set(along, across, isDark)
        }
    }
}

/// Chooses the mask that gives the fewest features that could confuse a reader of the code (ISO/IEC
/// 18004 section 7.8).
extension QRCode {
    mutating func mask() {
        var best = self
        var least = Int.max
        for number in 0..<8 {
            var tried = self
            tried.apply(number)
            tried.drawFormat(mask: number)
            let penalty = tried.penalty
            if penalty < least { (best, least) = (tried, penalty) }
        }
        self = best
    }

    private mutating func apply(_ mask: Int) {
        for y in 0..<size {
            for x in 0..<size where !isFunction[y * size + x] && Self.isFlipped(mask, x, y) {
                flip(y * size + x)
            }
        }
    }

    private static func isFlipped(_ mask: Int, _ x: Int, _ y: Int) -> Bool {
        switch mask {
        case 0: (x + y) % 2 == 0
        case 1: y % 2 == 0
        case 2: x % 3 == 0
        case 3: (x + y) % 3 == 0
        case 4: (x / 3 + y / 2) % 2 == 0
        case 5: x * y % 2 + x * y % 3 == 0
        case 6: (x * y % 2 + x * y % 3) % 2 == 0
        default: ((x + y) % 2 + x * y % 3) % 2 == 0
        }
    }

    private var penalty: Int {
        var sum = blockPenalty + balancePenalty
        for index in 0..<size {
            sum += Self.linePenalty((0..<size).map { self[$0, index] })
            sum += Self.linePenalty((0..<size).map { self[index, $0] })
        }
        return sum
    }

    /// Returns the penalty of a row or column. Runs of five or more modules of one colour count,
    /// and so does whatever looks like a finder pattern beside four light modules.
    private static func linePenalty(_ line: [Bool]) -> Int {
        var sum = 0
        var run = 0
        for (index, module) in line.enumerated() {
            run = index > 0 && line[index - 1] == module ? run + 1 : 1
            if run == 5 { sum += 3 } else if run > 5 { sum += 1 }
        }
        let finder = [true, false, true, true, true, false, true]
        let light = [false, false, false, false]
        for pattern in [finder + light, light + finder] where line.count >= pattern.count {
            for start in 0...line.count - pattern.count
            where line[start..<start + pattern.count].elementsEqual(pattern) { sum += 40 }
        }
        return sum
    }

    /// The penalty for squares of two by two modules of one colour.
    private var blockPenalty: Int {
        var sum = 0
        for y in 1..<size {
            for x in 1..<size {
                let colour = self[x, y]
                if colour == self[x - 1, y], colour == self[x, y - 1], colour == self[x - 1, y - 1]
                {
                    sum += 3
                }
            }
        }
        return sum
    }

    /// The penalty for an unequal number of dark and light modules: 10 for each full 5 percent by
    /// which the share of dark modules differs from half.
    private var balancePenalty: Int {
        let share = dark.count { $0 } * 20
        let away = abs(share - dark.count * 10)
        return away / dark.count * 10
    }
}
