import Testing

@testable import API

/// What is in progress at once.
struct InFlightTests {
    @Test func `a key has as many places as it may, and all together as many as they may`() throws {
        let uploads = InFlight<Int>(perKey: 2, total: 8, isFair: true)
        var taken = try (0..<8).map { try uploads.enter($0) }
        #expect(throws: InFlight<Int>.Full.ofAll) { try uploads.enter(8) }
        #expect(throws: InFlight<Int>.Full.ofAll) { try uploads.enter(0) }
        #expect(taken.allSatisfy { $0.isHeld })
        taken.removeLast()
        let again = try uploads.enter(0)
        #expect(throws: InFlight<Int>.Full.ofKey) { try uploads.enter(0) }
        withExtendedLifetime((taken, again)) {}
    }

    @Test func `without a limit for all each key has its own`() throws {
        let batches = InFlight<Int>(perKey: 8)
        var held: [InFlight<Int>.Slot] = []
        for _ in 0..<8 { held.append(try batches.enter(1)) }
        #expect(throws: InFlight<Int>.Full.ofKey) { try batches.enter(1) }
        _ = try batches.enter(2)
        held.removeFirst()
        _ = try batches.enter(1)
    }

    @Test func `a key without a place gets the newest one of a key with most`() throws {
        let uploads = InFlight<Int>(perKey: 2, total: 8, isFair: true)
        var taken = try (0..<4).flatMap { key in [try uploads.enter(key), try uploads.enter(key)] }
        let next = try uploads.enter(4)
        #expect(next.isHeld && !taken[7].isHeld)
        #expect(taken.prefix(7).allSatisfy { $0.isHeld })
        // Its end frees no place of another.
        taken.removeLast()
        #expect(throws: InFlight<Int>.Full.ofKey) { try uploads.enter(0) }
        #expect(throws: InFlight<Int>.Full.ofAll) { try uploads.enter(3) }
        let unfair = InFlight<Int>(perKey: 2, total: 2)
        let both = try (0..<2).map { _ in try unfair.enter(0) }
        #expect(throws: InFlight<Int>.Full.ofAll) { try unfair.enter(1) }
        withExtendedLifetime((taken, next, both)) {}
    }
}
