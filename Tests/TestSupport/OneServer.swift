import Testing

extension Trait where Self == ConditionTrait {
    /// For what a test asks of PostgreSQL and several servers cannot answer: which rows one
    /// transaction wrote, a trigger that simulates an outage, an earlier version of the program.
    package static var onOneServer: Self {
        .enabled("of a database on one server") { try !TestCluster.shared.get().isDistributed }
    }
}
