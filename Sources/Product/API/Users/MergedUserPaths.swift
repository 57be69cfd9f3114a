import HTTP
import Routing
import Storage
import Text

extension Endpoint {
    /// The same for ids of users who were merged: what is read is the winner's, and what would be
    /// written is a 409 with the winner's id. Costs nothing unless the id is unknown.
    var followingMerges: Endpoint {
        var endpoint = self
        if method != .get, path.contains("/{id}"), !problems.contains(.conflict) {
            endpoint.problems.append(.conflict)
        }
        let (handle, exists) = (handle, exists)
        endpoint.handle = { call in
            do {
                return try await handle(call)
            } catch  where call.parameters["id"] != nil && isNotFound(error) {
                guard let winner = try await call.winner() else { throw error }
                guard [.get, .head].contains(call.request.method) else {
                    throw Problem.conflict(
                        "The user was merged; this is the id of the one who is left.",
                        with: winner.description)
                }
                var response = try await handle(call.replacingID(with: winner))
                response.fields.append(Field("content-location", try call.path(of: winner)))
                return response
            }
        }
        if let exists {
            endpoint.exists = { call in
                if try await exists(call) { return true }
                return call.parameters["id"] != nil ? try await call.winner() != nil : false
            }
        }
        return endpoint
    }
}

private func isNotFound(_ error: any Error) -> Bool {
    if case .notFound = StorageFailure(error) { return true }
    return (error as? Problem)?.code == .notFound
}

extension Call {
    /// Whom the path's id names if its user was merged and the caller may see that.
    fileprivate func winner() async throws -> UUID? {
        guard let winner = try await scope.winner(over: id()), sees(winner) else { return nil }
        return winner
    }

    fileprivate func replacingID(with id: UUID) -> Call {
        var call = self
        call.parameters = parameters.replacing("id", with: id.description)
        return call
    }

    /// The request's path with the id of another user.
    fileprivate func path(of user: UUID) throws -> String {
        request.path.replacing(try parameter("id"), with: user.description)
    }

    /// The user whom an id in a body or a filter names now.
    func survivor(of id: UUID?) async throws -> UUID? {
        guard let id else { return nil }
        return try await scope.winner(over: id) ?? id
    }
}
