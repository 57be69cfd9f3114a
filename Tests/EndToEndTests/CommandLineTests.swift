import Gatehouse
import JSON
import Postgres
import TestSupport
import Testing

/// The built program, as a shell calls it.
@Suite(.serialized, .cleansUp) struct CommandLineTests {
    private struct Outcome {
        var code: Int32
        var text: String
    }

    private func gatehouse(_ words: [String], _ settings: [String] = []) throws -> Outcome {
        let program = TestCluster.root + "/.build/debug/gatehouse"
        let command = ["env", "-u", "GATEHOUSE_TEST_DATABASE"] + settings + [program] + words
        do {
            return Outcome(code: 0, text: try Shell.run(["timeout", "60"] + command))
        } catch let failure as Shell.Failure {
            return Outcome(code: failure.code >> 8, text: failure.output)
        }
    }

    private func settings(_ database: TestDatabase) -> [String] {
        [
            "GATEHOUSE_DATABASE_URL=" + url(database.app),
            "GATEHOUSE_PLATFORM_DATABASE_URL=" + url(database.platform),
            "GATEHOUSE_MIGRATION_DATABASE_URL=" + url(database.owner),
            "GATEHOUSE_SECRET_KEY=" + String(repeating: "k", count: 32),
        ]
    }

    /// The settings take URLs; the last of equal keywords of a conninfo wins.
    private func url(_ conninfo: String) -> String {
        var values: [String: String] = [:]
        for pair in conninfo.split(separator: " ") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
        let query = values.filter { $0.key != "user" && $0.key != "dbname" }
            .map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "&")
        return "postgresql://\(values["user"] ?? "")@/\(values["dbname"] ?? "")?\(query)"
    }

    @Test func `a mistyped word ends with 2 and the nearest name`() throws {
        for (words, hint) in [
            (["chekc"], "was check meant?"),
            (["check", "--outptu", "json"], "was --output meant?"),
            (["key", "isue"], "was key issue meant?"), (["check", "-o", "xml"], "text, json"),
            (["key", "issue", "--name", "x"], "needs --scopes"),
            (["serve", "now"], "takes no now"),
            (["key"], "key needs a second word: key issue"),
            (["help", "chekc"], "was check meant?"),
            ([], "a command is missing"), (["check", "--output"], "needs a value"),
        ] {
            let outcome = try gatehouse(words)
            #expect(outcome.code == 2 && outcome.text.contains(hint), "\(words): \(outcome.text)")
        }
    }

    @Test func `a port in use is reported before anything else is done`() async throws {
        let running = try await RunningService()
        let port = running.service.port
        for command in ["serve", "dev"] {
            let outcome = try gatehouse(
                [command],
                settings(running.database) + [
                    "GATEHOUSE_LISTEN=127.0.0.1:\(port)", "GATEHOUSE_DATA_DIR=/tmp/gh-none.\(port)",
                ])
            #expect(outcome.code == 1)
            #expect(
                outcome.text.hasPrefix("gatehouse: port \(port) is in use; GATEHOUSE_LISTEN="),
                "\(outcome.text)")
        }
    }

    /// Prints the states that a supervisor receives, until the service stops or sends none for 40 s.
    private static let listener = """
        import socket, sys
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        heard.settimeout(40)
        heard.bind("\\0" + sys.argv[1])
        state = ""
        while state != "STOPPING=1":
            state = heard.recv(512).decode().splitlines()[0]
            print(state, flush=True)
        """

    @Test func `serve reports its start, reload and end, and no secret`()
        async throws
    {
        let database = try await TestDatabase.make()
        let program = TestCluster.root + "/.build/debug/gatehouse"
        let words = settings(database) + ["GATEHOUSE_LISTEN=127.0.0.1:0", "GATEHOUSE_DRAIN=100ms"]
        let script = """
            log=$(mktemp)
            python3 -c '\(Self.listener)' "$log.supervisor" >"$log.heard" &
            for _ in $(seq 100); do grep -q "$log.supervisor" /proc/net/unix && break; sleep 0.05; done
            seen() { timeout 30 tail -n +1 -f "$log" | grep -q -m1 "$1"; }
            env -u GATEHOUSE_TEST_DATABASE NOTIFY_SOCKET="@$log.supervisor" \
                \(words.map { "'\($0)'" }.joined(separator: " ")) \(program) serve >"$log" 2>&1 &
            seen '"service.started"' && kill -HUP $! && seen certificate.reload_skipped && kill -TERM $! || kill -KILL $!
            wait $!
            echo "rc $?"
            wait
            cat "$log.heard" "$log"
            rm "$log" "$log.heard"
            """
        let text = try Shell.run(["bash", "-c", script])
        let heard = "READY=1\nRELOADING=1\nREADY=1\nSTOPPING=1\n"
        #expect(text.hasPrefix("rc 0\n" + heard), "\(text)")
        for word in [
            "\"process.started\"", "\"database_connections\"", "\"stop.requested\"",
            "\"service.stopped\"",
        ] {
            #expect(text.contains(word), "\(word) in \(text)")
        }
        #expect(!text.contains("postgres.lost") && !text.contains("postgres.listener_lost"))
        #expect(!text.contains(String(repeating: "k", count: 32)) && !text.contains("host="))
    }

    @Test func `the first owner's password keeps to the rule of every password`() async throws {
        let database = try await TestDatabase.make()
        var words =
            settings(database) + [
                "GATEHOUSE_LISTEN=127.0.0.1:0", "GATEHOUSE_SETUP_OWNER_EMAIL=ann@corp.example",
                "GATEHOUSE_SETUP_OWNER_PASSWORD=password",
            ]
        let short = try gatehouse(["serve"], words)
        let sentence = "GATEHOUSE_SETUP_OWNER_PASSWORD: must have at least 15 characters"
        #expect(short.code == 1 && short.text.contains(sentence), "\(short.text)")
        words[words.count - 1] = "GATEHOUSE_SETUP_OWNER_PASSWORD=passwordpassword"
        let guessable = try gatehouse(["serve"], words)
        #expect(
            guessable.code == 1 && guessable.text.contains("passwords that are guessed first"),
            "\(guessable.text)")
        #expect(
            try gatehouse(["check"], words).text.contains(
                "warning first owner's password: GATEHOUSE_SETUP_OWNER_PASSWORD is among"))
        let rows = try await database.client(as: database.app).read("SELECT 1 FROM operators")
        #expect(rows.isEmpty)
    }

    @Test func `a link that is lost is made anew by the command that is named`() async throws {
        let database = try await TestDatabase.make()
        let words = ["setup", "--email", "ann@corp.example"]
        #expect(try gatehouse(words, settings(database)).code == 0)
        let again = try gatehouse(words, settings(database))
        #expect(
            again.code == 1 && again.text.contains("`gatehouse operator reset --email ADDRESS`"),
            "\(again.text)")
    }

    @Test func `a test mail shows what the mail server says`() throws {
        let sink = SMTPSink()
        defer { sink.stop() }
        let settings = ["GATEHOUSE_SMTP_URL=\(sink.url)", "GATEHOUSE_MAIL_FROM=gate@corp.example"]
        let words = ["mail", "test", "--to", "ops@corp.example"]
        let taken = try gatehouse(words, settings)
        #expect(taken.code == 0 && taken.text.contains("took the mail"), "\(taken.text)")
        #expect(sink.mails.map(\.to) == [["<ops@corp.example>"]])
        sink.refuse("550 no such person")
        let refused = try gatehouse(words, settings)
        #expect(refused.code == 1 && refused.text.contains("no such person"), "\(refused.text)")
    }

    @Test func `other commands find the database of a running dev by its data`() throws {
        let program = TestCluster.root + "/.build/debug/gatehouse"
        let script = """
            data=$(mktemp -d)/data
            chmod 711 "$(dirname "$data")"
            export GATEHOUSE_DATA_DIR="$data" GATEHOUSE_LISTEN=127.0.0.1:0
            "$1" dev >"$data.log" 2>&1 &
            timeout 90 bash -c 'until grep -q "Ctrl-C stops it" "$1"; do sleep 0.2; done' - "$data.log"
            "$1" key issue --name first --scopes users:read --tenant demo; echo "rc $?"
            "$1" operator reset --email nobody@corp.example; echo "rc $?"
            "$1" check; echo "rc $?"
            url=$(grep -o 'http://localhost:[0-9]*' "$data.log" | head -n 1)
            key=$("$1" key issue --name lost --scopes users:read --tenant demo)
            users() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $key" "$url/v1/tenants/demo/users"; }
            before=$(users)
            id=$("$1" key list --tenant demo | grep ' lost$' | cut -d ' ' -f 1)
            "$1" key revoke --tenant demo --id "$id"; echo "rc $?"
            echo "before $before, after $(users)"
            "$1" operator create --email uma@corp.example --role admin --tenant demo; echo "rc $?"
            kill -TERM $!
            wait $!
            "$1" key issue --name first --scopes users:read --tenant demo; echo "rc $?"
            rm -r "$(dirname "$data")"
            """
        let text = try Shell.run([
            "env", "-u", "GATEHOUSE_TEST_DATABASE", "bash", "-c", script, "-", program,
        ])
        #expect(text.contains(/gate_live_\w+\nrc 0/), "\(text)")
        #expect(text.contains("no operator has this address"), "\(text)")
        #expect(text.contains("ok      row-level security"), "\(text)")
        #expect(text.contains("lost is revoked.\nrc 0\nbefore 200, after 401"), "\(text)")
        #expect(text.contains(/console\/sign-in#token=\S+\nrc 0/), "\(text)")
        #expect(text.contains("GATEHOUSE_DATABASE_URL is missing"), "\(text)")
    }

    @Test func `help, manual and completions know every command and option`() throws {
        let overview = try gatehouse(["help"])
        let manual = try gatehouse(["help", "--man"])
        #expect(overview.code == 0 && manual.text.hasPrefix(".TH GATEHOUSE 1"))
        let shells = try ["bash", "zsh", "fish"].map {
            try gatehouse(["help", "--completions", $0]).text
        }
        for name in [
            "dev", "serve", "migrate", "check", "backup drill", "setup", "operator reset",
            "operator create", "key issue", "key list", "key revoke", "mail test", "healthcheck",
        ] {
            #expect(overview.text.contains("\n  \(name) "))
            #expect(manual.text.contains(".SS \(name)\n"))
            let page = try gatehouse(name.split(separator: " ").map(String.init) + ["--help"])
            #expect(page.code == 0 && page.text.hasPrefix("usage: gatehouse \(name) "))
            for option in page.text.split(whereSeparator: { !($0.isLowercase || $0 == "-") })
            where option.hasPrefix("--") {
                for shell in shells { #expect(shell.contains(option.dropFirst(2))) }
            }
        }
        #expect(!overview.text.contains("\u{1B}"))
        let path = "/tmp/gh-completion.\(UInt64.random(in: 0...UInt64.max))"
        defer { _ = try? Shell.run(["rm", "-f", path]) }
        try Shell.run([
            "sh", "-c",
            "'\(TestCluster.root)/.build/debug/gatehouse' help --completions bash >\(path)",
        ])
        try Shell.run(["bash", "-n", path])
    }

    @Test func `check finds a good database good and says what is wrong with others`() async throws
    {
        let database = try await TestDatabase.make()
        let good = try gatehouse(["check", "-o", "json"], settings(database))
        let document = try JSONValue(parsing: Array(good.text.utf8))
        let findings = document["findings"]?.array ?? []
        #expect(good.code == 0 && document["ok"] == .bool(true), "\(good.text)")
        #expect(
            findings.compactMap { $0["name"]?.string } == [
                "console", "migrations", "database", "clock", "schema", "notifications",
                "platform notifications", "app role", "row-level security", "platform role", "rows",
                "secret key", "passkeys", "connections", "first owner",
                "second factors", "mail server",
            ])
        let plain = try gatehouse(["check"], settings(database))
        #expect(plain.text.contains("ok      database: PostgreSQL"))
        #expect(!plain.text.contains("\u{1B}"))

        var wrong = settings(database)
        wrong[0] = "GATEHOUSE_DATABASE_URL=" + url(database.administrator)
        let superuser = try gatehouse(["check"], wrong)
        #expect(superuser.code == 1 && superuser.text.contains("is a superuser"))
        wrong[0] = "GATEHOUSE_DATABASE_URL=postgresql://nobody@127.0.0.1:1/none"
        let away = try gatehouse(["check"], wrong)
        #expect(
            away.code == 1 && away.text.contains("failed  database: ")
                && away.text.contains("Connection refused"))
        let mail = try gatehouse(
            ["check"], settings(database) + ["GATEHOUSE_SMTP_URL=smtp://u:hidden@127.0.0.1:1"])
        #expect(mail.code == 1 && mail.text.contains("nothing answers at 127.0.0.1:1"))
        #expect(!mail.text.contains("hidden"))
        let mistyped = try gatehouse(["check", "-o", "json"], ["GATEHOUSE_LISTNE=x"])
        #expect(mistyped.code == 1 && mistyped.text.contains("was GATEHOUSE_LISTEN meant?"))
    }

    @Test func `check says whether the standby answers and is this database's`() async throws {
        let rig = try await TestStandby.start(isMigrated: true)
        func standby(_ conninfo: String) throws -> Outcome {
            try gatehouse(
                ["check"],
                settings(rig.database) + ["GATEHOUSE_READ_DATABASE_URL=" + url(conninfo)])
        }
        let good = try standby(rig.conninfo("gatehouse_app"))
        #expect(good.code == 0 && good.text.contains("it follows the primary"), "\(good.text)")
        let primary = try standby(rig.database.app)
        #expect(primary.code == 0 && primary.text.contains("it is no standby"))
        let other = try standby(try await TestDatabase.make().app)
        #expect(other.code == 1 && other.text.contains("another system"), "\(other.text)")
        try rig.crash()
        let away = try standby(rig.conninfo("gatehouse_app"))
        #expect(away.code == 0 && away.text.contains("so the primary answers"), "\(away.text)")
        let alone = try gatehouse(
            ["check"],
            settings(rig.database) + ["GATEHOUSE_READ_PLATFORM_DATABASE_URL=postgresql://x@/y"])
        #expect(alone.code != 0 && alone.text.contains("GATEHOUSE_READ_DATABASE_URL: is needed"))
    }

    @Test func `check refuses the workers of a database on one server`() async throws {
        let database = try await TestDatabase.make()
        let workers = "GATEHOUSE_WORKER_DATABASE_URL=postgresql://gatehouse_app@{host}:{port}/x"
        let found = try gatehouse(["check"], settings(database) + [workers])
        #expect(found.code == 1 && found.text.contains("failed  workers: the database is on one"))
    }

    @Test func `check says how many passkeys another public name costs`() async throws {
        let database = try await TestDatabase.make()
        let administrator = database.client(as: database.administrator)
        _ = try await administrator.query(
            """
            WITH person AS (
                INSERT INTO operators (id, email, email_key, role, created_at, updated_at)
                VALUES (gen_random_uuid(), 'a@b.example', 'a@b.example', 'owner', now(), now())
                RETURNING id)
            INSERT INTO operator_passkeys (id, operator_id, credential_id, relying_party,
                public_key, algorithm, counter, name, transports, backup_eligible, backed_up,
                created_at)
            SELECT gen_random_uuid(), id, 'a', 'old.example', 'k', -7, 0, 'Key', '{}', false,
                false, now() FROM person
            """)
        for (name, text) in [
            ("old.example", "ok      passkeys: "), ("id.old.example", "ok      passkeys: "),
            ("new.example", "warning passkeys: not good at this server's public name: 1 of old"),
        ] {
            let outcome = try gatehouse(
                ["check"], settings(database) + ["GATEHOUSE_PUBLIC_URL=https://\(name)"])
            #expect(outcome.text.contains(text), "\(outcome.text)")
        }
    }

    @Test func `a secret key that is not the database's stops check, serve and every command`()
        async throws
    {
        let database = try await TestDatabase.make()
        let made = try gatehouse(["setup"], settings(database))
        #expect(made.code == 0, "\(made.text)")
        var wrong = settings(database)
        wrong[3] = "GATEHOUSE_SECRET_KEY=" + String(repeating: "w", count: 32)
        for words in [["check"], ["serve"], ["key", "issue", "-n", "x", "-s", "users:read"]] {
            let outcome = try gatehouse(words, wrong + ["GATEHOUSE_LISTEN=127.0.0.1:0"])
            #expect(outcome.code == 1, "\(words)")
            #expect(
                outcome.text.contains("GATEHOUSE_SECRET_KEY is not the key of this database"),
                "\(words): \(outcome.text)")
        }
    }

    @Test func `serve and the other commands say that the schema is missing or behind`()
        async throws
    {
        let empty = try await TestDatabase.makeEmpty()
        for words in [
            ["serve"], ["setup"], ["operator", "reset", "--email", "ada@acme.example"],
            ["key", "issue", "-n", "x", "-s", "users:read"],
        ] {
            let outcome = try gatehouse(words, settings(empty))
            #expect(outcome.code == 1 && outcome.text.contains("run gatehouse migrate"), "\(words)")
        }
        let behind = try await TestDatabase.make()
        let client = behind.client(as: behind.administrator)
        _ = try await client.query("DELETE FROM schema_migrations WHERE version = '0016'")
        let outcome = try gatehouse(["serve"], settings(behind))
        #expect(outcome.code == 1 && outcome.text.contains("from 0016_service.sql"))
    }

    @Test func `one secret key gives way to the next from the command line`() async throws {
        let database = try await TestDatabase.make()
        #expect(try gatehouse(["setup"], settings(database)).code == 0)
        var next = settings(database)
        next.append("GATEHOUSE_SECRET_KEY_PREVIOUS=" + String(repeating: "k", count: 32))
        let same = try gatehouse(["check"], next)
        #expect(same.code == 1 && same.text.contains("the same key as the new one"))
        next[3] = "GATEHOUSE_SECRET_KEY=" + String(repeating: "n", count: 32)
        let before = try gatehouse(["check"], next)
        #expect(before.code == 0 && before.text.contains("run gatehouse secrets rotate"))
        let rotated = try gatehouse(["secrets", "rotate"], next)
        #expect(rotated.code == 0 && rotated.text.contains("Nothing rests on the previous key"))
        let after = try gatehouse(["check"], next)
        #expect(after.code == 0 && after.text.contains("GATEHOUSE_SECRET_KEY_PREVIOUS may go"))
        next.removeLast()
        #expect(try gatehouse(["check"], next).code == 0)
        #expect(try gatehouse(["check"], settings(database)).code == 1)
        let forgotten = try gatehouse(["secrets", "forget", "--yes"], settings(database))
        #expect(forgotten.code == 0, "\(forgotten.text)")
        #expect(try gatehouse(["check"], settings(database)).code == 0)
    }

    @Test func `check finds a restore without rows`() async throws {
        let database = try await TestDatabase.make()
        let client = database.client(as: database.administrator)
        #expect(try gatehouse(["check"], settings(database)).code == 0)
        _ = try await client.query(
            """
            INSERT INTO tenants (id, slug, name, status, locator, created_at, updated_at)
            VALUES (gen_random_uuid(), 'acme', 'Acme', 'active', 'aaaaaa', now(), now())
            """)
        let restored = try gatehouse(["check"], settings(database))
        #expect(restored.code == 1 && restored.text.contains("restored from a dump without rows"))
    }

    @Test func `an invalid address is refused with its fault`() async throws {
        let database = try await TestDatabase.make()
        for words in [["operator", "reset", "--email", "bad"], ["setup", "--email", "bad"]] {
            let refused = try gatehouse(words, settings(database))
            #expect(refused.code == 1 && refused.text.contains("--email "), "\(refused.text)")
            #expect(!refused.text.contains("noSingleAt"), "\(refused.text)")
        }
    }

    @Test func `check says if PostgreSQL has too few connections for the process`()
        async throws
    {
        let database = try await TestDatabase.make()
        let found = try gatehouse(
            ["check"], settings(database) + ["GATEHOUSE_DATABASE_CONNECTIONS=10000"])
        #expect(found.code == 1)
        #expect(
            found.text.contains("failed  connections: this process opens 10000 at most"),
            "\(found.text)")
    }

    @Test func `check says what is wrong with a certificate in words`() async throws {
        let database = try await TestDatabase.make()
        let found = try gatehouse(
            ["check"],
            settings(database) + [
                "GATEHOUSE_TLS_CERT=/none/chain.pem", "GATEHOUSE_TLS_KEY=/none/key.pem",
            ])
        #expect(found.code == 1)
        #expect(
            found.text.contains("failed  tls: GATEHOUSE_TLS_CERT: /none/chain.pem does not exist"),
            "\(found.text)")
    }

    @Test(
        arguments: [
            ("GATEHOUSE_TRUSTED_PROXIES=10.0.0.0/33", "GATEHOUSE_TRUSTED_PROXIES"),
            ("GATEHOUSE_TRUSTED_PROXIES=2001:db8::/129", "GATEHOUSE_TRUSTED_PROXIES"),
            ("GATEHOUSE_TRUSTED_PROXIES=10.0.0.0/08", "GATEHOUSE_TRUSTED_PROXIES"),
            ("GATEHOUSE_MAIL_FROM=Gatehouse <a@b.example>", "without a name"),
            ("GATEHOUSE_METRICS_LISTEN=127.0.0.1:8080", "GATEHOUSE_METRICS_LISTEN"),
            ("GATEHOUSE_METRICS_LISTEN=0.0.0.0:8080", "GATEHOUSE_METRICS_LISTEN"),
            ("GATEHOUSE_METRICS_LISTEN=localhost:8080", "GATEHOUSE_METRICS_LISTEN"),
        ])
    func `a setting that means nothing stops the start`(setting: String, words: String)
        async throws
    {
        let database = try await TestDatabase.make()
        let found = try gatehouse(["check"], settings(database) + [setting])
        #expect(found.code != 0 && found.text.contains(words), "\(found.text)")
    }

    @Test func `check warns of settings that only a client would notice`() async throws {
        let database = try await TestDatabase.make()
        let found = try gatehouse(
            ["check"],
            settings(database) + [
                "GATEHOUSE_LISTEN=0.0.0.0:18080", "GATEHOUSE_TRUSTED_PROXIES=0.0.0.0/0",
            ])
        #expect(found.text.contains("GATEHOUSE_PUBLIC_URL is not set, so only 127.0.0.1"))
        #expect(found.text.contains("GATEHOUSE_TRUSTED_PROXIES has 0.0.0.0/0"))
        let clear = try gatehouse(
            ["check"], settings(database) + ["GATEHOUSE_PUBLIC_URL=http://gate.example"])
        #expect(clear.text.contains("is not https"))
        #expect(clear.text.contains("warning mail server: GATEHOUSE_SMTP_URL is not set"))
        #expect(clear.text.contains("no owner or admin could have one yet"))
    }

    @Test(arguments: [false, true])
    func `a port is in use, unless it is the running server's that is asked for its health`(
        _ isEncrypted: Bool
    ) async throws {
        let folder = "/tmp/gh-health.\(UInt64.random(in: 0...UInt64.max))"
        try Shell.run(["mkdir", folder])
        defer { _ = try? Shell.run(["rm", "-r", folder]) }
        try Shell.run([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=gate.example", "-keyout", folder + "/key.pem", "-out", folder + "/chain.pem",
        ])
        let running = try await RunningService {
            $0.listen = "127.0.0.2:0"
            guard isEncrypted else { return }
            ($0.tlsCertificate, $0.tlsKey) = (folder + "/chain.pem", folder + "/key.pem")
        }
        let files = [
            "GATEHOUSE_TLS_CERT=\(folder)/chain.pem", "GATEHOUSE_TLS_KEY=\(folder)/key.pem",
        ]
        let own =
            settings(running.database) + ["GATEHOUSE_LISTEN=127.0.0.2:\(running.service.port)"]
            + (isEncrypted ? files : [])
        let health = try gatehouse(["healthcheck"], own)
        #expect(health.code == 0, "\(health.text)")
        #expect(try !gatehouse(["check"], own).text.contains("is in use"))
        // The other way round nothing understands the question.
        let other =
            settings(running.database) + ["GATEHOUSE_LISTEN=127.0.0.2:\(running.service.port)"]
            + (isEncrypted ? [] : files)
        let taken = try gatehouse(["check"], other)
        #expect(
            taken.text.contains("port \(running.service.port) is in use; GATEHOUSE_LISTEN="),
            "\(taken.text)")
    }

    /// Without NOINHERIT the app role would read across tenants, whatever the policies say.
    @Test(arguments: ["gatehouse_platform", "gatehouse_owner"])
    func `check fails on an app role that has another's rights`(_ other: String) async throws {
        let database = try await TestDatabase.make()
        let client = database.client(as: database.administrator)
        let heir = "heir_of_\(other)"
        _ = try await client.query(SQL(raw: "CREATE ROLE \(heir) LOGIN IN ROLE \(other)"))
        var wrong = settings(database)
        wrong[0] = "GATEHOUSE_DATABASE_URL=" + url(database.conninfo(heir))
        let found = try gatehouse(["check"], wrong)
        #expect(found.code == 1)
        #expect(
            found.text.contains(
                "failed  app role: \(heir) has the rights of \(other); make it NOINHERIT"))
        _ = try await client.query(SQL(raw: "DROP ROLE \(heir)"))
    }

    @Test(arguments: [SilentProxy.Notifications.none, .duringStatements])
    func `a URL on which no notification arrives is refused by its name`(
        _ notifications: SilentProxy.Notifications
    ) async throws {
        let database = try await TestDatabase.make()
        for (index, name, conninfo) in [
            (0, "GATEHOUSE_DATABASE_URL", database.app),
            (1, "GATEHOUSE_PLATFORM_DATABASE_URL", database.platform),
        ] {
            let proxy = SilentProxy(to: conninfo, notifications: notifications)
            var wrong = settings(database) + ["GATEHOUSE_LISTEN=127.0.0.1:0"]
            wrong[index] = "\(name)=" + url(proxy.passing(conninfo))
            for words in [["check"], ["serve"]] {
                let found = try gatehouse(words, wrong)
                #expect(found.code == 1, "\(words) \(found.text)")
                #expect(
                    found.text.contains(
                        "notifications do not arrive on this connection; is there a pooler in "
                            + "transaction mode? Use a direct URL for \(name)"), "\(found.text)")
            }
        }
    }

    @Test func `a URL that leads to another role than the one meant is refused`() async throws {
        let database = try await TestDatabase.make()
        let (app, platform) = (url(database.app), url(database.platform))
        for (index, wrong, sentence) in [
            (
                0, "GATEHOUSE_DATABASE_URL=" + platform,
                "gatehouse_platform may not write: GATEHOUSE_DATABASE_URL leads to another role"
            ),
            (
                1, "GATEHOUSE_PLATFORM_DATABASE_URL=" + app,
                "gatehouse_app may write: GATEHOUSE_PLATFORM_DATABASE_URL leads to another role"
            ),
        ] {
            var settings = settings(database) + ["GATEHOUSE_LISTEN=127.0.0.1:0"]
            settings[index] = wrong
            for words in [["check"], ["serve"]] {
                let found = try gatehouse(words, settings)
                #expect(found.code == 1 && found.text.contains(sentence), "\(words) \(found.text)")
            }
        }
        let other = try gatehouse(["migrate"], ["GATEHOUSE_MIGRATION_DATABASE_URL=" + app])
        #expect(
            other.code == 1
                && other.text.contains(
                    "the schema is gatehouse_owner's, and GATEHOUSE_MIGRATION_DATABASE_URL leads to "
                        + "gatehouse_app"),
            "\(other.text)")
    }

    @Test func `an empty database is brought up, set up, and given a key`() async throws {
        let database = try await TestDatabase.makeEmpty()
        let settings = settings(database)
        let before = try gatehouse(["check"], settings)
        #expect(before.code == 1 && before.text.contains("run gatehouse migrate"))
        let applied = try gatehouse(["migrate", "-o", "json"], settings)
        #expect(applied.code == 0 && applied.text.contains("0001_foundation.sql"))
        #expect(try gatehouse(["migrate"], settings).text == "The schema is current.\n")

        let open = try gatehouse(["setup"], settings)
        #expect(open.text.contains("/console/setup#token="))
        let owner = try gatehouse(
            ["setup", "--email", "owner@example.org", "-o", "json"], settings)
        #expect(owner.code == 0 && owner.text.contains("/console/sign-in#token="))
        let again = try gatehouse(["setup"], settings)
        #expect(again.code == 1 && again.text.contains("there is an operator already"))

        let reset = try gatehouse(["operator", "reset", "--email", "OWNER@example.org"], settings)
        #expect(reset.code == 0 && reset.text.contains("/reset#token="))
        let stranger = try gatehouse(["operator", "reset", "--email", "no@example.org"], settings)
        #expect(stranger.code == 1 && stranger.text.contains("no operator has this address"))

        let key = try gatehouse(["key", "issue", "-n", "ci", "-s", "tenants:read"], settings)
        #expect(key.code == 0 && key.text.hasPrefix("gate_live_") && key.text.utf8.count == 53)
        let refused = try gatehouse(["key", "issue", "-n", "ci", "-s", "no:such"], settings)
        #expect(refused.code == 1 && refused.text.contains("/scopes/0"))
        let list = try gatehouse(["key", "list", "-o", "json"], settings)
        let keys = try #require(JSONValue(parsing: Array(list.text.utf8)).array)
        #expect(keys.compactMap { $0["name"]?.string } == ["ci"])
        let unknown = try gatehouse(["key", "revoke", "--id", "../me"], settings)
        #expect(unknown.code == 1 && unknown.text.contains("There is no such"))
        let twin = try gatehouse(
            ["operator", "create", "--email", "owner@example.org", "--role", "auditor"], settings)
        #expect(twin.code == 1 && twin.text.contains("already exists"))
        let nobody = try gatehouse(["mail", "test", "--to", "ops@example.org"], settings)
        #expect(nobody.code == 1 && nobody.text.contains("GATEHOUSE_SMTP_URL is missing"))
        let client = database.client(as: database.administrator)
        let rows = try await client.read(
            """
            SELECT action || ' by ' || actor_name FROM audit_events
            WHERE action IN ('api_key.created', 'operator.reset_offered') ORDER BY 1
            """)
        #expect(
            try rows.map { try $0.get(0, as: String.self) } == [
                "api_key.created by the command line",
                "operator.reset_offered by the command line",
            ])
        let links = try await client.read(
            "SELECT count(*) FROM operator_links WHERE purpose = 'password_reset'")
        #expect(try links.first?.get(0, as: Int.self) == 1)
    }
}
