import JSON

/// What one batch of a job did.
package struct JobStep: Sendable {
    package var results: [JobResult]
    /// Nil keeps the kind's state.
    package var state: JSONValue?
    /// Nil keeps the total.
    package var total: Int?
    /// Nothing is left.
    package var isLast: Bool

    package init(
        _ results: [JobResult], state: JSONValue? = nil, total: Int? = nil, isLast: Bool
    ) {
        self.results = results
        self.state = state
        self.total = total
        self.isLast = isLast
    }

    func count(_ statuses: JobResult.Status...) -> Int {
        results.count { statuses.contains($0.status) }
    }
}
