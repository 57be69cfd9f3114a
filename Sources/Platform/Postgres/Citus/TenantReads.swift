import Text

/// Reads the rows of one tenant, on whichever server they are.
extension Postgres {
    /// Like `read` with a callback, but for rows of one tenant, which the statement itself names.
    /// `app.tenant` is not set: this is for a role that may read the rows of all tenants.
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

    /// Like `read`, but with `app.tenant` set, in a single round trip.
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
    /// Whether the coordinator should run a read that failed on a worker. This includes a read that
    /// the worker refused: if the statement itself is at fault, the coordinator reports the same
    /// error.
    fileprivate func leavesToCoordinator(_ error: PostgresError, of worker: Postgres) -> Bool {
        switch error.kind {
        case .server: true
        case .unavailable: isGone(worker)
        case .timeout, .cancelled, .decoding, .commitUnknown: false
        }
    }
}
