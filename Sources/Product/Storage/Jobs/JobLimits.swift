/// What a tenant may have at once.
package enum JobLimits {
    /// Jobs of a tenant that are queued, running or paused.
    package static let live = 20
    /// Rows that a bulk action may have.
    package static let rows = 100_000
    /// Rows of all jobs that are kept, for their reports: ten of the largest imports.
    package static let kept = 50_000_000
    /// Rows of one batch: each has a savepoint, and PostgreSQL keeps 64 of a transaction in memory.
    package static let batch = 50
}

/// The tenant has as much as it may.
package enum TooManyJobs: Error, Sendable {
    case live
    /// With those of the new job.
    case rows
}
