import Text

/// What a connection does otherwise where the database spreads tenants over several servers.
extension PostgresConnection {
    /// Whether the batch of reads is an explicit transaction, which must be ended.
    var isInTransaction: Bool { isDistributed && tenant != nil }

    /// Sets `app.tenant` for the reads of one tenant, which are a batch of their own. A server asks
    /// another one for rows that it does not have, and passes on only what SET LOCAL set in an
    /// explicit transaction. SET LOCAL is a message of its own, because its whole text is passed
    /// on.
    func enterTransaction(_ statement: Statement) {
        seal()
        tenant = statement.tenant
        guard let tenant else { return }
        control("BEGIN", statement)
        control(Postgres.setLocal("app.tenant", tenant.description), statement)
    }

    /// The coordinator commits, and warns if another server has not followed yet. libpq reads ahead
    /// for warnings, so those of neighbours in the pipeline count too.
    func isUnconfirmed(_ statement: Statement) -> Bool {
        isDistributed && warnings.pointee > statement.warningsBefore
    }
}
