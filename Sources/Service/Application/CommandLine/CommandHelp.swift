/// Help, the manual page and completions, all written from the declarations.
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

    /// Section 1, in the man macros.
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

    /// The first words, each with the words that may follow it.
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

    /// Inside single quotes of a shell; zsh takes a colon for a separator.
    private static func quoted(_ text: String) -> String {
        String(text.compactMap { $0 == "'" || $0 == ":" ? nil : $0 })
    }

    /// A line that begins with a dot or a quote would be a request to troff.
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
