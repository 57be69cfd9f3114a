/// A QR code (ISO/IEC 18004) of bytes, at error correction level M, with a quiet zone when drawn.
package struct QRCode: Sendable, Equatable {
    /// Modules of one side.
    package let size: Int
    /// Dark modules, row by row.
    private(set) var dark: [Bool]
    /// Modules of the function patterns, which neither hold data nor are masked.
    private(set) var isFunction: [Bool]
    let version: QRVersion

    /// nil for more bytes than the largest version has room for.
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

    /// Whether the module is dark. `x`, `y`: from the upper left.
    package subscript(x: Int, y: Int) -> Bool { dark[y * size + x] }

    mutating func set(_ x: Int, _ y: Int, _ isDark: Bool) {
        dark[y * size + x] = isDark
        isFunction[y * size + x] = true
    }

    mutating func flip(_ index: Int) { dark[index].toggle() }

    /// Section 7.7.3: in pairs of columns from the right, up and down in turn, without the column
    /// of the timing pattern.
    private mutating func drawData(_ codewords: [UInt8]) {
        var bit = 0
        var isUpward = true
        for right in stride(from: size - 1, to: 0, by: -2) {
            let right = right <= 6 ? right - 1 : right
            for step in 0..<size {
                let y = isUpward ? size - 1 - step : step
                for x in [right, right - 1] where !isFunction[y * size + x] {
                    // What is left over at the end stays light.
                    guard bit < codewords.count * 8 else { continue }
                    dark[y * size + x] = codewords[bit >> 3] >> (7 - bit & 7) & 1 == 1
                    bit += 1
                }
            }
            isUpward.toggle()
        }
    }

    /// A picture of 4 light modules around; each dark run of a row is one rectangle.
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
