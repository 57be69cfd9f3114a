/// The attributes of users.
extension Change {
    /// Throws `AttributeFaults` if attributes that a write gives or changes are beyond a limit.
    func check(_ new: AttributePair, after old: AttributePair = AttributePair()) async throws {
        guard new != old else { return }
        let faults = new.faults()
        if !faults.isEmpty { throw AttributeFaults(faults) }
    }
}
