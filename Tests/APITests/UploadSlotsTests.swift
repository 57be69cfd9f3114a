import Testing
import Text

@testable import API

/// Uploads that are received at once.
struct UploadSlotsTests {
    @Test func `two uploads of a tenant and eight of a replica at once`() throws {
        let slots = UploadSlots()
        let tenants = (0..<5).map { _ in UUID.random() }
        var taken = try tenants.prefix(4).flatMap { tenant in
            try [slots.take(for: tenant), slots.take(for: tenant)]
        }
        #expect(throws: Problem.self, "the ninth") { try slots.take(for: tenants[4]) }
        taken.removeFirst()
        let next = try slots.take(for: tenants[4])
        #expect(throws: Problem.self, "the ninth") { try slots.take(for: tenants[0]) }
        taken.removeLast()
        #expect(throws: Problem.self, "a third of one tenant") { try slots.take(for: tenants[1]) }
        withExtendedLifetime((taken, next)) {}
    }
}
