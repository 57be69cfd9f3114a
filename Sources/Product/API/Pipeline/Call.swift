import HTTP
import Routing
import Text

/// A request that passed every check before the handler: caller, tenant and valid input.
package struct Call: Sendable {
    package internal(set) var request: Request
    /// Percent-decoded values of the path's `{…}`.
    package internal(set) var parameters: RouteParameters
    /// What handlers may use; the same for all calls, but for where lists are read.
    package internal(set) var services: Services
    /// When dispatch began; handlers read no other clock.
    package let now: Timestamp
    package internal(set) var principal: CallerPrincipal = .anonymous
    package internal(set) var resolvedTenant: ResolvedTenant?
    /// The body, decoded by the endpoint's shape.
    package internal(set) var input = Input()
    /// The query parameters, decoded by their declarations.
    package internal(set) var query = Input()
    /// What the endpoint's `receive` made of the body.
    var received: ReceivedBody?
    /// Identifies the list of a cursor: path, sort and filters.
    var listIdentity: String = ""
    /// If the list is exported as a file; `page` and `list` then mean its next part.
    var export: ListExport?

    /// Starts anonymous, without tenant and input: the dispatcher fills them in.
    package init(
        request: Request, parameters: RouteParameters = RouteParameters(),
        services: Services = Services(), now: Timestamp
    ) {
        self.request = request
        self.parameters = parameters
        self.services = services
        self.now = now
    }

    /// The path's `{tenant}`. Throws if the path has none, which is a fault of the declaration.
    package var tenant: ResolvedTenant {
        get throws {
            guard let resolvedTenant else { throw Problem.internalError }
            return resolvedTenant
        }
    }

    /// A path parameter; text that is not a UUID names no object, hence 404.
    package func id(_ name: String = "id") throws -> UUID {
        guard let id = parameters[name].flatMap({ UUID($0) }) else { throw Problem.notFound() }
        return id
    }

    /// A path parameter as text. Throws if the path has none of this name, which is a fault of the
    /// declaration.
    package func parameter(_ name: String) throws -> String {
        guard let value = parameters[name] else { throw Problem.internalError }
        return value
    }

    /// The body of an endpoint that receives it in pieces.
    package var pieces: BodyStream { request.stream ?? BodyStream(request.body) }

    /// `?dry_run=true`: the handler computes and writes nothing.
    package var isDryRun: Bool { query.flag("dry_run") }
}
