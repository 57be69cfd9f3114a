import Text

/// Reads of one tenant, wherever its rows are.
extension Postgres {
    /// Like `read` without a task, for the rows of one tenant, which the statement names.
    /// `app.tenant` is not set: this is for a role that reads across tenants.
    package func read(
        of tenant: UUID, _ sql: SQL, then finish: @escaping (Result<Rows, PostgresError>) -> Void
    ) {
        guard let workers, let worker = workers.worker(of: tenant, self) else {
            return read(sql, then: finish)
        }
        worker.read(sql) { [self] answer in
            if case .failure(let error) = answer, workers.leavesToCoordinator(error, of: worker) {
                return read(sql, then: finish)
            }
            finish(answer)
        }
    }

    /// A read with `app.tenant` set, in one round trip, under the rules of `read`.
    package func tenantRead(_ tenant: UUID, _ sql: SQL) async throws(PostgresError) -> Rows {
        if let workers, let worker = workers.worker(of: tenant, self) {
            do {
                return try await worker.send(sql, .read, in: tenant)
            } catch {
                guard workers.leavesToCoordinator(error, of: worker) else { throw error }
            }
        }
        return try await send(sql, .read, in: tenant)
    }
}

extension CitusWorkers {
    /// Whether the coordinator should try what a worker did not answer. If the statement itself is
    /// at fault, it reports the same error.
    fileprivate func leavesToCoordinator(_ error: PostgresError, of worker: Postgres) -> Bool {
        switch error.kind {
        case .server: true
        case .unavailable: isGone(worker)
        case .timeout, .cancelled, .decoding, .commitUnknown: false
        }
    }
}
