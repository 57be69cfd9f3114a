import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Tenants that somebody deleted, over the days.
@Suite(.serialized) struct DeletedTenantsTests {
    @Test func `a tenant is restored to the last moment of 30 days and not after it`() async throws
    {
        try await DeletionStage.run { stage in
            #expect(try await stage.send(.delete, "").status == 204)
            stage.clock.advance(seconds: DeletionStage.days - 1)
            let restored = try await stage.send(.post, "/restore")
            #expect(restored.json["status"]?.string == "active", "\(restored.text)")
            #expect(try await stage.send(.delete, "").status == 204)
            stage.clock.advance(seconds: DeletionStage.days)
            let late = try await stage.send(.post, "/restore")
            #expect(late.status == 409)
            #expect(late.json["code"]?.string == "conflict")
            #expect(late.json["detail"]?.string?.contains("30 days") == true, "\(late.text)")
        }
    }

    @Test func `the days count from the deletion, whatever is changed afterwards`() async throws {
        try await DeletionStage.run { stage in
            #expect(try await stage.send(.delete, "").status == 204)
            stage.clock.advance(seconds: DeletionStage.days / 2)
            let renamed = try await stage.send(.patch, "", #"{"name":"Late"}"#)
            #expect(renamed.json["name"]?.string == "Late", "\(renamed.text)")
            #expect(renamed.json["status"]?.string == "deleted")
            #expect(try await stage.send(.delete, "").status == 204)
            for verb in ["suspend", "resume"] {
                #expect(try await stage.send(.post, "/\(verb)").status == 409)
            }
            stage.clock.advance(seconds: DeletionStage.days / 2)
            #expect(try await stage.send(.post, "/restore").status == 409)
        }
    }
}
