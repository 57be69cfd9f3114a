import CPostgres
import Text

/// Statements into libpq's buffer, each with what is expected as its answer.
extension PostgresConnection {
    /// Sets `app.tenant` for the rest of this batch. The statements between two syncs are one
    /// implicit transaction, at whose end the server resets a local setting.
    func enter(_ statement: Statement) {
        if let shard = statement.scope.shard {
            if mustCommit { seal() }
            set(statement, "\(shard)", by: "shard", TenantShards.guardText)
        } else if isDistributed {
            enterTransaction(statement)
        } else {
            set(statement, nil, by: "tenant", "SELECT set_config('app.tenant', $1, true)")
        }
    }

    /// `$1` of the text is the tenant, `$2` the shard.
    private func set(
        _ statement: Statement, _ shard: String?, by name: String, _ text: String
    ) {
        if !prepared.contains(name) { prepare(text, as: name) }
        guard let handle else { return }
        let sent = (statement.scope.tenant?.description ?? "").withCString { tenant in
            (shard ?? "").withCString { second in
                var values: (UnsafePointer<CChar>?, UnsafePointer<CChar>?) = (tenant, second)
                return withUnsafePointer(to: &values) {
                    $0.withMemoryRebound(to: UnsafePointer<CChar>?.self, capacity: 2) {
                        PQsendQueryPrepared(
                            handle, name, shard == nil ? 1 : 2, $0, nil, nil, 1)
                    }
                }
            }
        }
        guard sent == 1 else { return close("send refused") }
        scope = statement.scope
        expected.append(.control(statement))
    }

    /// The same where only an explicit transaction reaches the tenant's server: each tenant's reads
    /// are a batch of their own. SET LOCAL is a message of its own: the whole text is handed on.
    private func enterTransaction(_ statement: Statement) {
        // A tenant that was set for statements before this one ends with their batch.
        if scope.tenant != nil || statement.scope.tenant != nil { seal() }
        scope = statement.scope
        guard let tenant = scope.tenant else { return }
        control("BEGIN", statement)
        control(Postgres.setLocal("app.tenant", tenant.description), statement)
        if forgetsPlans {
            control(Postgres.setLocal("plan_cache_mode", "force_custom_plan"), statement)
        }
    }

    /// Sends a read in its own batch, so that no other statement's failure affects it.
    private func prepare(_ text: String, as name: String) {
        seal()
        guard let handle else { return }
        guard PQsendPrepare(handle, name, text, 0, nil) == 1 else {
            return close("send refused")
        }
        expected.append(.essential)
        prepared.insert(name)
        needsSync = true
        seal()
    }

    func control(_ text: String, _ statement: Statement?) {
        guard let handle else { return }
        guard PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1) == 1 else {
            return close("send refused")
        }
        expected.append(.control(statement))
    }

    func send(_ statement: Statement) {
        let slots = statement.sql.slots
        let name: String
        switch statements.find(statement.sql.text, batch: batch) {
        case .name(let known): name = known
        // The unnamed statement: used at once, replaced by the next Parse.
        case .unconfirmed:
            name = ""
            guard prepare(statement, name) else { return refuse(statement) }
        case nil:
            let added = statements.add(statement.sql.text, batch: batch)
            if let evicted = added.evicted { control("DEALLOCATE \(evicted)", nil) }
            name = added.name
            guard prepare(statement, name) else { return refuse(statement) }
        }
        guard let handle else { return lost(statement) }
        let count = slots.count
        let sent = statement.sql.values.withUnsafeBytes { values in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count + 1) {
                pointers in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count + 2) { numbers in
                    // A non-null pointer distinguishes an empty value from NULL.
                    let empty = UnsafeRawPointer(numbers.baseAddress)
                    for (index, slot) in slots.enumerated() {
                        let start = (values.baseAddress ?? empty).map { $0 + slot.offset }
                        pointers[index] =
                            slot.length < 0 ? nil : start?.assumingMemoryBound(to: CChar.self)
                        numbers[index] = Int32(max(0, slot.length))
                        numbers[count + index] = 1
                    }
                    return PQsendQueryPrepared(
                        handle, name, Int32(count), pointers.baseAddress, numbers.baseAddress,
                        numbers.baseAddress.map { $0 + count }, 1)
                }
            }
        }
        guard sent == 1 else { return refuse(statement) }
        expected.append(.answer(statement))
    }

    private func prepare(_ statement: Statement, _ name: String) -> Bool {
        let types = statement.sql.slots.map(\.type)
        guard let handle,
            PQsendPrepare(handle, name, statement.sql.text, Int32(types.count), types) == 1
        else { return false }
        expected.append(.prepare(statement, name: name))
        return true
    }

    /// libpq refused it: out of memory, over 65,535 values, or a broken connection.
    private func refuse(_ statement: Statement) {
        let cause = handle.map { String(cString: PQerrorMessage($0)) } ?? ""
        inFlight -= 1
        statement.complete(.failure(PostgresError(.unavailable, cause)))
        close("send refused")
    }
}
