import Configuration

/// What is wrong with a command line, and the most likely correction.
struct UsageFault: Error, Equatable {
    var message: String
}

/// From words to a command and its options.
struct CommandParser {
    enum Parsed {
        case run(CommandDeclaration, [String: String])
        case help(CommandDeclaration?)
    }

    var commands: [CommandDeclaration]

    /// `words` without the program's name.
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

    /// `operator --help` and `help operator reset` mean a page; `key` alone lacks its second word.
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

    /// The option of a word, and the value that `=` gave with it.
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

    /// The name nearest to what was typed, if one is near.
    static func nearest(_ word: String, _ names: [String]) -> String? {
        let ranked = names.map { (distance: EditDistance.between(word, $0), name: $0) }
        let best = ranked.min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        return best.flatMap { $0.distance <= max(2, word.utf8.count / 3) ? $0.name : nil }
    }
}
