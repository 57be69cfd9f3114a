import Runtime

/// The declaration of one command. The help, the manual page, the completions and the parser all
/// read it, so each of them knows every option.
struct CommandDeclaration: Sendable {
    /// The command's name: one word, or two as in `key issue`.
    var name: String
    var summary: String
    /// The description in `--help` and the manual, in sentences.
    var detail: String
    var options: [OptionDeclaration] = []
    var run: @Sendable (Invocation) throws -> Int32

    /// The command's own options and the options that every command takes.
    var allOptions: [OptionDeclaration] { options + [.help] }
}

struct OptionDeclaration: Sendable {
    /// The option's long name, without the dashes.
    var name: String
    var short: Character?
    /// The value's placeholder in help; `nil` for a flag.
    var value: String?
    /// The allowed values; empty if any value is allowed.
    var choices: [String] = []
    var isRequired = false
    var summary: String

    static let help = OptionDeclaration(name: "help", short: "h", summary: "Show this help.")
    static let output = OptionDeclaration(
        name: "output", short: "o", value: "FORMAT", choices: ["text", "json"],
        summary: "Write text (the default) or json.")

    /// The tenant that the command is about; `without` names what it is about otherwise.
    static func tenant(_ without: String) -> OptionDeclaration {
        OptionDeclaration(
            name: "tenant", short: "t", value: "TENANT",
            summary: "The tenant's slug or id; without it, \(without).")
    }

    /// The option as the help shows it: `-o, --output FORMAT`.
    var spelling: String {
        (short.map { "-\($0), " } ?? "") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }
}

/// One run of a command: the parsed values of its options, and the terminal.
struct Invocation: Sendable {
    var values: [String: String] = [:]
    var terminal: Terminal

    var isJSON: Bool { values["output"] == "json" }
    func has(_ name: String) -> Bool { values[name] != nil }
}

/// What is wrong with a command line, and the most likely correction.
struct UsageFault: Error, Equatable {
    var message: String
}

/// Parses words into a command and its options.
struct CommandParser {
    enum Parsed {
        case run(CommandDeclaration, [String: String])
        case help(CommandDeclaration?)
    }

    var commands: [CommandDeclaration]

    /// Returns the command and its options, or the help that is asked for. `words` excludes the
    /// program's name.
    func parse(_ words: [String]) throws(UsageFault) -> Parsed {
        guard let first = words.first else { throw UsageFault(message: "a command is missing") }
        if ["--help", "-h"].contains(first) { return .help(nil) }
        if words == ["--version"] { return try parse(["version"]) }
        var rest = words[...]
        guard let command = takeCommand(&rest) else {
            if let group = try helpOfGroup(words) { return group }
            throw unknownCommand(words)
        }
        if command.name == "help", let first = rest.first, !first.hasPrefix("-") {
            return try parse(Array(rest) + ["--help"])
        }
        var values: [String: String] = [:]
        while let word = rest.popFirst() {
            let (option, given) = try option(word, of: command)
            if option.name == OptionDeclaration.help.name { return .help(command) }
            guard values[option.name] == nil else {
                throw UsageFault(message: "--\(option.name) is given twice")
            }
            values[option.name] = try value(of: option, given, &rest)
        }
        for option in command.options where option.isRequired && values[option.name] == nil {
            throw UsageFault(message: "\(command.name) needs --\(option.name)")
        }
        return .run(command, values)
    }

    private func takeCommand(_ rest: inout ArraySlice<String>) -> CommandDeclaration? {
        for count in [2, 1] where rest.count >= count {
            let name = rest.prefix(count).joined(separator: " ")
            if let found = commands.first(where: { $0.name == name }) {
                rest = rest.dropFirst(count)
                return found
            }
        }
        return nil
    }

    /// If the words name only a group of commands, returns the help that they ask for, as in
    /// `operator --help`. Throws if the second word is missing, as in `key` alone. Returns `nil` if
    /// the words name no group.
    private func helpOfGroup(_ words: [String]) throws(UsageFault) -> Parsed? {
        let members = commands.filter { $0.name.hasPrefix(words[0] + " ") }
        guard !members.isEmpty, words.count == 1 || words[1].hasPrefix("-") else { return nil }
        if words.dropFirst().contains(where: { ["--help", "-h"].contains($0) }) {
            return .help(members.count == 1 ? members[0] : nil)
        }
        let names = members.map(\.name).joined(separator: ", ")
        throw UsageFault(message: "\(words[0]) needs a second word: \(names)")
    }

