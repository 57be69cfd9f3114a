import Domain
import JSON
import Postgres
import Runtime

/// All commands of the program; to add one, declare it here.
extension Command {
    static let all: [CommandDeclaration] = [
        CommandDeclaration(
            name: "dev", summary: "Start with a private PostgreSQL and a demo tenant.",
            detail: """
                Starts a private PostgreSQL below GATEHOUSE_DATA_DIR and migrates it. The first start
                also creates an owner and the tenant `demo`. Then it serves, and prints a one-time
                sign-in link. Ctrl-C stops both; the data stays.
                """
        ) {
            try DevelopmentCommand(settings: settings(), terminal: $0.terminal).run()
            return 0
        },
        CommandDeclaration(
            name: "serve", summary: "Serve against GATEHOUSE_DATABASE_URL.",
            detail: "Serves until SIGTERM or SIGINT, then answers the requests in flight and exits."
        ) { _ in
            try ServeCommand(settings: settings()).run()
            return 0
        },
        CommandDeclaration(
            name: "migrate", summary: "Bring the schema up to date.",
            detail: """
                Applies the missing migrations with the login of GATEHOUSE_MIGRATION_DATABASE_URL, each
                in a transaction. Replicas that start at the same time take turns. For a distributed
                database the URL names the coordinator, and the database stays distributed.
                """,
            options: [
                .output,
                OptionDeclaration(
                    name: "distribute",
                    summary: "Spread the tenants over Citus's workers; stop every replica first."
                ),
            ], run: migrate),
        CommandDeclaration(
            name: "check", summary: "Check everything that serve needs, and report what is wrong.",
            detail: """
                Reads the settings, connects to the database, and checks its schema, its roles and
                row-level security, the keys, TLS, and the mail server if one is set. Exit code 1 if
                anything failed; warnings do not count.
                """, options: [.output], run: check),
        CommandDeclaration(
            name: "backup drill", summary: "Show that a dump can be restored, in another database.",
            detail: """
                Dumps the database as GATEHOUSE_BACKUP_DATABASE_URL, restores the dump into the database
                gatehouse_drill at GATEHOUSE_DRILL_DATABASE_URL, compares every table, runs the checks of
                `gatehouse check` there, and verifies GATEHOUSE_DRILL_API_KEY if it is set. Needs pg_dump,
                pg_restore and psql. Prints the time of each step, and drops gatehouse_drill. Exit code
                1 if anything failed.
                """,
            options: [
                OptionDeclaration(
                    name: "dump", value: "FILE",
                    summary: "Restore this file of pg_dump -Fc; its rows are not compared."),
                OptionDeclaration(name: "keep", summary: "Keep gatehouse_drill."), .output,
            ], run: drill),
        CommandDeclaration(
            name: "setup", summary: "Create the first owner, or print a link to the set-up page.",
            detail: """
                With --email, creates the first owner and prints a one-time sign-in link. Without it,
                prints a link to the set-up page. Fails if an operator exists already.
                """,
            options: [
                OptionDeclaration(
                    name: "email", value: "ADDRESS", summary: "The first owner's address."),
                .output,
            ],
            run: { try AdministrationCommand(settings: settings().orOfDevelopment()).setup($0) }),
        CommandDeclaration(
            name: "operator create",
            summary: "Create an operator, and print a link for the first sign-in.",
            detail: """
                Creates an operator of the platform or, with --tenant, of one tenant, under the rules of
                the REST API. The link works once, within a day.
                """,
            options: [
                OptionDeclaration(
                    name: "email", value: "ADDRESS", isRequired: true,
                    summary: "The operator's address."),
                OptionDeclaration(
                    name: "role", value: "ROLE", choices: Operator.Role.allCases.map(\.rawValue),
                    isRequired: true, summary: "What the operator may do."),
                OptionDeclaration(
                    name: "name", short: "n", value: "NAME", summary: "The operator's name."),
                .tenant("an operator of the platform"), .output,
            ],
            run: {
                try AdministrationCommand(settings: settings().orOfDevelopment()).createOperator($0)
            }),
        CommandDeclaration(
            name: "operator reset",
            summary: "Print a link with which an operator sets a new password.",
            detail: """
                For an operator of the platform or of a tenant who cannot sign in, if the server sends
                no mail. The link works once, within an hour. Using it ends the operator's sessions.
                """,
            options: [
                OptionDeclaration(
                    name: "email", value: "ADDRESS", isRequired: true,
                    summary: "The operator's address."),
                .output,
            ],
            run: {
                try AdministrationCommand(settings: settings().orOfDevelopment()).resetOperator($0)
            }),
        CommandDeclaration(
            name: "key issue", summary: "Issue an API key; its secret is shown once.",
            detail: """
                Issues a key of the platform or, with --tenant, of one tenant, under the rules of the
                REST API. Standard output has only the key.
                """,
            options: [
                OptionDeclaration(
                    name: "name", short: "n", value: "NAME", isRequired: true,
                    summary: "The key's name."),
                OptionDeclaration(
                    name: "scopes", short: "s", value: "LIST", isRequired: true,
                    summary: "The key's scopes, separated by commas."),
                .tenant("a key of the platform"),
                OptionDeclaration(
                    name: "environment", value: "NAME", choices: ["live", "test"],
                    summary: "The kind of key."),
                OptionDeclaration(
                    name: "expires-at", value: "TIME", summary: "When the key expires, as RFC 3339."
                ),
                .output,
            ],
            run: { try AdministrationCommand(settings: settings().orOfDevelopment()).issueKey($0) }),
        CommandDeclaration(
            name: "key list", summary: "List the API keys of the platform or of one tenant.",
            detail: "Prints a line for each key: its id, status, beginning and name.",
            options: [.tenant("the keys of the platform"), .output],
            run: { try AdministrationCommand(settings: settings().orOfDevelopment()).listKeys($0) }),
        CommandDeclaration(
            name: "key revoke", summary: "Revoke an API key.",
            detail: """
                When the command has ended, every replica refuses the key. A key that is revoked
                already stays revoked.
                """,
            options: [
                OptionDeclaration(
                    name: "id", value: "ID", isRequired: true,
                    summary: "The key's id, as `gatehouse key list` shows it."),
                .tenant("a key of the platform"), .output,
            ],
            run: { try AdministrationCommand(settings: settings().orOfDevelopment()).revokeKey($0) }
        ),
        CommandDeclaration(
            name: "mail test", summary: "Send a mail, to show that the mail server takes it.",
            detail: """
                Sends one mail by GATEHOUSE_SMTP_URL at once. Exit code 1 if the mail server did not
                take it, with the server's answer.
                """,
            options: [
                OptionDeclaration(
                    name: "to", value: "ADDRESS", isRequired: true, summary: "The recipient.")
            ],
            run: { try AdministrationCommand(settings: settings()).testMail($0) }),
        CommandDeclaration(
            name: "secrets rotate",
            summary: "Move everything sealed from the previous secret key to the current one.",
            detail: """
                First restart every replica with the new key as GATEHOUSE_SECRET_KEY and the old one as
                GATEHOUSE_SECRET_KEY_PREVIOUS; they continue with the old one. This command then
                switches them to the new key, seals everything again and rewrites the directory, while
                they serve. It can be repeated. `gatehouse check` says when nothing needs the previous
                key any more.
                """
        ) {
            try SecretsCommand(settings: settings().orOfDevelopment(), terminal: $0.terminal)
                .rotate()
        },
        CommandDeclaration(
            name: "secrets forget",
            summary: "Continue without a secret key that is lost.",
            detail: """
                Lists what GATEHOUSE_SECRET_KEY does not open, asks for confirmation, and removes it.
                Then it rewrites the directory, and from then on this key is the database's. Stop every
                replica first.
                """,
            options: [OptionDeclaration(name: "yes", summary: "Do not ask.")]
        ) {
            try SecretsCommand(settings: settings().orOfDevelopment(), terminal: $0.terminal)
                .forget($0)
        },
        CommandDeclaration(
            name: "healthcheck", summary: "Ask a running server on this machine for /readyz.",
            detail: "Exit code 0 if the server at GATEHOUSE_LISTEN is ready, 1 if not."
        ) { _ in
            try HealthCheck(settings: settings()).run()
            return 0
        },
        CommandDeclaration(
            name: "help", summary: "Show this help, the manual page or shell completions.",
            detail: "`gatehouse help --man | man -l -` reads the manual.",
            options: [
                OptionDeclaration(name: "man", summary: "Write the manual page."),
                OptionDeclaration(
                    name: "completions", value: "SHELL", choices: ["bash", "zsh", "fish"],
                    summary: "Write completions for a shell."),
            ], run: help),
        CommandDeclaration(
            name: "version", summary: "Print the version.",
            detail: "Prints the version and, for a packaged program, the commit and its date."
        ) { _ in
            say("gatehouse \(Version.full)\n")
            return 0
        },
    ]

