import Postgres
import Testing

/// Every order of renewals, fills, revocations, their notices, silence and losses is walked.
struct ModelTests {
    private struct Walk {
        var states = 0
        var sawAnswerFromMemory = false
        var sawReturn = false
        /// The steps to the first state in which a replica says yes after the return.
        var counterexample: [String]?
    }

    private static func walk(_ start: Model) -> Walk {
        var walk = Walk()
        var seen: Set<Fingerprint> = [Fingerprint(start)]
        var trail: [(parent: Int, name: String)] = [(-1, "start")]
        var queue: [(Model, Int)] = [(start, 0)]
        var at = 0
        while at < queue.count {
            let (model, place) = queue[at]
            at += 1
            if at > 4096 {
                queue.removeFirst(at)
                at = 0
            }
            for step in model.steps() where seen.insert(Fingerprint(step.next)).inserted {
                trail.append((place, step.name))
                walk.sawAnswerFromMemory = walk.sawAnswerFromMemory || step.next.answersFromMemory
                walk.sawReturn =
                    walk.sawReturn || step.next.revokers.allSatisfy { $0.place == .returned }
                if step.next.isBroken {
                    walk.counterexample = names(of: trail.count - 1, in: trail)
                    walk.states = seen.count
                    return walk
                }
                queue.append((step.next, trail.count - 1))
            }
        }
        walk.states = seen.count
        return walk
    }

    private static func names(of end: Int, in trail: [(parent: Int, name: String)]) -> [String] {
        var names: [String] = []
        var at = end
        while at >= 0 {
            names.append(trail[at].name)
            at = trail[at].parent
        }
        return names.reversed()
    }

    @Test(arguments: [(1, 1, 1, 2, 1, 3), (1, 2, 1, 1, 0, 2), (2, 1, 1, 1, 1, 2)])
    func `no order of events gives a stale yes after the call has returned`(
        size: (revokers: Int, replicas: Int, fills: Int, renewals: Int, losses: Int, ticks: Int)
    ) {
        let walk = Self.walk(
            Model(
                revokers: size.revokers, replicas: size.replicas, fills: size.fills,
                renewals: size.renewals,
                losses: size.losses, ticks: size.ticks))
        #expect(walk.counterexample == nil, "\(walk.counterexample ?? [])")
        #expect(walk.sawAnswerFromMemory && walk.sawReturn && walk.states > 1000)
    }

    @Test func `a connection that turns deaf gives no stale yes`() {
        let walk = Self.walk(Model(replicas: 1, fills: 1, losses: 1, mayTurnDeaf: true))
        #expect(walk.counterexample == nil, "\(walk.counterexample ?? [])")
        #expect(walk.sawAnswerFromMemory && walk.sawReturn && walk.states > 1000)
    }

    @Test func `a lease that counts without its echo is found out`() throws {
        let walk = Self.walk(
            Model(replicas: 1, fills: 1, losses: 0, mayTurnDeaf: true, hearsItself: false))
        let steps = try #require(walk.counterexample)
        #expect(steps.contains("0 turns deaf"))
    }

    @Test func `a fill that takes its token after its question is found out`() throws {
        let walk = Self.walk(Model(replicas: 1, fills: 1, losses: 0, takesTokenBefore: false))
        let steps = try #require(walk.counterexample)
        #expect(steps.contains("0 takes notice(0)") && steps.last != nil)
    }

    @Test func `an answer that counts for whichever change is waited for is found out`() throws {
        let walk = Self.walk(
            Model(
                revokers: 2, replicas: 1, fills: 1, renewals: 1, losses: 0, ticks: 2,
                namesWhatItObeys: false))
        let steps = try #require(walk.counterexample)
        #expect(steps.contains("revoker 0 hears 0") || steps.contains("revoker 1 hears 0"))
    }

    @Test func `a lease renewed beside the connection that listens is found out`() {
        let walk = Self.walk(Model(replicas: 1, fills: 1, losses: 1, renewsWhereItListens: false))
        #expect(walk.counterexample != nil)
    }

    @Test func `a lease that counts from when its renewal came back is found out`() {
        let walk = Self.walk(
            Model(
                replicas: 1, fills: 1, renewals: 1, losses: 0, ticks: 3,
                countsFromTheSending: false))
        #expect(walk.counterexample != nil)
    }

    @Test func `a call that does not wait for a silent replica is found out`() {
        let walk = Self.walk(Model(replicas: 1, fills: 1, losses: 0, waitsForTheSilent: false))
        #expect(walk.counterexample != nil)
    }
}
