import Storage

/// Answers what was asked of password resets, apart from the mails that wait to be sent. Any number of
/// replicas may do so.
package struct ResetAnswers: Sendable {
    /// Transactions at once.
    private static let width = 4

    private let database: Database
    private let publicURL: String

    package init(database: Database, publicURL: String) {
        self.database = database
        self.publicURL = publicURL
    }

    /// Answers until nothing is due; how many that were. A request that fails is left for later.
    @discardableResult
    package func round() async throws -> Int {
        var answered = 0
        while true {
            let asks = try await database.takeResetAsks()
            try await answer(asks)
            answered += asks.count
            if asks.count < Database.resetAskBatch { return answered }
        }
    }

    private func answer(_ asks: [ResetAsk]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Self.width {
                group.addTask {
                    for index in stride(from: lane, to: asks.count, by: Self.width) {
                        try await database.answer(asks[index], publicURL: publicURL)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
