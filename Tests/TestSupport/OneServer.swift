import Testing

extension Trait where Self == ConditionTrait {
    /// For what a test asks of PostgreSQL and several servers cannot tell: which rows one transaction wrote, a
    /// trigger that stands for an outage, a program of before.
    package static var onOneServer: Self {
        .enabled("of a database on one server") { try !TestCluster.shared.get().isDistributed }
    }
}
