import HTTP
import Outbound
import Runtime
import TestSupport
import Testing
import Text

/// One owner's stalling host holds up no other owner.
@Suite(.cleansUp) struct OutboundFairnessTests {
    @Test func `an owner whose host stalls waits for itself, others are answered at once`()
        async throws
    {
        var policy = OutboundPolicy(allowsLoopback: true)
        policy.total = .milliseconds(800)
        let client = OutboundHTTP(policy: policy)
        let stalling = ScriptedListener { connection in
            _ = connection.read(until: "\r\n\r\n")
            _ = connection.read(until: "never")
        }
        let good = ScriptedListener { connection in
            _ = connection.read(until: "\r\n\r\n")
            connection.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        }
        let (evil, other) = (UUID.random(), UUID.random())
        let (bad, fine) = (
            OutboundRequest(.get, "http://127.0.0.1:\(stalling.port)/"),
            OutboundRequest(.get, "http://127.0.0.1:\(good.port)/")
        )
        try await withThrowingTaskGroup(of: OutboundFailure?.self) { group in
            for _ in 0..<72 {
                group.addTask {
                    do throws(OutboundFailure) {
                        _ = try await client.send(bad, for: evil)
                        return nil
                    } catch { return error }
                }
            }
            // Others' calls, and the platform's, meanwhile.
            for owner in [other, nil, other, nil] {
                let start = ContinuousClock.now
                #expect(try await client.send(fine, for: owner).status == 204)
                #expect(ContinuousClock.now - start < .milliseconds(700))
            }
            var failures: [OutboundFailure: Int] = [:]
            for try await failure in group {
                let failure = try #require(failure)
                failures[failure, default: 0] += 1
            }
            #expect(failures[.busy] ?? 0 >= 72 - 2 - OutboundPolicy.waitingLimit)
            #expect(failures[.timedOut] ?? 0 >= 2)
        }
        // Who waited had no time left, which is not the host's fault; this one is its third.
        await #expect(throws: OutboundFailure.timedOut) {
            _ = try await client.send(bad, for: evil)
        }
        // It has not answered in time again and again, and is left alone for a while.
        await #expect(throws: OutboundFailure.suspended) {
            _ = try await client.send(bad, for: evil)
        }
        // Another owner's fault it is not.
        await #expect(throws: OutboundFailure.timedOut) {
            _ = try await client.send(bad, for: other)
        }
        #expect(try await client.send(fine, for: evil).status == 204)
    }

    @Test func `a free slot goes to the next in line, and callers beyond the queue are refused`()
        async
    {
        let slots = FairSlots<String>(waitingLimit: 2)
        #expect(await slots.enter("a", limit: 1))
        #expect(await slots.enter("b", limit: 1))
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    guard await slots.enter("a", limit: 1) else { return false }
                    slots.leave("a")
                    return true
                }
            }
            // Two wait, so the other three come back at once.
            var refused = 0
            for await isIn in group {
                if !isIn { refused += 1 }
                if refused == 3 { break }
            }
            slots.leave("a")
            var handedOver = 0
            for await isIn in group where isIn { handedOver += 1 }
            #expect(handedOver == 2)
        }
        #expect(await slots.enter("a", limit: 1))
    }

    @Test func `names of inner addresses and unknown names are the same failure`() {
        #expect(OutboundFailure.refusedAddress.told == OutboundFailure.unresolved.told)
        #expect(OutboundFailure.unreachable.told == OutboundFailure.unresolved.told)
        #expect(OutboundFailure.timedOut.told == "timedOut")
    }
}
