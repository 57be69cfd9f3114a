import API
import Domain
import Gatehouse
import JSON
import Storage
import TestSupport
import Testing

/// The pages on moving here, on mending what came and on unused accounts: their commands run as they stand, by a shell,
/// over real sockets.
@Suite(.serialized, .cleansUp) struct MovePagesTests {
    @Test(arguments: [
        ("undo-an-import.md", "", 0), ("two-records-of-one-person.md", "", 2),
        ("inactivity.md", "", 1),
        ("move-from-auth0.md", "auth0.ndjson", 10),
        ("move-from-cognito.md", "cognito.json", 10),
        ("move-from-keycloak.md", "keycloak.json", 12), ("move-from-clerk.md", "clerk.csv", 4),
        ("move-from-supabase.md", "supabase.json", 4),
        ("move-from-firebase.md", "firebase.json", 4),
    ])
    func `the commands of a page do what it says`(
        _ page: String, _ file: String, _ least: Int
    ) async throws {
        let running = try await RunningService()
        let key = try await Self.prepare(running)
        let text = try Shell.run(["cat", TestCluster.root + "/deploy/docs/" + page])
        let blocks = text.split(separator: "```sh\n").dropFirst().compactMap {
            $0.split(separator: "\n```").first.map(String.init)
        }
        #expect(!blocks.isEmpty)
        let port = running.service.port
        let output = try await OwnThread.run {
            let folder = try Shell.run(["mktemp", "-d"]).split(separator: "\n").joined()
            defer { _ = try? Shell.run(["rm", "-r", folder]) }
            let source = TestCluster.root + "/Tests/ImportFiles/" + file
            if !file.isEmpty { try Shell.run(["cp", source, folder]) }
            // Of the project that the file is from.
            try Shell.run([
                "bash", "-c", #"printf %s "$0" > "$1""#, ImportFile.options,
                "\(folder)/options.json",
            ])
            return try Shell.run([
                "timeout", "120", "env", "GATE=http://127.0.0.1:\(port)", "KEY=\(key)", "bash",
                "-euo", "pipefail", "-c", "cd \(folder)\n" + blocks.joined(separator: "\n"),
            ])
        }
        let made = try running.send(
            "GET", "/v1/tenants/acme/users?limit=1", fields: ["Authorization: Bearer \(key)"])
        let total = try JSONValue(parsing: Array(made.body.utf8))["total"]?["value"]?.int ?? -1
        #expect(file.isEmpty ? total == least : total >= least, "\(output)\n\(made.body)")
    }

    /// A tenant with a pool; the platform's own key.
    private static func prepare(_ running: RunningService) async throws -> String {
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        let auth = ["Authorization: Bearer \(secret.text)"]
        for (path, body) in [
            ("/v1/tenants", #"{"slug":"acme","name":"Acme"}"#),
            ("/v1/providers", #"{"kind":"cognito","name":"pool","issuer":"eu-1_pool"}"#),
        ] {
            let answer = try running.send("POST", path, body: body, fields: auth)
            #expect(answer.status == 201, "\(answer.body)")
        }
        return secret.text
    }
}
