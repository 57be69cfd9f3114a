import Text

/// The parts of a connection that differ if the database spreads tenants over several servers
/// (Citus).
extension PostgresConnection {
    /// Whether the current batch of reads is an explicit transaction, which must be ended.
    var isInTransaction: Bool { isDistributed && tenant != nil }

    /// Begins a transaction with `app.tenant` set for the reads of one tenant; they are a batch of
    /// their own. A server may have to forward a statement to the server that has the rows, and it
    /// forwards only settings made by SET LOCAL in an explicit transaction. SET LOCAL is a message
    /// of its own, because the server forwards the whole text of the message.
    func enterTransaction(_ statement: Statement) {
        seal()
        tenant = statement.tenant
        guard let tenant else { return }
        control("BEGIN", statement)
        control(Postgres.setLocal("app.tenant", tenant.description), statement)
    }

    /// Whether the statement's commit may still be missing on another server. If a server does not
    /// confirm a commit, the coordinator still commits and only sends a warning. libpq reads ahead,
    /// so a warning about another statement in the pipeline counts too.
    func isUnconfirmed(_ statement: Statement) -> Bool {
        isDistributed && warnings.pointee > statement.warningsBefore
    }
}
