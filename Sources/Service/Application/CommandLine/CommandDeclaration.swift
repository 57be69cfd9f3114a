/// One command of the program. Help, manual page, completions and parser read the same
/// declarations, so all know every option.
struct CommandDeclaration: Sendable {
    /// One word, or two as in `key issue`.
    var name: String
    var summary: String
    /// Sentences for `--help` and the manual.
    var detail: String
    var options: [OptionDeclaration] = []
    var run: @Sendable (Invocation) throws -> Int32

    /// The options with those that every command takes.
    var allOptions: [OptionDeclaration] { options + [.help] }
}

struct OptionDeclaration: Sendable {
    /// Without the dashes.
    var name: String
    var short: Character?
    /// The value's placeholder in help; nil: a flag.
    var value: String?
    /// The allowed values; empty: any.
    var choices: [String] = []
    var isRequired = false
    var summary: String

    static let help = OptionDeclaration(name: "help", short: "h", summary: "Show this help.")
    static let output = OptionDeclaration(
        name: "output", short: "o", value: "FORMAT", choices: ["text", "json"],
        summary: "Write text (the default) or json.")

    /// As help writes it: `-o, --output FORMAT`.
    var spelling: String {
        (short.map { "-\($0), " } ?? "") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }
}

/// One call, parsed.
struct Invocation: Sendable {
    var values: [String: String] = [:]
    var terminal: Terminal

    var isJSON: Bool { values["output"] == "json" }
    func has(_ name: String) -> Bool { values[name] != nil }
}
