extension JobKinds {
    /// All job kinds of the service.
    static let all = JobKinds(
        BulkEndpoints.kinds
            + [InviteJobs(), ImportJob(), InactivityJob()])
}
