import HTTP
import Synchronization
import Text

/// Fetches one page after another, each when the one before is sent: no database resource is held
/// while a slow client reads.
final class ExportRun: Sendable {
    private struct State {
        var exchange: Exchange
        var first: [UInt8]?
    }

    private struct TooLong: Error {}
    private struct TooSlow: Error {}

    private let dispatcher: Dispatcher
    private let endpoint: Endpoint
    private let export: ListExport
    private let slot: ExportSlots.Slot
    private let state: Mutex<State>

    /// Fetches the first page, so that a refusal is a response of its own.
    static func begin(
        _ export: ListExport, _ endpoint: Endpoint, _ exchange: Exchange, by dispatcher: Dispatcher
    ) async throws -> ExportRun {
        let slot = try dispatcher.exports.take(for: exchange.call.principal)
        let run = ExportRun(export, endpoint, exchange, dispatcher, slot)
        let first = try await run.page(exchange.call)
        run.state.withLock { $0.first = first }
        return run
    }

    private init(
        _ export: ListExport, _ endpoint: Endpoint, _ exchange: Exchange, _ dispatcher: Dispatcher,
        _ slot: ExportSlots.Slot
    ) {
        self.dispatcher = dispatcher
        self.endpoint = endpoint
        self.export = export
        self.slot = slot
        state = Mutex(State(exchange: exchange, first: nil))
    }

    var response: Response {
        var response = Response(
            200, fields: [Field("content-type", export.format.contentType)],
            body: .stream { try await self.next() })
        response.set("content-disposition", "attachment; filename=\"\(fileName)\"")
        response.set("vary", "Accept")
        return response
    }

    /// `users-acme-2026-11-22.csv`: each part is of letters, digits and hyphens.
    private var fileName: String {
        let call = state.withLock { $0.exchange.call }
        let list = endpoint.path.split(separator: "/").last { $0.first != "{" } ?? "list"
        let day = String(call.now.description.prefix(10))
        let parts = [String(list), call.resolvedTenant?.slug, day].compactMap { $0 }
        return parts.joined(separator: "-") + "." + export.format.fileExtension
    }

    /// The next piece, nil after the last. An error cuts the connection: the client must not take a
    /// part for the whole.
    private func next() async throws -> [UInt8]? {
        let first = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        if let first { return first }
        if export.isWhole { return nil }
        do {
            return try await page(try await admitted())
        } catch {
            record(error)
            throw error
        }
    }

    private func page(_ call: Call) async throws -> [UInt8] {
        _ = try await endpoint.handle(call)
        guard let lines = export.take() else { throw Problem.internalError }
        if export.rows > dispatcher.exports.limits.rows { throw TooLong() }
        return lines
    }

    /// The call, after rechecking before each page that its origin and its credential have the
    /// rights of the beginning: with fewer rights the rest would be fewer rows, and the file would
    /// look whole.
    private func admitted() async throws -> Call {
        var exchange = state.withLock { $0.exchange }
        let now = dispatcher.hooks.now()
        let limit = dispatcher.exports.limits.seconds
        if now >= exchange.call.now.adding(seconds: limit) { throw TooSlow() }
        try await dispatcher.readmit(&exchange)
        state.withLock { [exchange] in $0.exchange = exchange }
        return exchange.call
    }

    /// A second log line for this request: the first one recorded that its response had begun.
    private func record(_ error: any Error) {
        var exchange = state.withLock { $0.exchange }
        let status = dispatcher.problem(for: error, &exchange).status
        exchange.fault = "the export was cut behind \(export.rows) rows: \(error)"
        dispatcher.hooks.record(
            exchange.record(status, took: dispatcher.hooks.now(), since: exchange.call.now))
    }
}

extension Dispatcher {
    /// Checks the origin, the credential and the rights of a response that goes on.
    func readmit(_ exchange: inout Exchange) async throws {
        _ = try await origin(&exchange)
        let principal = try await hooks.recheck(exchange.call.request)
        guard principal.hasRights(of: exchange.call.principal) else {
            throw Problem.forbidden("Your rights have changed since this response began.")
        }
        _ = try await tenant(&exchange)
        _ = try permit(&exchange)
    }
}

extension CallerPrincipal {
    fileprivate func hasRights(of other: CallerPrincipal) -> Bool {
        var renamed = other
        renamed.name = name
        return self == renamed
    }
}
