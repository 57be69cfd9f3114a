import HTTP
import JSON
import Routing
import Storage
import Text

extension Dispatcher {
    /// A stored response with the users of now: who was merged since is shown as the winner. If it
    /// is such a user, it becomes the winner as a GET answers; of every other object the members that
    /// are ids name the winner, and the rest is as stored.
    func followingMerges(
        _ kept: Response, of endpoint: Endpoint, _ exchange: Exchange
    ) async throws -> Response {
        guard let scope = try? exchange.call.scope, case .bytes(let bytes) = kept.body,
            let document = try? JSONValue(parsing: bytes)
        else { return kept }
        let kind = endpoint.kind(ofAnswer: kept.status)
        var ids = Set(kept.place?.split(separator: "/").compactMap { UUID(String($0)) } ?? [])
        _ = document.replacingIDs(as: kind) {
            ids.insert($0)
            return $0
        }
        let winners = ids.isEmpty ? [:] : try await scope.winners(over: Array(ids))
        if winners.isEmpty { return kept }
        if let id = document["id"]?.string.flatMap({ UUID($0) }), let winner = winners[id] {
            return try await user(winner, insteadOf: kept, exchange)
        }
        var response = kept
        response.body = .bytes(
            document.replacingIDs(as: kind) { winners[$0] ?? $0 }.encoded())
        if var place = kept.place {
            for (loser, winner) in winners {
                place = place.replacing(loser.description, with: winner.description)
            }
            response.set("location", place)
        }
        return response
    }

    /// 409 with the winner's id if the caller may not read users.
    private func user(
        _ winner: UUID, insteadOf kept: Response, _ exchange: Exchange
    ) async throws -> Response {
        let path = "/v1/tenants/\(try exchange.call.tenant.id)/users/\(winner)"
        var request = exchange.call.request
        (request.method, request.path, request.query) = (.get, path, "")
        guard let match = table.match(path), let endpoint = match.value(for: .get) else {
            throw Problem.internalError
        }
        var call = Call(
            request: request, parameters: match.parameters, services: services,
            now: exchange.call.now)
        call.principal = exchange.call.principal
        call.resolvedTenant = exchange.call.resolvedTenant
        guard hooks.authorize(call.principal, endpoint.access, call) == nil else {
            throw Problem.conflict(
                "The user was merged; this is the id of the one who is left.",
                with: winner.description)
        }
        var response = try await endpoint.handle(call)
        response.status = kept.status
        response.set("content-location", path)
        if kept.place != nil { response.set("location", path) }
        return response
    }
}

extension Response {
    fileprivate var place: String? { first("location") }
}

extension Endpoint {
    /// What its responses with this status are.
    fileprivate func kind(ofAnswer status: Int) -> Kind {
        for answer in answers where answer.status == status {
            if case .object(let shape) = answer.content { return .object(shape) }
        }
        return .object(ObjectShape([.readOnly("conflicting_id", .uuid)]))
    }
}

extension JSONValue {
    /// The losing ids of a merge and of a user, and what a bulk action was asked for.
    private static let asGiven = ["loser", "merged_ids", "items"]

    /// The same with each id replaced; the kind says which texts are ids.
    fileprivate func replacingIDs(as kind: Kind, _ replace: (UUID) -> UUID) -> JSONValue {
        switch (kind, self) {
        case (.uuid, .string(let text)):
            return UUID(text).map { .string(replace($0).description) } ?? self
        case (.array(let kind, _), .array(let elements)):
            return .array(elements.map { $0.replacingIDs(as: kind, replace) })
        case (.object(let shape), .object(let members)):
            return .object(
                members.map { member in
                    guard !Self.asGiven.contains(where: { sameBytes($0, member.name) }),
                        let field = shape.field(member.name)
                    else { return member }
                    return Member(
                        member.name, member.value.replacingIDs(as: field.kind, replace))
                })
        default: return self
        }
    }
}
