import Glibc

/// How progress and results are shown: in colour on a terminal, plain into a pipe or a file.
struct Terminal: Sendable {
    enum Colour: Int, Sendable {
        case red = 31
        case green = 32
        case yellow = 33
        case dim = 2
        case bold = 1
    }

    var isColoured: Bool

    /// NO_COLOR (any value but the empty one) and TERM=dumb ask for plain text.
    init(environment: [String: String], isTerminal: Bool = isatty(1) == 1) {
        let refused = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        isColoured = isTerminal && !refused
    }

    func paint(_ text: String, _ colour: Colour) -> String {
        isColoured ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// One step of a longer task.
    func step(_ text: String) { say(paint("› ", .dim) + text + "\n") }
}
