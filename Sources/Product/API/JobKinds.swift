extension JobKinds {
    /// Every job kind of the service, one line each.
    package static let all = JobKinds(
        BulkEndpoints.kinds
            + [InviteJobs(), ImportJob(), InactivityJob()])
}
