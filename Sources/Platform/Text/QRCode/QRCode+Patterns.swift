/// Finders, timing, alignment, format and version (ISO/IEC 18004 sections 6.3, 7.9 and 7.10).
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
                // The finders are there.
                let last = size - 7
                if x == 6 && y == 6 || x == 6 && y == last || x == last && y == 6 { continue }
                drawAlignment(x, y)
            }
        }
        drawFormat(mask: 0)
        drawVersion()
    }

    /// With its light border.
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

    /// Level M is 00. Both copies, and the module that is always dark.
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

    /// From version 7 on, twice.
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