    private func unknownCommand(_ words: [String]) -> UsageFault {
        let word = words.prefix { !$0.hasPrefix("-") }.prefix(2).joined(separator: " ")
        let near = Self.nearest(word, commands.map(\.name))
        let name = word.isEmpty ? words[0] : word
        return UsageFault(
            message: "there is no command \(name)" + (near.map { "; was \($0) meant?" } ?? ""))
    }

    /// Returns the option that a word names, and the value after its `=`, if any.
    private func option(
        _ word: String, of command: CommandDeclaration
    ) throws(UsageFault) -> (OptionDeclaration, String?) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let given = parts.count > 1 ? String(parts[1]) : nil
        let spelled = String(parts[0])
        for option in command.allOptions
        where spelled == "--\(option.name)" || option.short.map({ spelled == "-\($0)" }) ?? false {
            return (option, given)
        }
        guard word.hasPrefix("-") else {
            throw UsageFault(message: "\(command.name) takes no \(word)")
        }
        let near = Self.nearest(spelled, command.allOptions.map { "--\($0.name)" })
        throw UsageFault(
            message: "\(command.name) has no option \(spelled)"
                + (near.map { "; was \($0) meant?" } ?? ""))
    }

    private func value(
        of option: OptionDeclaration, _ given: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageFault) -> String {
        guard option.value != nil else {
            guard given == nil else { throw UsageFault(message: "--\(option.name) takes no value") }
            return ""
        }
        guard let value = given ?? rest.popFirst() else {
            throw UsageFault(message: "--\(option.name) needs a value")
        }
        guard option.choices.isEmpty || option.choices.contains(value) else {
            let choices = option.choices.joined(separator: ", ")
            throw UsageFault(message: "--\(option.name) is one of \(choices)")
        }
        return value
    }

    /// Returns the name most similar to the typed word; `nil` if none is similar enough.
    static func nearest(_ word: String, _ names: [String]) -> String? {
        let ranked = names.map { (distance: EditDistance.between(word, $0), name: $0) }
        let best = ranked.min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        return best.flatMap { $0.distance <= max(2, word.utf8.count / 3) ? $0.name : nil }
    }
}

/// Writes help, the manual page and the completions from the declarations of the commands.
struct CommandHelp {
    static let about = "Gatehouse, the front desk of a multi-tenant product."
    private static let settings = """
        Settings come from the environment: GATEHOUSE_LISTEN, GATEHOUSE_DATA_DIR and others, which
        deploy/docs/operating.md lists. A name that is not known stops the start.
        """

    var commands: [CommandDeclaration]

    func overview() -> String {
        let width = commands.map(\.name.utf8.count).max() ?? 0
        var text = "\(Self.about)\n\nusage: gatehouse COMMAND [OPTIONS]\n\n"
        for command in commands {
            text += "  \(Self.padded(command.name, width + 2))\(command.summary)\n"
        }
        text +=
            "\n`gatehouse COMMAND --help` says more. Exit codes: 0 done, 1 failed, 2 wrong usage."
        return text + "\n\n\(Self.settings)\n"
    }

    func page(of command: CommandDeclaration) -> String {
        let options = command.allOptions
        let width = options.map(\.spelling.utf8.count).max() ?? 0
        var text = "usage: gatehouse \(command.name) [OPTIONS]\n\n\(command.detail)\n\n"
        for option in options {
            let choices =
                option.choices.isEmpty ? "" : " (\(option.choices.joined(separator: ", ")))"
            let need = option.isRequired ? " Required." : ""
            text +=
                "  \(Self.padded(option.spelling, width + 2))\(option.summary)\(choices)\(need)\n"
        }
        return text
    }

    /// Returns the manual page for section 1, written in the man macros.
    func manual(version: String) -> String {
        var text = """
            .TH GATEHOUSE 1 "" "Gatehouse \(version)" "Gatehouse"
            .SH NAME
            gatehouse \\- the front desk of a multi-tenant product
            .SH SYNOPSIS
            .B gatehouse
            .I COMMAND
            .RI [ OPTIONS ]
            .SH COMMANDS

            """
        for command in commands {
            text += ".SS \(Self.roff(command.name))\n\(Self.roff(command.detail))\n"
            for option in command.allOptions {
                text += ".TP\n.B \(Self.roff(option.spelling))\n\(Self.roff(option.summary))\n"
            }
        }
        return text + """
            .SH ENVIRONMENT
            \(Self.roff(Self.settings))
            .SH EXIT STATUS
            0 done, 1 failed, 2 wrong usage.

            """
    }

    func completion(for shell: String) -> String {
        switch shell {
        case "bash": bash()
        case "zsh": zsh()
        default: fish()
        }
    }

