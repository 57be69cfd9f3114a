import Testing
import Text

@testable import API

/// Uploads that are received at once.
struct UploadSlotsTests {
    @Test func `two uploads of a tenant and eight of a replica at once`() throws {
        let slots = UploadSlots()
        let tenants = (0..<9).map { _ in UUID.random() }
        let taken = try tenants.prefix(8).map { try slots.take(for: $0) }
        #expect(throws: Problem.self, "the ninth") { try slots.take(for: tenants[8]) }
        #expect(throws: Problem.self, "the ninth") { try slots.take(for: tenants[0]) }
        for slot in taken { try slot.check() }
        let few = UploadSlots()
        let two = try (0..<2).map { _ in try few.take(for: tenants[0]) }
        #expect(throws: Problem.self, "a third of one tenant") { try few.take(for: tenants[0]) }
        withExtendedLifetime(two) {}
    }

    @Test func `a tenant without an upload gets the newest place of one with most`() throws {
        let slots = UploadSlots()
        let tenants = (0..<5).map { _ in UUID.random() }
        var taken = try tenants.prefix(4).flatMap { tenant in
            try [slots.take(for: tenant), slots.take(for: tenant)]
        }
        let next = try slots.take(for: tenants[4])
        try next.check()
        #expect(throws: Problem.self) { try taken[7].check() }
        for slot in taken.prefix(7) { try slot.check() }
        // Its end frees no place of another.
        taken.removeLast()
        #expect(throws: Problem.self, "the ninth") { try slots.take(for: tenants[0]) }
        withExtendedLifetime((taken, next)) {}
    }
}
