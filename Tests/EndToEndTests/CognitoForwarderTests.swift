import API
import Cryptography
import Domain
import Gatehouse
import JSON
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing

/// The Lambda functions of `deploy/install/cognito` in their real runtimes, called as the Lambda runtime calls
/// them, against a real server.
@Suite(.cleansUp) struct CognitoForwarderTests {
    enum Runtime: String, CaseIterable {
        case python, node

        /// Reads the event from a file, prints what the handler returns, or `RAISED` and its text.
        func command(_ file: String) -> [String] {
            let folder = TestCluster.root + "/deploy/install/cognito"
            switch self {
            case .python:
                let script = """
                    import json, sys
                    sys.path.insert(0, '\(folder)')
                    import forwarder
                    try: print('RETURNED', json.dumps(forwarder.handler(json.load(open('\(file)')), None)))
                    except Exception as error: print('RAISED', error)
                    """
                return ["python3", "-c", script]
            case .node:
                let script = """
                    import { readFileSync } from 'node:fs'
                    import { handler } from '\(folder)/forwarder.mjs'
                    try { console.log('RETURNED', JSON.stringify(await handler(JSON.parse(readFileSync('\(file)'))))) }
                    catch (error) { console.log('RAISED', error.message) }
                    """
                return ["node", "--input-type=module", "-e", script]
            }
        }