    /// The first words of all commands, each with the second words that can follow it.
    private var words: [(first: String, seconds: [String])] {
        var words: [(first: String, seconds: [String])] = []
        for command in commands {
            let parts = command.name.split(separator: " ").map(String.init)
            let second = parts.count > 1 ? [parts[1]] : []
            if let at = words.firstIndex(where: { $0.first == parts[0] }) {
                words[at].seconds += second
            } else {
                words.append((parts[0], second))
            }
        }
        return words
    }

    private func flags(of first: String) -> [String] {
        var flags: [String] = []
        for command in commands
        where command.name.split(separator: " ").first.map(String.init) == first {
            for option in command.allOptions where !flags.contains("--\(option.name)") {
                flags.append("--\(option.name)")
            }
        }
        return flags
    }

    private var choices: [OptionDeclaration] {
        var found: [OptionDeclaration] = []
        for option in commands.flatMap(\.options)
        where !option.choices.isEmpty && !found.contains(where: { $0.name == option.name }) {
            found.append(option)
        }
        return found
    }

    private func bash() -> String {
        var text = """
            # bash completion: gatehouse help --completions bash > /etc/bash_completion.d/gatehouse
            _gatehouse() {
                local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
                case $before in

            """
        for option in choices {
            let short = option.short.map { "-\($0)|" } ?? ""
            text += "        \(short)--\(option.name)) COMPREPLY=($(compgen -W "
            text += "'\(option.choices.joined(separator: " "))' -- \"$word\")); return ;;\n"
        }
        text += "    esac\n    case $COMP_CWORD:${COMP_WORDS[1]} in\n"
        let firsts = words.map(\.first).joined(separator: " ")
        text += "        1:*) COMPREPLY=($(compgen -W '\(firsts)' -- \"$word\")) ;;\n"
        for (first, seconds) in words {
            let following = (seconds + flags(of: first)).joined(separator: " ")
            text += "        *:\(first)) COMPREPLY=($(compgen -W '\(following)' -- \"$word\")) ;;\n"
        }
        return text + "    esac\n}\ncomplete -F _gatehouse gatehouse\n"
    }

    private func zsh() -> String {
        var text = "#compdef gatehouse\nlocal -a commands\ncommands=(\n"
        for (first, _) in words {
            let summary = commands.first {
                $0.name.split(separator: " ").first.map(String.init) == first
            }
            text += "    '\(first):\(Self.quoted(summary?.summary ?? ""))'\n"
        }
        text +=
            ")\nif (( CURRENT == 2 )); then _describe command commands; return; fi\ncase $words[2] in\n"
        for (first, seconds) in words {
            let following = (seconds + flags(of: first)).joined(separator: " ")
            text += "    \(first)) compadd -- \(following) ;;\n"
        }
        return text + "esac\n"
    }

    private func fish() -> String {
        var text = "complete -c gatehouse -f\n"
        for (first, seconds) in words {
            let summary = commands.first {
                $0.name.split(separator: " ").first.map(String.init) == first
            }
            text += "complete -c gatehouse -n __fish_use_subcommand -a \(first) -d "
            text += "'\(Self.quoted(summary?.summary ?? ""))'\n"
            let when = "complete -c gatehouse -n '__fish_seen_subcommand_from \(first)'"
            for second in seconds { text += "\(when) -a \(second)\n" }
        }
        for command in commands {
            let first = command.name.split(separator: " ")[0]
            for option in command.allOptions {
                text += "complete -c gatehouse -n '__fish_seen_subcommand_from \(first)'"
                text += " -l \(option.name)" + (option.short.map { " -s \($0)" } ?? "")
                if option.value != nil { text += " -r" }
                if !option.choices.isEmpty {
                    text += " -a '\(option.choices.joined(separator: " "))'"
                }
                text += " -d '\(Self.quoted(option.summary))'\n"
            }
        }
        return text
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }

    /// Returns the text without single quotes and colons, for use in single quotes of a shell. zsh
    /// would take a colon for a separator.
    private static func quoted(_ text: String) -> String {
        String(text.compactMap { $0 == "'" || $0 == ":" ? nil : $0 })
    }

    /// Returns the text escaped for troff. troff takes a line that begins with a dot or a single
    /// quote for a request.
    private static func roff(_ text: String) -> String {
        var escaped = ""
        var isLineStart = true
        for character in text {
            if isLineStart, character == "." || character == "'" { escaped += "\\&" }
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            default: escaped.append(character)
            }
            isLineStart = character == "\n"
        }
        return escaped
    }
}
