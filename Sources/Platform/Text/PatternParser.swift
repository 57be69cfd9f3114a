/// What a `LinearPattern` was written as.
indirect enum PatternNode {
    case one(ScalarSet)
    case begin, end
    case sequence([PatternNode])
    case either(PatternNode, PatternNode)
    /// At least, and at most if not nil.
    case repeated(PatternNode, Int, Int?)
}

/// Parses a pattern; every function gives nil for what is not understood.
struct PatternParser {
    private let scalars: [Unicode.Scalar]
    private var at = 0
    private var depth = 0

    init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

    mutating func whole() -> PatternNode? {
        guard let node = alternatives(), at == scalars.count else { return nil }
        return node
    }

    private var next: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        at += 1
        return true
    }

    private mutating func alternatives() -> PatternNode? {
        guard var node = sequence() else { return nil }
        while take("|") {
            guard let other = sequence() else { return nil }
            node = .either(node, other)
        }
        return node
    }

    private mutating func sequence() -> PatternNode? {
        var nodes: [PatternNode] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            guard let node = atom(), let times = repeated(node) else { return nil }
            nodes.append(times)
        }
        return .sequence(nodes)
    }

    private mutating func atom() -> PatternNode? {
        guard let scalar = next else { return nil }
        at += 1
        switch scalar {
        case "^": return .begin
        case "$": return .end
        case ".":
            return .one(
                ScalarSet(ranges: [0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029], isOpposite: true))
        case "[": return set().map { .one($0) }
        case "\\": return escape().map { .one($0) }
        case "(": return group()
        case "*", "+", "?", "{", "}", "]", ")": return nil
        default: return .one(ScalarSet(ranges: [scalar.value...scalar.value]))
        }
    }

    private mutating func group() -> PatternNode? {
        if take("?") { guard take(":") else { return nil } }
        depth += 1
        guard depth <= LinearPattern.depthLimit, let node = alternatives(), take(")") else {
            return nil
        }
        depth -= 1
        return node
    }

    private mutating func repeated(_ node: PatternNode) -> PatternNode? {
        let result: PatternNode
        if take("*") {
            result = .repeated(node, 0, nil)
        } else if take("+") {
            result = .repeated(node, 1, nil)
        } else if take("?") {
            result = .repeated(node, 0, 1)
        } else if take("{") {
            guard let least = number() else { return nil }
            var most: Int? = least
            if take(",") { most = next == "}" ? nil : number() ?? -1 }
            guard take("}"), most.map({ $0 >= least }) ?? true else { return nil }
            result = .repeated(node, least, most)
        } else {
            return node
        }
        switch node {
        case .begin, .end: return nil
        default: return next.map { ["*", "+", "?", "{"].contains($0) } == true ? nil : result
        }
    }

    private mutating func number() -> Int? {
        var value: Int?
        while let digit = next, (0x30...0x39).contains(digit.value) {
            at += 1
            value = (value ?? 0) * 10 + Int(digit.value - 0x30)
            guard value ?? 0 <= LinearPattern.stepLimit else { return nil }
        }
        return value
    }

    private mutating func set() -> ScalarSet? {
        var set = ScalarSet()
        set.isOpposite = take("^")
        while !take("]") {
            guard let low = member() else { return nil }
            guard next == "-", at + 1 < scalars.count, scalars[at + 1] != "]" else {
                set.ranges += low
                continue
            }
            at += 1
            guard let high = member(), low.count == 1, high.count == 1,
                low[0].count == 1, high[0].count == 1, low[0].lowerBound <= high[0].lowerBound
            else { return nil }
            set.ranges.append(low[0].lowerBound...high[0].lowerBound)
        }
        return set
    }

    /// One scalar of a set, or a class in it.
    private mutating func member() -> [ClosedRange<UInt32>]? {
        guard let scalar = next else { return nil }
        at += 1
        guard scalar == "\\" else { return scalar == "[" ? nil : [scalar.value...scalar.value] }
        guard let escaped = escape(), !escaped.isOpposite else { return nil }
        return escaped.ranges
    }

    private mutating func escape() -> ScalarSet? {
        guard let scalar = next else { return nil }
        at += 1
        let digits: [ClosedRange<UInt32>] = [0x30...0x39]
        let word = digits + [0x41...0x5A, 0x5F...0x5F, 0x61...0x7A]
        let space: [ClosedRange<UInt32>] = [
            0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A,
            0x2028...0x2029, 0x202F...0x202F, 0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
        ]
        switch scalar {
        case "d": return ScalarSet(ranges: digits)
        case "D": return ScalarSet(ranges: digits, isOpposite: true)
        case "w": return ScalarSet(ranges: word)
        case "W": return ScalarSet(ranges: word, isOpposite: true)
        case "s": return ScalarSet(ranges: space)
        case "S": return ScalarSet(ranges: space, isOpposite: true)
        default:
            // Of signs alone: a letter's escape would mean more than the letter elsewhere.
            let isSign = scalar.isASCII && scalar.value > 0x20 && scalar.value < 0x7F
            guard isSign, !word.contains(where: { $0.contains(scalar.value) }) else { return nil }
            return ScalarSet(ranges: [scalar.value...scalar.value])
        }
    }
}
