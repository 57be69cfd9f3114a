import API
import HTTP
import JSON
import TestSupport
import Testing

/// What a hook and a person are told of attributes.
@Suite(.cleansUp) struct OutcomeAttributesTests {
    private static let attributes =
        #""public_attributes":{"plan":"team"},"private_attributes":{"credit":"bad"}"#

    /// Private attributes at the tenant and at the user.
    private func make() async throws -> ProvisioningFixture {
        let base = try await ProvisioningFixture.make()
        try await base.service.manage(.patch, "/v1/tenants/acme", "{\(Self.attributes)}")
        try await base.service.manage(
            .post, "/v1/tenants/acme/users", #"{"email":"ann@ex.com",\#(Self.attributes)}"#)
        return base
    }

    private func expectPublicAlone(_ answer: TestAnswer) {
        for one in ["user", "tenant"] {
            #expect(
                answer.json[one]?["public_attributes"]?["plan"] == .string("team"),
                "\(answer.text)")
        }
        #expect(!answer.text.contains("private_attributes") && !answer.text.contains("credit"))
    }

    @Test func `the hook gets only the public attributes`() async throws {
        let base = try await make()
        expectPublicAlone(try await base.google("1", "ann@ex.com"))
    }

    @Test func `a person who accepts an invite gets only the public attributes`() async throws {
        let base = try await make()
        try await base.service.manage(
            .patch, "/v1/tenants/acme", "{\(Self.attributes)}")
        let answer = try await base.accept(try await base.invited("bea@ex.com"))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["tenant"]?["public_attributes"]?["plan"] == .string("team"))
        #expect(!answer.text.contains("private_attributes"), "\(answer.text)")
    }
}
