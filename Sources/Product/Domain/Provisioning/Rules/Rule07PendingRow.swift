extension Evaluation {
    /// Rule 7: a pending row that an operator or an import made.
    mutating func pendingRow(_ tenant: TenantFacts) -> Verdict? {
        guard case .pendingRow(let row) = knowledge else {
            note(.pendingRow, "no pending row", "")
            return nil
        }
        if let closed = refuseIfClosed(.pendingRow, tenant) { return closed }
        return attach(.pendingRow, tenant, row, .activateUser(user: row.id, role: row.role))
    }
}
