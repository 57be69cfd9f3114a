/// A regular expression that is matched in time linear in the text: all its ways through the text
/// are followed at once, and it never goes back. Literals, `.`, `[…]`, `\d \w \s` and their
/// opposites, `( )`, `|`, `* + ?`, `{m}`, `{m,}`, `{m,n}`, `^` and `$`; on Unicode scalars.
package struct LinearPattern: Sendable {
    /// Unicode scalars of a pattern.
    package static let lengthLimit = 255
    /// Steps of a pattern, its repetitions written out.
    package static let stepLimit = 512
    /// Groups in each other.
    static let depthLimit = 16

    enum Step: Sendable {
        case one(ScalarSet)
        case begin, end, match
        case jump(Int)
        case split(Int, Int)
    }

    private let steps: [Step]

    /// Nil for a pattern that uses anything else, or is too long.
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

    /// Whether some part of the text matches.
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

    /// True if the match is reached.
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

    /// False if there are too many steps.
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

/// Scalars by ranges, or all others.
struct ScalarSet: Sendable {
    var ranges: [ClosedRange<UInt32>] = []
    var isOpposite = false

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        ranges.contains { $0.contains(scalar.value) } != isOpposite
    }
}
