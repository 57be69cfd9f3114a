import Synchronization

/// Limits how many operations are in progress in this process at the same time, for each key and in
/// total.
package final class InFlight<Key: Hashable & Sendable>: Sendable {
    /// The error that says which limit is reached.
    package enum Full: Error { case ofKey, ofAll }

    private struct Entry {
        var slot: Int
        var key: Key
    }

    private struct State {
        /// The operations in progress, the oldest first.
        var entries: [Entry] = []
        var slots = 0
    }

    package let perKey: Int
    let total: Int
    private let isFair: Bool
    private let state = Mutex(State())

    /// If `isFair` is true, a key that has no slot gets one even if all slots are taken: it takes
    /// the newest slot of those keys that have reached their own limit. Thus a few keys with slow
    /// operations cannot exclude the others.
    package init(perKey: Int, total: Int = .max, isFair: Bool = false) {
        self.perKey = perKey
        self.total = total
        self.isFair = isFair
    }

    /// A slot that is occupied until this object is deallocated, so it is released however the
    /// operation ends.
    package final class Slot: Sendable {
        private let owner: InFlight
        private let number: Int

        fileprivate init(_ owner: InFlight, _ number: Int) {
            self.owner = owner
            self.number = number
        }

        deinit { owner.leave(number) }

        /// Whether the slot still belongs to this operation. False if another key took it.
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
