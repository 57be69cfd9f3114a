import Synchronization

/// Limits what is in progress in this process at the same time: for each key, and for all together.
package final class InFlight<Key: Hashable & Sendable>: Sendable {
    /// Which limit is reached.
    package enum Full: Error { case ofKey, ofAll }

    private struct Entry {
        var slot: Int
        var key: Key
    }

    private struct State {
        /// The oldest is first.
        var entries: [Entry] = []
        var slots = 0
    }

    package let perKey: Int
    package let total: Int
    private let isFair: Bool
    private let state = Mutex(State())

    /// If `isFair` is set and all slots are taken, a key without a slot gets the newest one of a
    /// key that has as many as it may: a few keys with slow work cannot keep others out.
    package init(perKey: Int, total: Int = .max, isFair: Bool = false) {
        self.perKey = perKey
        self.total = total
        self.isFair = isFair
    }

    /// Held while the work is in progress. It is free again on deinit, however the work ended.
    package final class Slot: Sendable {
        private let owner: InFlight
        private let number: Int

        fileprivate init(_ owner: InFlight, _ number: Int) {
            self.owner = owner
            self.number = number
        }

        deinit { owner.leave(number) }

        /// False if another key got the slot.
        var isHeld: Bool {
            owner.state.withLock { state in state.entries.contains { $0.slot == number } }
        }
    }

    package func enter(_ key: Key) throws(Full) -> Slot {
        let result: Result<Int, Full> = state.withLock { state in
            let own = state.entries.count { $0.key == key }
            if own >= perKey { return .failure(.ofKey) }
            if state.entries.count >= total {
                guard isFair, own == 0,
                    let newest = state.entries.lastIndex(where: { one in
                        state.entries.count { $0.key == one.key } >= perKey
                    })
                else { return .failure(.ofAll) }
                state.entries.remove(at: newest)
            }
            state.slots += 1
            state.entries.append(Entry(slot: state.slots, key: key))
            return .success(state.slots)
        }
        return Slot(self, try result.get())
    }

    private func leave(_ slot: Int) {
        state.withLock { state in state.entries.removeAll { $0.slot == slot } }
    }
}