    @Sendable private static func help(_ call: Invocation) -> Int32 {
        let help = CommandHelp(commands: all)
        if call.has("man") {
            say(help.manual(version: Version.current))
        } else if let shell = call.values["completions"] {
            say(help.completion(for: shell))
        } else {
            say(help.overview())
        }
        return 0
    }

    @Sendable private static func migrate(_ call: Invocation) throws -> Int32 {
        guard let url = try settings().migrationDatabaseURL else {
            throw Missing(name: "GATEHOUSE_MIGRATION_DATABASE_URL")
        }
        let applied = try Migrator.migrate(
            conninfo: url.text, directory: try Installation.find("Migrations"),
            distributes: call.has("distribute"),
            log: { if !call.isJSON { call.terminal.step("applying \($0)") } },
            waits: { name in
                guard !call.isJSON else { return }
                call.terminal.step("\(name) waited too long for a lock; trying again in a moment")
            })
        if call.isJSON {
            show(.object([.init("applied", .array(applied.map { .string($0) }))]))
        } else {
            say(applied.isEmpty ? "The schema is current.\n" : "\(applied.count) files applied.\n")
        }
        return 0
    }

    @Sendable private static func check(_ call: Invocation) throws -> Int32 {
        let findings: [Finding]
        do {
            findings = Checks(settings: try settings().orOfDevelopment()).run()
        } catch let fault as SettingsFault {
            findings = fault.faults.map {
                Finding(name: "setting", result: .failed, detail: $0.description)
            }
        }
        if !call.isJSON { for finding in findings { say(finding.line(call.terminal) + "\n") } }
        return conclude(findings, call)
    }

