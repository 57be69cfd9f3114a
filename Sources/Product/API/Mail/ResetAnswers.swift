import Storage

/// Answers requests for password resets in the background. Any number of replicas may run it.
package struct ResetAnswers: Sendable {
    /// The number of requests that are answered at the same time, each in its own transaction.
    private static let width = 4

    private let database: Database
    private let publicURL: String

    package init(database: Database, publicURL: String) {
        self.database = database
        self.publicURL = publicURL
    }

    /// Answers requests until none is due, and returns the number of requests. A request that fails
    /// is tried again later.
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

    /// Answers the requests. If one fails, the others are still answered; then the first error is
    /// thrown.
    private func answer(_ asks: [ResetAsk]) async throws {
        let failures = await withTaskGroup(of: (any Error)?.self) { group in
            for lane in 0..<Self.width {
                group.addTask {
                    var failure: (any Error)?
                    for index in stride(from: lane, to: asks.count, by: Self.width) {
                        do {
                            try await database.answer(asks[index], publicURL: publicURL)
                        } catch {
                            failure = failure ?? error
                        }
                    }
                    return failure
                }
            }
            return await group.reduce(into: [any Error]()) {
                if let error = $1 { $0.append(error) }
            }
        }
        if let first = failures.first { throw first }
    }
}
