import Text

/// The look-ups that wait for one server, by whose they are.
extension HashLookUp {
    struct Questions {
        var tenants = BoundArray(of: TypeOID.uuid, in: TypeOID.uuidArray)
        var hashes = BoundArray(of: TypeOID.bytea, in: TypeOID.byteaArray)
        var finishes: [Finish] = []

        var isFull: Bool { finishes.count >= HashLookUp.limit }

        mutating func add(
            _ tenant: UUID, _ hash: UnsafeRawBufferPointer, _ finish: @escaping Finish
        ) {
            tenants.append(tenant)
            hashes.append(hash)
            finishes.append(finish)
        }
    }

    /// `@unchecked Sendable`: touched on its pool's loop only.
    final class Batch: @unchecked Sendable {
        var ofAll = Questions()
        var ofShards: [Int64: (location: TenantServers.Location, questions: Questions)] = [:]
        var ofTenants: [UUID: Questions] = [:]
        /// It will be sent at the end of this cycle.
        var isAwaited = false
        /// Statements that the server has not answered, for which others gather.
        var inFlight = 0
        let server: Postgres

        init(_ server: Postgres) { self.server = server }

        var isEmpty: Bool { ofAll.finishes.isEmpty && ofShards.isEmpty && ofTenants.isEmpty }
    }

    /// Those of one pool. `@unchecked Sendable`: touched on its loop only.
    final class Batches: @unchecked Sendable {
        /// For the server of all, or the coordinator.
        let own: Batch
        private var ofServers: [ObjectIdentifier: Batch] = [:]

        init(_ postgres: Postgres) { own = Batch(postgres) }

        /// For a server of shards.
        func batch(of server: Postgres) -> Batch {
            if let known = ofServers[ObjectIdentifier(server)] { return known }
            // Those of servers that are gone end here.
            ofServers = ofServers.filter { !$0.value.isEmpty || $0.value.inFlight > 0 }
            let batch = Batch(server)
            ofServers[ObjectIdentifier(server)] = batch
            return batch
        }
    }
}