    @Sendable private static func drill(_ call: Invocation) throws -> Int32 {
        var findings: [Finding] = []
        try BackupDrill(
            settings: settings(), dump: call.values["dump"], keeps: call.has("keep"),
            report: { finding in
                findings.append(finding)
                if !call.isJSON { say(finding.line(call.terminal) + "\n") }
            }
        ).run()
        let code = conclude(findings, call)
        if code != 0 { complain("gatehouse: the drill FAILED\n") }
        return code
    }

    /// Shows the findings, as JSON if the options ask for it, and returns the exit code.
    private static func conclude(_ findings: [Finding], _ call: Invocation) -> Int32 {
        let failed = findings.contains { $0.result == .failed }
        if call.isJSON {
            show(
                .object([
                    .init("ok", .bool(!failed)),
                    .init("findings", .array(findings.map(\.json))),
                ]))
        }
        return failed ? 1 : 0
    }

    static func show(_ value: JSONValue) {
        say(String(decoding: value.encoded(), as: UTF8.self) + "\n")
    }
}

extension Finding {
    fileprivate var json: JSONValue {
        .object([
            .init("name", .string(name)), .init("result", .string(result.rawValue)),
            .init("detail", .string(detail)),
        ])
    }

    fileprivate func line(_ terminal: Terminal) -> String {
        let colours: [Result: Terminal.Colour] = [.ok: .green, .warning: .yellow, .failed: .red]
        let word = result.rawValue + String(repeating: " ", count: 8 - result.rawValue.utf8.count)
        return terminal.paint(word, colours[result] ?? .dim) + "\(name): \(detail)"
    }
}
