import JSON

/// Canaille, an independent OpenID provider, on 127.0.0.1. Its people are alice, `person1` and so
/// on, with addresses `@example.com`; it has one client.
package final class RealProvider: Sendable {
    package static let clientID = "gatehouse-test"
    package static let secret = "test-secret"

    package let issuer: String
    private let directory: String
    private let redirects: [String]
    private let people: Int

    private static let script = "\(TestCluster.root)/deploy/tools/provider"

    /// `redirects` are the addresses to which its client may redirect.
    package init(redirects: [String] = [], people: Int = 0) throws {
        directory = try String(Shell.run(["mktemp", "-d", "/tmp/gh-idp.XXXXXX"]).dropLast())
        self.redirects = redirects
        self.people = people
        issuer = try Self.start(directory, redirects, people, port: "")
        CleanUp.atEnd { [self] in
            _ = try? halt()
            _ = try? Shell.run(["rm", "-rf", directory])
        }
    }

    private static func start(
        _ directory: String, _ redirects: [String], _ people: Int, port: String
    ) throws -> String {
        let settings = ["PROVIDER_PEOPLE=\(people)", "PROVIDER_PORT=\(port)"]
        let said = try Shell.run(["env"] + settings + [script, "start", directory] + redirects)
        return String(said.split(separator: "\n").last ?? "")
    }

    /// Stops the provider.
    package func halt() throws { try Shell.run([Self.script, "stop", directory]) }

    /// Starts the same provider again, with the same people and another key.
    package func resume() throws {
        let port = String(issuer.split(separator: ":").last ?? "")
        _ = try Self.start(directory, redirects, people, port: port)
    }

    /// Signs the person in at an authorization URL; returns where they are sent back to.
    package func authorize(_ url: String, as person: String = "alice") throws -> String {
        try String(Shell.run([Self.script, "authorize", directory, url, person]).dropLast())
    }

    /// The tokens of an app that signs its person in by itself.
    package func tokens(
        _ redirect: String = "http://127.0.0.1:9/callback", as person: String = "alice"
    ) throws -> JSONValue {
        let said = try Shell.run([Self.script, "tokens", directory, redirect, person])
        return try JSONValue(parsing: Array(said.utf8))
    }
}
