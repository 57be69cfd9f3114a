import Text

/// The look-ups of one loop cycle, by who is asked.
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

        mutating func clear() {
            tenants.clear()
            hashes.clear()
            finishes.removeAll(keepingCapacity: true)
        }
    }

    /// `@unchecked Sendable`: touched on its pool's loop only.
    final class Batch: @unchecked Sendable {
        var ofAll = Questions()
        var ofShards: [Int64: (location: TenantServers.Location, questions: Questions)] = [:]
        var ofTenants: [UUID: Questions] = [:]
        /// It will be sent at the end of this cycle.
        var isAwaited = false
    }
}
