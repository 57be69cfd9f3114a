import API
import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ProblemTests {
    let fixture: ThingFixture

    init() async throws { fixture = try await ThingFixture() }

    @Test func `a problem has every member of its document`() async throws {
        let response = try await fixture.send(.get, "/v1/nowhere")
        #expect(response.first("content-type") == "application/problem+json")
        #expect(
            try response.json()
                == JSONValue(
                    parsing: Array(
                        """
                        {"type":"/docs/errors#not_found","title":"Not found",
                        "status":404,"detail":"There is no such path.","code":"not_found",
                        "request_id":"r-1","error":"There is no such path."}
                        """.utf8)))
    }

    @Test func `a conflict names the other object`() async throws {
        let response = try await fixture.send(
            .post, ThingFixture.path, json: #"{"slug":"taken","email":"a@b.c"}"#)
        #expect(response.status == 409)
        #expect(try response.json()["conflicting_id"]?.string == "7")
    }

    @Test func `an unexpected error is 500 without details, and logged`() async throws {
        let response = try await fixture.send(
            .post, ThingFixture.path, json: #"{"slug":"broken","email":"a@b.c"}"#)
        #expect(try response.status == 500 && response.code() == "internal_error")
        #expect(!String(decoding: response.bytes, as: UTF8.self).contains("password"))
        let record = try #require(
            try fixture.records(of: "/v1/tenants/{tenant}/things").last)
        #expect(record["fault"]?.string?.contains("the password") == true)
        #expect(record["level"]?.string == "error" && record["method"]?.string == "POST")
        #expect(record["tenant"]?.string == fixture.acme.id.description)
    }

    @Test func `a hook's refusal is byte-equal on a retry`() async throws {
        let dispatcher = try fixture.dispatcher()
        var request = Request.json(.post, "/v1/hooks/thing", "{}")
        let first = await dispatcher.respond(to: request)
        request.id = "r-2"
        let second = await dispatcher.respond(to: request)
        #expect(first.status == 503 && first.bytes == second.bytes)
        #expect(second.first("x-request-id") == "r-2")
    }

    @Test func `a body with very many faults gets a hundred errors and a short sentence`() {
        let faults = (0..<1000).map { FieldError("/items/\($0)/origin", .duplicate, "is twice") }
        let problem = Problem.invalid(faults)
        #expect(problem.errors.count == 100)
        #expect(problem.detail.hasSuffix("; `errors` has 999 more errors."))
    }

    @Test func `each reason of a refusal is a code of its name`() {
        let codes = Code.allCases.map(\.rawValue)
        #expect(Reason.allCases.map(\.rawValue).filter { !codes.contains($0) } == [])
    }

    @Test func `codes are frozen`() {
        #expect(
            Code.allCases.map(\.rawValue).joined(separator: " ") == """
                invalid_request validation_failed unauthorized forbidden not_found \
                method_not_allowed conflict precondition_failed precondition_required \
                unsupported_media_type payload_too_large origin_not_allowed confirm_required \
                domain_unproved undo_conflict job_state idempotency_mismatch commit_unknown sign_up_closed email_taken \
                request_in_progress idempotency_quota step_up_required second_factor_required internal_error email_missing email_invalid email_unverified user_suspended \
                user_deleted tenant_suspended tenant_deleted approval_pending invite_unknown \
                invite_expired invite_revoked invite_used invite_email_mismatch \
                join_unknown join_expired join_revoked join_used_up \
                identity_link_required identity_conflict not_invited no_tenant provider_unknown \
                tenant_choice_required email_blocked rate_limited unavailable
                """)
    }
}
