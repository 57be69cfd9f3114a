/// The choice of the mask (ISO/IEC 18004 section 7.8): the one that looks least like the patterns
/// by which a reader finds its way.
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

    /// Runs of five and more, and what looks like a finder beside four light modules.
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

    /// Squares of two by two in one colour.
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

    /// Each step of 5 percent away from half dark.
    private var balancePenalty: Int {
        let share = dark.count { $0 } * 20
        let away = abs(share - dark.count * 10)
        return away / dark.count * 10
    }
}
