import API
import Domain
import HTTP
import Text

/// Every client contract: one line each, and no other code names them.
package enum Contracts {
    static let all: [Contract] = [
        Immich.contract,
        TimeTracker.contract,
        ThinkWork.contract,
        DeepRecall.contract,
        Relate.contract,
    ]

    package static let descriptions = all.map(\.description)

    package static var profiles: [String: CORSProfile] {
        Dictionary(uniqueKeysWithValues: descriptions.map { ($0.name, $0.profile) })
    }

    /// The contracts' routes below their mounts, for the one dispatcher.
    package static func endpoints(_ core: SignInCore) -> [Endpoint] {
        all.flatMap { contract in
            contract.routes.map { endpoint($0, of: contract, core) }
        }
    }

    /// A refusal on a contract's path in its own form; nil for other paths.
    package static func encode(_ problem: Problem, _ request: Request) -> Response? {
        guard let name = CORSScope.client(of: request.path) else { return nil }
        return all.first { sameBytes($0.name, name) }?.encode(problem, request)
    }

    private static func endpoint(
        _ route: ContractRoute, of contract: Contract, _ core: SignInCore
    ) -> Endpoint {
        let operation = "\(route.method.rawValue) \(route.path)"
        var endpoint = Endpoint(
            route.method, "/t/{tenant}/\(contract.name)\(route.path)",
            id: "\(contract.name) \(route.method.rawValue) \(route.path)", tag: "Clients",
            summary: "", access: .open, body: .raw(["*/*"]), answers: [], maxBody: route.maxBody,
            time: route.time
        ) { call in
            var mounted: ClientCall?
            do {
                let call = try await ClientCall(call, contract, core)
                mounted = call
                try call.requireJSON()
                var answer = try await route.handle(call)
                if answer.first("cache-control") == nil { answer.set("cache-control", "no-store") }
                return answer
            } catch let refusal as SignInRefusal {
                var problem = contract.explain(refusal) ?? refusal.problem
                problem.cause = refusal.cause
                await mounted?.noteFailure(&problem, at: operation)
                throw problem
            } catch var problem as Problem {
                await mounted?.noteFailure(&problem, at: operation)
                throw mounted.map { contract.refine(problem, $0) } ?? problem
            }
        }
        endpoint.isPublicDocument = route.isPublic
        endpoint.isForeign = true
        return endpoint
    }
}
