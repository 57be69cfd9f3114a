extension JobKinds {
    /// All job kinds of the service.
    package static let all = JobKinds(
        BulkEndpoints.kinds
            + [InviteJobs(), ImportJob(), InactivityJob()])
}
