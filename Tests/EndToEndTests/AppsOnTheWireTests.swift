import API
import Domain
import Gatehouse
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Requests as the apps' own HTTP stacks write them, and answers down to each line of their heads.
@Suite(.cleansUp) struct AppsOnTheWireTests {
    private static let password = "correct horse battery"

    private struct Fixture {
        let running: RunningService
        let port: Int

        init() async throws {
            running = try await RunningService { $0.publicURL = "http://127.0.0.1" }
            port = running.service.port
            let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
            #expect(
                try await running.service.composition.application.database.installSetupKey(
                    secret.text))
            func manage(_ method: String, _ path: String, _ body: String) throws -> JSONValue {
                let answer = try running.send(
                    method, "/v1/tenants\(path)", body: body,
                    fields: ["Authorization: Bearer \(secret.text)"])
                #expect((200..<300).contains(answer.status), "\(path) \(answer.body)")
                return try JSONValue(parsing: Array(answer.body.utf8))
            }
            _ = try manage("POST", "", #"{"slug":"acme","name":"Acme"}"#)
            for client in ["immich", "relate", "thinkwork", "deeprecall"] {
                _ = try manage("PUT", "/acme/clients/\(client)", #"{"enabled":true}"#)
            }
            _ = try manage("POST", "/acme/cors-origins", #"{"origin":"capacitor://localhost"}"#)
            let invite = try manage(
                "POST", "/acme/invites", #"{"email":"ann@acme.example","delivery":"link"}"#)
            let accepted = try running.send(
                "POST", "/v1/invites/accept",
                body: #"{"token":"\#(invite["token"]?.string ?? "")","name":"Ann","#
                    + #""password":"\#(password)"}"#)
            #expect(accepted.status == 200, "\(accepted.body)")
        }

        /// `lines`: after the request line and `host`; the length is added where there is a body.
        func send(
            _ method: String, _ path: String, _ lines: [String], body: String = ""
        ) throws -> RunningService.Answer {
            let length = body.isEmpty ? [] : ["content-length: \(body.utf8.count)"]
            return try running.exchange(
                (["\(method) /t/acme\(path) HTTP/1.1", "host: 127.0.0.1:\(port)"] + lines + length
                    + ["connection: close", "", body]).joined(separator: "\r\n"))
        }
    }

    /// The head's lines but for what each answer has of its own.
    private func head(_ answer: RunningService.Answer) -> [String] {
        answer.head.split(whereSeparator: \.isNewline).map(String.init).filter { line in
            !["date:", "x-request-id:", "x-immich-cid:", "content-length:", "connection:"].contains
            {
                line.lowercased().hasPrefix($0)
            }
        }.map { line in
            line.replacing(/Expires=[^;]*GMT/, with: "Expires=…")
        }.sorted()
    }

    @Test func `I6 I11 an Immich app signs in and out by Dart's own bytes`() async throws {
        let fixture = try await Fixture()
        let dart = ["user-agent: Dart/3.8 (dart:io)", "accept-encoding: gzip"]
        let json = "content-type: application/json; charset=utf-8"
        let login = try fixture.send(
            "POST", "/immich/api/auth/login",
            dart + [json, "deviceModel: Pixel 9 Pro", "deviceType: Android"],
            body: #"{"email":"ann@acme.example","password":"\#(Self.password)"}"#)
        let body = try JSONValue(parsing: Array(login.body.utf8))
        let token = body["accessToken"]?.string ?? ""
        let cookie = "; Max-Age=34560000; Path=/t/acme/immich; Expires=…"
        #expect(
            head(login) == [
                "HTTP/1.1 201 Created", "cache-control: no-store", "content-type: application/json",
                "set-cookie: immich_access_token=\(token)\(cookie); HttpOnly; SameSite=Lax",
                "set-cookie: immich_auth_type=password\(cookie); HttpOnly; SameSite=Lax",
                "set-cookie: immich_is_authenticated=true\(cookie); SameSite=Lax",
                "vary: Origin", "x-content-type-options: nosniff",
            ])
        let own = dart + [json, "x-immich-user-token: \(token)"]
        let me = try fixture.send("GET", "/immich/api/users/me", own)
        #expect(me.status == 200 && me.body.contains(#""email":"ann@acme.example""#))
        let out = try fixture.send("POST", "/immich/api/auth/logout", own + ["content-length: 0"])
        #expect(out.body == #"{"successful":true,"redirectUri":"/auth/login?autoLaunch=0"}"#)
        let over = try fixture.send("GET", "/immich/api/users/me", own)
        #expect(
            head(over) == [
                "HTTP/1.1 401 Unauthorized", "content-type: application/json", "vary: Origin",
                "x-content-type-options: nosniff",
            ])
        let id = over.first("x-immich-cid") ?? "?"
        #expect(
            over.body == #"{"message":"Invalid user token","error":"Unauthorized","#
                + #""statusCode":401,"correlationId":"\#(id)"}"#)
    }

    @Test func `R8 an Expo app's deletion names a type and has no body, and its 401 has none`()
        async throws
    {
        let fixture = try await Fixture()
        let answer = try fixture.send(
            "DELETE", "/relate/api/smtp-credentials/\(UUID.random())",
            [
                "content-type: application/json", "authorization: ApiKey gate_live_x",
                "user-agent: okhttp/4.12.0", "accept: */*", "accept-encoding: gzip",
            ])
        #expect(
            head(answer) == [
                "HTTP/1.1 401 Unauthorized", "vary: Origin", "www-authenticate: Bearer",
                "x-content-type-options: nosniff",
            ])
        #expect(answer.body.isEmpty && answer.first("content-length") == "0")
    }

    @Test func `D1 D6 a web view asks before it exchanges, and reads its refusal`() async throws {
        let fixture = try await Fixture()
        let view = [
            "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)", "Accept: */*",
            "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: cross-site",
        ]
        func ask(_ origin: String) throws -> RunningService.Answer {
            try fixture.send(
                "OPTIONS", "/deeprecall//api/auth/exchange/google",
                view + [
                    "Origin: \(origin)", "Access-Control-Request-Method: POST",
                    "Access-Control-Request-Headers: content-type",
                ])
        }
        let vary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
        #expect(
            head(try ask("capacitor://localhost")) == [
                "HTTP/1.1 204 No Content",
                "access-control-allow-headers: authorization, content-type, accept, "
                    + "x-requested-with, idempotency-key, if-match, if-none-match, x-request-id, "
                    + "traceparent, tracestate, last-event-id, x-gatehouse-position",
                "access-control-allow-methods: POST, OPTIONS",
                "access-control-allow-origin: capacitor://localhost",
                "access-control-max-age: 600", "vary: \(vary)", "x-content-type-options: nosniff",
            ])
        let refused = try ask("https://evil.example")
        #expect(
            head(refused) == [
                "HTTP/1.1 403 Forbidden", "content-type: text/plain; charset=utf-8",
                "vary: \(vary)", "x-content-type-options: nosniff",
            ])
        #expect(refused.body == "Origin not allowed")
        let answer = try fixture.send(
            "POST", "/deeprecall//api/auth/exchange/google",
            view + ["Origin: capacitor://localhost", "Content-Type: application/json"],
            body: #"{"id_token":"x"}"#)
        #expect(
            head(answer) == [
                "HTTP/1.1 400 Bad Request", "access-control-allow-origin: capacitor://localhost",
                "access-control-expose-headers: x-request-id, x-immich-cid, retry-after, etag, "
                    + "location, link, www-authenticate, ratelimit-limit, ratelimit-remaining, "
                    + "ratelimit-reset, x-gatehouse-position, idempotent-replayed",
                "content-type: application/json", "vary: Origin", "x-content-type-options: nosniff",
            ])
        #expect(answer.body == #"{"error":"Missing id_token or device_id"}"#)
    }
}
