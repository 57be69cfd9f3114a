import API
import Domain
import Gatehouse
import Glibc
import HTTP
import JSON
import Runtime
import Storage
import TestSupport
import Testing

@Suite(.serialized, .cleansUp) struct OperationTests {
    @Test func `metrics count requests by route and status class, and show pools and memory`()
        async throws
    {
        let running = try await RunningService()
        _ = try running.send("GET", "/livez")
        _ = try running.send("GET", "/v1/tenants/some-secret-path")
        _ = try running.send("GET", "/v1/no/such/path")
        let page = try running.send("GET", "/metrics")
        #expect(page.status == 200)
        #expect(page.first("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        for line in [
            #"gatehouse_requests_total{method="GET",route="/livez",status="2xx"} 1"#,
            #"gatehouse_requests_total{method="GET",route="/v1/tenants/{tenant}",status="4xx"} 1"#,
            #"gatehouse_requests_total{method="any",route="none",status="4xx"} 1"#,
            #"gatehouse_request_seconds_count{method="GET",route="/v1/tenants/{tenant}"} 1"#,
            #"gatehouse_decisions_total{outcome="created"} 0"#,
            #"gatehouse_key_verifications_total{verdict="valid"} 0"#,
            #"gatehouse_database_refusals_total{role="app"} 0"#,
            #"gatehouse_swept_rows_total{table="decisions"} 0"#,
            #"gatehouse_unavailable_total{cause="database"} 0"#,
            #"gatehouse_unavailable_total{cause="deadline"} 0"#,
            #"gatehouse_revocation_wait_seconds_bucket{le="0.1"} 0"#,
            #"gatehouse_mail_waiting 0"#,
            #"gatehouse_mail_bounces_total{result="bounced"} 0"#,
            "gatehouse_build_info{version=\"\(Version.current)\"} 1",
        ] {
            #expect(page.body.contains(line + "\n"), "\(line)")
        }
        for name in [
            "process_resident_memory_bytes", "process_open_fds", "gatehouse_connections",
            #"gatehouse_database_connections{role="app"}"#, "gatehouse_database_connections_limit",
            "process_cpu_seconds_total",
        ] {
            #expect(page.body.contains("\n\(name) "), "\(name)")
        }
        #expect(!page.body.contains("some-secret-path"))
    }

    @Test func `a log line has the caller, the tenant and the beginning of an unknown path`()
        async throws
    {
        let log = CapturedLog()
        let running = try await RunningService { $0.logger = log.logger }
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        let bearer = ["Authorization: Bearer \(secret.text)"]
        let made = try running.send(
            "POST", "/v1/tenants", body: #"{"slug":"logged","name":"Logged"}"#, fields: bearer)
        #expect(made.status == 201)
        #expect(try running.send("GET", "/v1/tenants/logged/users", fields: bearer).status == 200)
        #expect(try running.send("GET", "/old-door/tokens/s3cret", fields: bearer).status == 404)
        let tenant = try JSONValue(parsing: Array(made.body.utf8))["id"]?.string ?? "none"
        await running.service.stop()  // writes the log
        #expect(
            log.lines.contains {
                $0.contains(#""route":"/v1/tenants/{tenant}/users""#)
                    && $0.contains(#""tenant":"\#(tenant)""#) && $0.contains(#""by":"key "#)
            })
        #expect(log.lines.contains { $0.contains(#""path":"/old-door/tokens""#) })
        #expect(!log.text.contains("s3cret"))
    }

    @Test func `metrics are for this machine and the platform, and not through a proxy`()
        async throws
    {
        let running = try await RunningService()
        #expect(try running.send("GET", "/metrics").status == 200)
        let passedOn = try running.send(
            "GET", "/metrics", fields: ["X-Forwarded-For: 203.0.113.9"])
        #expect(passedOn.status == 401 && passedOn.first("www-authenticate") != nil)
        let foreign = try running.send("GET", "/metrics", fields: ["Origin: https://evil.example"])
        #expect(foreign.status == 401)
        let bad = try running.send("GET", "/metrics", fields: ["Authorization: Bearer nonsense"])
        #expect(bad.status == 401)
    }

    @Test func `with a listener of their own, metrics are nowhere else`() async throws {
        let running = try await RunningService { $0.metricsListen = "127.0.0.1:0" }
        #expect(try running.send("GET", "/metrics").status == 404)
        let port = try #require(running.service.metricsPort)
        #expect(try running.send("GET", "/metrics", port: port).status == 200)
        #expect(try running.send("GET", "/v1/tenants", port: port).status == 404)
    }

    @Test func `the documentation shows every operation, and the policy names its one script`()
        async throws
    {
        let running = try await RunningService()
        let page = try running.send("GET", "/docs")
        #expect(page.status == 200)
        let policy = try #require(page.first("content-security-policy"))
        #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
        #expect(policy.contains("script-src 'sha256-"), "\(policy)")
        #expect(page.body.split(separator: "<script").count == 2 && !page.body.contains(" style="))
        let document = try JSONValue(
            parsing: Array(running.send("GET", "/openapi.json").body.utf8))
        for path in document["paths"]?.members ?? [] {
            for method in path.value.members ?? [] {
                let id = try #require(method.value["operationId"]?.string)
                #expect(page.body.contains("<details class=\"op\" id=\"\(id)\">"), "\(id)")
            }
        }
        let tag = try #require(page.first("etag"))
        let again = try running.send("GET", "/docs", fields: ["If-None-Match: \(tag)"])
        #expect(again.status == 304)
    }
}
