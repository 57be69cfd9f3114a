import JSON
import Outbound
import TestSupport
import Testing
import Text

/// A password in hand, and a mail server of others (aiosmtpd) that asks for it.
@Suite(.cleansUp) struct MailOverTLSTests {
    /// Listens on two ports of 127.0.0.1, by STARTTLS and by TLS from the first byte, and takes
    /// mail of `gate` with `s3cret` alone. Writes a line for each log-in that is tried and each
    /// mail that is taken.
    private static let program = """
        import asyncio, json, ssl, sys
        from aiosmtpd.smtp import SMTP, AuthResult
        home = sys.argv[1]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(home + "/cert.pem", home + "/key.pem")

        def tell(**line):
            with open(home + "/told", "a") as file:
                file.write(json.dumps(line) + "\\n")

        def admit(server, session, envelope, mechanism, data):
            tell(login=data.login.decode(), tls=session.ssl is not None or server.implicit)
            return AuthResult(success=(data.login, data.password) == (b"gate", b"s3cret"))

        class Taking:
            async def handle_DATA(self, server, session, envelope):
                tell(to=envelope.rcpt_tos)
                return "250 taken"

        def speaker(implicit):
            server = SMTP(Taking(), authenticator=admit, auth_required=True,
                auth_require_tls=not implicit, require_starttls=not implicit,
                tls_context=None if implicit else context)
            server.implicit = implicit
            return server

        async def serve():
            ports = []
            for implicit in (False, True):
                listener = await asyncio.get_running_loop().create_server(
                    lambda implicit=implicit: speaker(implicit), "127.0.0.1", 0,
                    ssl=context if implicit else None)
                ports.append(listener.sockets[0].getsockname()[1])
            with open(home + "/ready", "w") as file:
                file.write("%d %d" % tuple(ports))
            await asyncio.Event().wait()

        asyncio.run(serve())
        """

    private struct Place {
        var starting: Int
        var implicit: Int
        var directory: String
        var certificate: String { directory + "/cert.pem" }

        func told() throws -> [JSONValue] {
            try Shell.run(["sh", "-c", "cat '\(directory)/told' 2>/dev/null || true"])
                .split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        }
    }

    private func serve() async throws -> Place {
        let directory = try String(Shell.run(["mktemp", "-d", "/tmp/gh-smtp.XXXXXX"]).dropLast())
        CleanUp.atEnd { _ = try? Shell.run(["rm", "-rf", directory]) }
        try Shell.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "\(directory)/key.pem", "-out",
            "\(directory)/cert.pem", "-days", "2", "-subj", "/CN=test", "-addext",
            "subjectAltName=DNS:localhost",
        ])
        // The pipe is opened for writing when both ports listen.
        let start = """
            mkfifo "$1/ready"
            /usr/bin/python3 -c "$2" "$1" </dev/null >"$1/said" 2>&1 &
            echo $! >"$1/pid"
            timeout 30 cat "$1/ready" || cat "$1/said"
            """
        let said = try Shell.run(["sh", "-c", start, "sh", directory, Self.program])
        CleanUp.atEnd { _ = try? Shell.run(["sh", "-c", "kill $(cat '\(directory)/pid')"]) }
        let ports = said.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(ports.count == 2, "\(said)")
        return Place(starting: ports[0], implicit: ports[1], directory: directory)
    }

    private func message() throws -> MailMessage {
        MailMessage(
            from: try EmailAddress("gate@mail.example"), fromName: "Acme",
            to: try EmailAddress("ann@example.org"), subject: "Hello", text: "Hi.\n",
            html: "<p>Hi.</p>", id: UUID.random(), date: Timestamp(microseconds: 0))
    }

    @Test func `a password goes over TLS, begun by STARTTLS or from the first byte`() async throws {
        let place = try await serve()
        for url in [
            "smtp://gate:s3cret@localhost:\(place.starting)",
            "smtps://gate:s3cret@localhost:\(place.implicit)",
        ] {
            try await MailServer(url: url, authorities: place.certificate).send(try message())
        }
        let told = try place.told()
        #expect(told.count == 4)
        for at in [0, 2] where told.count == 4 {
            #expect(told[at]["login"] == .string("gate") && told[at]["tls"] == .bool(true))
            #expect(told[at + 1]["to"] == .array([.string("ann@example.org")]))
        }
    }

    @Test func `a password that does not fit may be mended, and the mail is kept`() async throws {
        let place = try await serve()
        let server = MailServer(
            url: "smtp://gate:wrong@localhost:\(place.starting)",
            authorities: place.certificate)
        let failure = await #expect(throws: MailFailure.self) {
            try await server.send(try message())
        }
        #expect(failure?.isFinal == false)
        #expect(failure?.words.contains("wrong") == false)
        let told = try place.told()
        #expect(told.allSatisfy { $0["to"] == nil })
    }

    @Test func `a server without a trusted certificate gets no password`() async throws {
        let place = try await serve()
        for url in [
            "smtp://gate:s3cret@localhost:\(place.starting)",
            "smtps://gate:s3cret@localhost:\(place.implicit)",
        ] {
            let failure = await #expect(throws: MailFailure.self) {
                try await MailServer(url: url).send(try message())
            }
            #expect(failure?.isFinal == false)
        }
        let told = try place.told()
        #expect(told.isEmpty)
    }

    @Test func `another machine that speaks no TLS hears no password`() async throws {
        let sink = SMTPSink()
        // Reaches this machine, by an address that is not its own name for itself.
        let url = sink.url.replacing("//127.0.0.1", with: "//gate:s3cret@0.0.0.0")
        try #require(url != sink.url)
        await #expect(throws: MailFailure.self) {
            try await MailServer(url: url).send(try message())
        }
        #expect(sink.mails.isEmpty)
        try await MailServer(url: url.replacing("gate:s3cret@", with: "")).send(try message())
        #expect(sink.mails.count == 1)
    }
}
