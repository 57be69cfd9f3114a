/// A regular expression that is matched in linear time: all possible matches are followed at once,
/// without backtracking. A pattern may contain literals, `.`, `[…]`, `\d \w \s` and their
/// opposites, `( )`, `|`, `* + ?`, `{m}`, `{m,}`, `{m,n}`, `^` and `$`. It is matched against
/// Unicode scalars.
package struct LinearPattern: Sendable {
    /// The maximum length of a pattern, in Unicode scalars.
    package static let lengthLimit = 255
    /// The maximum number of steps of a compiled pattern, in which each repetition is written out.
    static let stepLimit = 512
    /// The maximum depth to which groups may be nested.
    static let depthLimit = 16

    enum Step: Sendable {
        case one(ScalarSet)
        case begin, end, match
        case jump(Int)
        case split(Int, Int)
    }

    private let steps: [Step]

    /// Compiles a pattern; `nil` if it uses any other syntax or is too long.
    package init?(_ text: String) {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count <= Self.lengthLimit else { return nil }
        var parser = PatternParser(scalars)
        guard let tree = parser.whole() else { return nil }
        var steps: [Step] = []
        guard Self.write(tree, into: &steps) else { return nil }
        steps.append(.match)
        self.steps = steps
    }

    /// Whether the pattern matches any part of the text.
    package func matches(_ text: String) -> Bool {
        var current = Threads(steps.count)
        var next = Threads(steps.count)
        let scalars = Array(text.unicodeScalars)
        for index in 0...scalars.count {
            let (isFirst, isLast) = (index == 0, index == scalars.count)
            if follow(0, &current, isFirst, isLast) { return true }
            guard !isLast else { return false }
            next.clear()
            for at in current.list {
                guard case .one(let set) = steps[at], set.contains(scalars[index]) else { continue }
                if follow(at + 1, &next, false, index + 1 == scalars.count) { return true }
            }
            swap(&current, &next)
        }
        return false
    }

    private struct Threads {
        var list: [Int] = []
        private var isIn: [Bool]

        init(_ count: Int) { isIn = [Bool](repeating: false, count: count) }

        mutating func insert(_ step: Int) -> Bool {
            if isIn[step] { return false }
            isIn[step] = true
            list.append(step)
            return true
        }

        mutating func clear() {
            for step in list { isIn[step] = false }
            list.removeAll(keepingCapacity: true)
        }
    }

    /// Adds to `threads` every step that can be reached from `start` without reading a scalar.
    /// Returns true if one of these steps is the end of the pattern.
    private func follow(
        _ start: Int, _ threads: inout Threads, _ isFirst: Bool, _ isLast: Bool
    ) -> Bool {
        var waiting = [start]
        while let at = waiting.popLast() {
            guard threads.insert(at) else { continue }
            switch steps[at] {
            case .match: return true
            case .one: break
            case .begin: if isFirst { waiting.append(at + 1) }
            case .end: if isLast { waiting.append(at + 1) }
            case .jump(let to): waiting.append(to)
            case .split(let one, let other): waiting += [other, one]
            }
        }
        return false
    }

    /// Compiles a node and appends its steps. Returns false if the pattern has too many steps.
    private static func write(_ node: PatternNode, into steps: inout [Step]) -> Bool {
        guard steps.count < stepLimit else { return false }
        switch node {
        case .one(let set): steps.append(.one(set))
        case .begin: steps.append(.begin)
        case .end: steps.append(.end)
        case .sequence(let nodes):
            for node in nodes { guard write(node, into: &steps) else { return false } }
        case .either(let one, let other):
            let fork = steps.count
            steps.append(.split(fork + 1, 0))
            guard write(one, into: &steps) else { return false }
            let jump = steps.count
            steps.append(.jump(0))
            steps[fork] = .split(fork + 1, steps.count)
            guard write(other, into: &steps) else { return false }
            steps[jump] = .jump(steps.count)
        case .repeated(let node, let least, let most):
            return write(node, least, most, into: &steps)
        }
        return steps.count < stepLimit
    }

    private static func write(
        _ node: PatternNode, _ least: Int, _ most: Int?, into steps: inout [Step]
    ) -> Bool {
        for _ in 0..<least { guard write(node, into: &steps) else { return false } }
        guard let most else {
            let fork = steps.count
            steps.append(.split(fork + 1, 0))
            guard write(node, into: &steps) else { return false }
            steps.append(.jump(fork))
            steps[fork] = .split(fork + 1, steps.count)
            return steps.count < stepLimit
        }
        var forks: [Int] = []
        for _ in least..<most {
            forks.append(steps.count)
            steps.append(.split(steps.count + 1, 0))
            guard write(node, into: &steps) else { return false }
        }
        for fork in forks { steps[fork] = .split(fork + 1, steps.count) }
        return steps.count < stepLimit
    }
}

/// A set of scalars: the scalars in `ranges` or, if `isOpposite`, all others.
struct ScalarSet: Sendable {
    var ranges: [ClosedRange<UInt32>] = []
    var isOpposite = false

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        ranges.contains { $0.contains(scalar.value) } != isOpposite
    }
}

/// The parsed form of a `LinearPattern`.
indirect enum PatternNode {
    case one(ScalarSet)
    case begin, end
    case sequence([PatternNode])
    case either(PatternNode, PatternNode)
    /// A repeated node, the minimum number of repetitions, and the maximum number. A maximum of
    /// `nil` means no limit.
    case repeated(PatternNode, Int, Int?)
}

/// Parses a pattern. Every function returns `nil` for syntax that is not supported.
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

    /// Parses one scalar or character class within a set.
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
            // Only punctuation may be escaped: an escaped letter can have a special meaning in
            // other dialects.
            let isSign = scalar.isASCII && scalar.value > 0x20 && scalar.value < 0x7F
            guard isSign, !word.contains(where: { $0.contains(scalar.value) }) else { return nil }
            return ScalarSet(ranges: [scalar.value...scalar.value])
        }
    }
}