        func run(_ event: String, url: String, key: String) throws -> (word: String, text: String) {
            let file = "/tmp/gh-event.\(UInt64.random(in: 0...UInt64.max)).json"
            try Shell.run(["sh", "-c", #"printf %s "$1" > "$2""#, "sh", event, file])
            defer { _ = try? Shell.run(["rm", "-f", file]) }
            let output = try Shell.run(
                ["env", "GATEHOUSE_URL=\(url)/", "GATEHOUSE_KEY=\(key)"] + command(file))
            let last = output.split(separator: "\n").last.map(String.init) ?? ""
            let parts = last.split(separator: " ", maxSplits: 1).map(String.init)
            return (parts.first ?? "", parts.count > 1 ? parts[1] : "")
        }
    }

    private struct Fixture {
        let running: RunningService
        let key: String
        var url: String { "http://127.0.0.1:\(running.service.port)" }

        init() async throws {
            running = try await RunningService()
            let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
            #expect(
                try await running.service.composition.application.database.installSetupKey(
                    secret.text))
            let setup = secret.text
            let running = running
            func manage(_ path: String, _ body: String) throws -> JSONValue {
                let answer = try running.send(
                    "POST", path, body: body, fields: ["Authorization: Bearer \(setup)"])
                #expect((200..<300).contains(answer.status), "\(path) \(answer.body)")
                return try JSONValue(parsing: Array(answer.body.utf8))
            }
            _ = try manage("/v1/tenants", #"{"slug":"acme","name":"Acme"}"#)
            _ = try manage(
                "/v1/providers",
                #"{"kind":"cognito","name":"Pool","issuer":"eu-central-1_abc","tenant":"acme","#
                    + #""email_trust":"verified_claim","upstreams":[{"name":"Google"}]}"#)
            _ = try manage("/v1/tenants/acme/invites", #"{"email":"grace@acme.example"}"#)
            key =
                try manage(
                    "/v1/tenants/acme/api-keys",
                    #"{"name":"Forwarder","scopes":["hooks:signup"]}"#)["key"]?.string ?? ""
        }
    }

    private static func event(
        _ email: String, trigger: String = "PreSignUp_ExternalProvider"
    ) -> String {
        #"{"version":"1","triggerSource":"\#(trigger)","region":"eu-central-1","#
            + #""userPoolId":"eu-central-1_abc","userName":"Google_\#(email.prefix(3))","#
            + #""callerContext":{"awsSdkVersion":"x","clientId":"web"},"request":{"userAttributes":"#
            + #"{"email":"\#(email)","email_verified":"true"}},"response":{"autoConfirmUser":false,"#
            + #""autoVerifyEmail":false,"autoVerifyPhone":false}}"#
    }

    @Test(arguments: Runtime.allCases)
    func `an invited person is let through, a stranger reads the text, and other triggers pass`(
        _ runtime: Runtime
    ) async throws {
        let fixture = try await Fixture()
        let invited = Self.event("grace@acme.example")
        for _ in 0..<3 {
            let answer = try runtime.run(invited, url: fixture.url, key: fixture.key)
            #expect(answer.word == "RETURNED", "\(answer.text)")
            #expect(
                try JSONValue(parsing: Array(answer.text.utf8))
                    == JSONValue(parsing: Array(invited.utf8)))
        }
        let database = fixture.running.service.composition.application.database
        let users = try await database.platform.read("SELECT count(*) FROM users")
        #expect(try users[0].get(0, as: Int64.self) == 1)
        let refused = try runtime.run(
            Self.event("eve@stranger.example"), url: fixture.url, key: fixture.key)
        #expect(refused.word == "RAISED")
        #expect(
            refused.text.hasPrefix("Sign-up is not available for this account."), "\(refused.text)")
        #expect(refused.text.contains("(ref "), "\(refused.text)")
        let confirmed = Self.event("new@acme.example", trigger: "PostConfirmation_ConfirmSignUp")
        #expect(try runtime.run(confirmed, url: fixture.url, key: fixture.key).word == "RETURNED")
        // A trigger that Gatehouse has no part in is answered without asking anybody.
        let other = Self.event("a@b.example", trigger: "TokenGeneration_HostedAuth")
        #expect(try runtime.run(other, url: "http://127.0.0.1:1", key: "x").word == "RETURNED")
    }

    @Test(arguments: Runtime.allCases)
    func `a failed call is repeated once, and then the sign-up is refused`(
        _ runtime: Runtime
    ) async throws {
        let event = Self.event("grace@acme.example")
        let later = "Sign-up is not available at the moment. Please try again."
        /// Each answer is `status body`; the last one is given again.
        func run(
            _ answers: [(Int, String)], _ event: String = event
        ) throws -> (word: String, text: String, asked: Int) {
            final class Count: Sendable { let value = Mutex(0) }
            let seen = Count()
            let listener = ScriptedListener { connection in
                let number = seen.value.withLock { value -> Int in
                    value += 1
                    return value
                }
                let (status, body) = answers[min(number, answers.count) - 1]
                // The end of the event, with a blank or without.
                _ = connection.read(until: "false}}")
                connection.send(
                    "HTTP/1.1 \(status) X\r\ncontent-type: application/json\r\n"
                        + "content-length: \(body.utf8.count)\r\nconnection: close\r\n\r\n\(body)")
            }
            let answer = try runtime.run(
                event, url: "http://127.0.0.1:\(listener.port)", key: "gate_live_x")
            return (answer.word, answer.text, seen.value.withLock { $0 })
        }
        let fault = #"{"code":"unavailable","error":"The service cannot answer now."}"#
        let recovered = try run([(503, fault), (200, event)])
        #expect(recovered.word == "RETURNED" && recovered.asked == 2, "\(recovered)")
        let away = try run([(503, fault)])
        #expect(away.word == "RAISED" && away.text == later && away.asked == 2, "\(away)")
        let limited = try run([(429, #"{"code":"rate_limited","error":"x"}"#)])
        #expect(limited.text == later && limited.asked == 2, "\(limited)")
        // Our own fault in the set-up is no text for the person, and a second try mends nothing.
        for (status, code) in [(401, "unauthorized"), (403, "forbidden"), (404, "not_found")] {
            let wrong = try run([(status, #"{"code":"\#(code)","error":"The key is wrong."}"#)])
            #expect(wrong.word == "RAISED" && wrong.text == later, "\(wrong)")
            #expect(wrong.asked == 1, "\(status)")
        }
        // Who is confirmed already stays so: the first sign-in completes it.
        let confirmed = try run(
            [(503, fault)], event.replacing("PreSignUp_External", with: "PostConfirmation_"))
        #expect(confirmed.word == "RETURNED" && confirmed.asked == 2, "\(confirmed)")
        let gone = try runtime.run(event, url: "http://127.0.0.1:1", key: "x")
        #expect(gone.word == "RAISED" && gone.text == later, "\(gone)")
    }
}
